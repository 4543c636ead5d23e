//! Learning from watched keys, whether they are in the cache or not.
//!
//! A share of the keys, chosen by hash, is watched: all while they are few, then a falling share.
//! The share rises when the watched keys are few again. The learner keeps each key's last use, past
//! and size, which give its class. The next use ends that lifetime, by a hit or otherwise. Each
//! look counts the ages that each key passed since the last look. To learn from residents only, and
//! count an eviction as an end, would be circular: keys evicted early would seem never to be hit
//! late.
//!
//! A key is forgotten when it was idle for 64 times as many requests as there are residents.
//!
//! The indices are computed first after 256 requests, then whenever the count of requests has grown
//! by a twelfth. The interval is at most 8 192 requests, or a quarter of the number of residents if
//! that is more. The module does not depend on the source of the requests.

use super::class::{AGES, FRACTION, Past};
use super::counts::{AgeCounts, Fate};
use super::fetches::{ClassFetches, Fetches, PENALTIES};
use super::index::Hazards;
use super::options::{LearnerOptions, RATES};
use super::recency::Recency;
use super::table::{IndexTable, Making, TENANTS, app};
use super::tenant_counts::{Pooled, TenantCounts};
use super::watched::{KeyEvent, Watched};
use base::Filter;
use base::hash::KeyMap;

/// Requests before the first look.
const FIRST_LOOK: u64 = 1 << 8;
/// Requests seen by requests until the next look, and the fewest requests until then.
const LOOK_SHARE: u64 = 12;
const LOOK_MIN: u64 = 32;
/// The most requests until the next look; a large cache waits its residents divided by the second.
const LOOK_MAX: u64 = 8_192;
const LOOK_RESIDENTS: u64 = 4;
/// Half-life of the slow rate: a share of the requests seen so far, and its maximum.
const SLOW_SHARE: f64 = 0.8;
const SLOW_MAX: f64 = 6.6e6;
/// Half-life of the fast rate, in turnovers.
const FAST: f64 = 6.0;
/// Buckets of ages in a table beyond the highest age that any key reached.
const BEYOND: usize = 2 << FRACTION;
/// Requests, for each resident, after which an idle key is forgotten.
const PATIENCE: u64 = 64;

/// The number of keys up to which all keys are watched.
const WATCHED_ALL: usize = 12_000;
/// The share grows when fewer keys are watched than the maximum divided by this.
const FEW: usize = 3;

/// The learnt counts of watched keys, and the time of the next look.
#[derive(Debug)]
pub struct Learner {
    options: LearnerOptions,
    pub(super) watched: KeyMap<Watched>,
    pub(super) filter: Filter,
    /// The smallest share of keys to watch, however many keys that is.
    least: Filter,
    /// The most keys to watch, whatever the share.
    keys_max: usize,
    /// Lifetimes by tenant, up to the highest tenant seen.
    pub(super) lived: Vec<TenantCounts>,
    pub(super) fetches: Fetches,
    pub(super) tenants: usize,
    pub(super) look_at: u64,
    /// Request count at the last look.
    pub(super) looked: u64,
    /// Evictions until the last look.
    evicted: u64,
    pub(super) recency: Recency,
}

impl Learner {
    /// A learner without knowledge. Tenants beyond 32 share their counts.
    pub fn new(tenants: usize) -> Self {
        Self::with(tenants, LearnerOptions::default())
    }

    /// A learner without some parts.
    pub fn with(tenants: usize, options: LearnerOptions) -> Self {
        let tenants = tenants.clamp(1, TENANTS);
        Self {
            options,
            watched: KeyMap::default(),
            filter: Filter::ALL,
            least: Filter::ALL,
            keys_max: usize::MAX,
            lived: vec![],
            fetches: Fetches::default(),
            tenants,
            look_at: FIRST_LOOK,
            looked: 0,
            evicted: 0,
            recency: Recency::default(),
        }
    }

    /// Lets the watched share fall to `least` when there are many keys.
    #[must_use]
    pub fn watching(self, least: Filter) -> Self {
        Self { least, ..self }
    }

    /// Changes the options from now on.
    pub const fn set_options(&mut self, options: LearnerOptions) {
        self.options = options;
    }

    /// Watches at most `keys_max` keys, even if the share falls below the least one for that.
    pub const fn set_keys_max(&mut self, keys_max: usize) {
        self.keys_max = keys_max;
    }

    /// The filter that chooses the watched keys.
    pub const fn filter(&self) -> Filter {
        self.filter
    }

    /// Sets the number of tenants. Until now the keys of new tenants counted for the last known
    /// tenant.
    pub fn set_tenants(&mut self, tenants: usize) {
        self.tenants = tenants.clamp(1, TENANTS);
    }

    /// Number of keys watched at present.
    pub fn watched(&self) -> usize {
        self.watched.len()
    }

    /// Bytes that the learner takes, without the tables it made.
    pub fn bytes(&self) -> usize {
        // The map has one byte of its own for each place.
        let place = size_of::<(u64, Watched)>() + 1;
        let counts = self.lived.iter().map(TenantCounts::bytes).sum::<usize>();
        self.watched.capacity() * 8 / 7 * place + counts + self.fetches.bytes()
    }

    /// Notes an event of a watched key of this size class, after `now` requests.
    #[inline]
    pub fn access(&mut self, tenant: u16, key: u64, kind: KeyEvent, now: u64, size_class: u8) {
        let Some(known) = self.watched.get_mut(&key) else {
            self.recency.see(kind != KeyEvent::Gone);
            if kind != KeyEvent::Gone {
                self.meet(tenant, key, kind == KeyEvent::Missed, now, size_class);
            }
            return;
        };
        if std::mem::replace(&mut known.missed, kind == KeyEvent::Missed) && kind == KeyEvent::Write
        {
            // A key's size is unknown until its value is written.
            known.size_class = size_class;
            return;
        }
        self.recency.see(false);
        let class = self.options.class(known);
        let lived = &mut self.lived[usize::from(known.app)];
        let is_hit = matches!(kind, KeyEvent::Read | KeyEvent::Missed);
        let fate = if is_hit { Fate::Hit } else { Fate::Ended };
        lived.note(class, known.seen(self.looked), known.age(now), fate);
        if is_hit {
            known.past.hit(now);
        }
        known.last = now as u32;
        if kind == KeyEvent::Gone {
            self.watched.remove(&key);
        }
    }

    fn meet(&mut self, tenant: u16, key: u64, missed: bool, now: u64, size_class: u8) {
        let app = app(tenant).min(self.tenants - 1);
        self.make_room(app);
        let (last, past) = (now as u32, Past::new(now));
        let watched = Watched { last, past, app: app as u8, size_class, penalty: 0, missed };
        self.watched.insert(key, watched);
    }

    /// Makes counts for a tenant and all tenants before it.
    pub(super) fn make_room(&mut self, app: usize) {
        while self.lived.len() <= app {
            self.lived.push(TenantCounts::default());
        }
    }

    /// Notes that a watched key was fetched at a cost of this class.
    pub fn fetched(&mut self, key: u64, class: u8) {
        let Some(known) = self.watched.get_mut(&key) else { return };
        let before = std::mem::replace(&mut known.penalty, class);
        if class == 0 || before == 0 {
            return;
        }
        let app = known.app as usize;
        self.fetches.of(app)[before as usize % PENALTIES][class as usize % PENALTIES] += 1.0;
    }

    /// The expected cost of a key's next fetch, by the class of its last one, in microseconds.
    /// `known` are the fetches of the tenant by class. Where each key has its own penalty, a class
    /// has its mean. Where penalties are random, all classes have the same cost.
    pub fn expected(&self, tenant: u16, known: &[ClassFetches; PENALTIES]) -> [f32; PENALTIES] {
        self.fetches.expected(app(tenant).min(self.tenants - 1), known)
    }

    /// Watches fewer keys if they are too many; returns whether it did.
    #[inline]
    pub fn narrow(&mut self) -> bool {
        let watched = self.watched.len();
        let many = watched > WATCHED_ALL && self.filter.threshold() > self.least.threshold();
        let narrows = many || watched > self.keys_max;
        if narrows {
            self.watch_fewer();
        }
        narrows
    }

    #[cold]
    fn watch_fewer(&mut self) {
        let fewer = self.filter.threshold() / 4 * 3;
        let is_large = self.watched.len() > self.keys_max;
        let least = if is_large { 0 } else { self.least.threshold() };
        self.filter = Filter::below(fewer.max(least));
        let filter = self.filter;
        self.watched.retain(|&key, _| filter.keeps(key));
        self.watched.shrink_to_fit();
    }

    /// Watches more keys if they have become few.
    fn widen(&mut self) {
        if self.watched.len() < self.keys_max.min(WATCHED_ALL) / FEW {
            self.filter = Filter::with_rate((self.filter.rate() * 4.0 / 3.0).min(1.0));
        }
    }

    /// Whether the next look is due after `now` requests. A cache without residents teaches
    /// nothing.
    #[inline]
    pub const fn is_due(&self, now: u64, residents: usize) -> bool {
        now >= self.look_at && residents > 0
    }

    /// Computes the indices anew, for a cache with this number of residents and of evictions so
    /// far.
    pub fn learn(&mut self, now: u64, residents: usize, evicted: u64) -> IndexTable {
        let most = LOOK_MAX.max(residents as u64 / LOOK_RESIDENTS);
        self.look_at = now + (now / LOOK_SHARE).min(most).max(LOOK_MIN);
        let idle_max = (residents as u64 * PATIENCE).max(FIRST_LOOK);
        let Self { options, watched, lived, looked, .. } = self;
        watched.retain(|_, known| {
            let age = known.age(now);
            if age > 0 {
                let class = options.class(known);
                lived[usize::from(known.app)].note(class, known.seen(*looked), age, Fate::Lasts);
            }
            u64::from(age) <= idle_max
        });
        self.widen();
        let turnovers = evicted.saturating_sub(self.evicted) as f64 / residents.max(1) as f64;
        let passed = now.saturating_sub(self.looked) as f64;
        let half = |half: f64| 0.5f64.powf(half) as f32;
        let slow = half(passed / (now as f64 * SLOW_SHARE).clamp(1.0, SLOW_MAX));
        for lived in &mut self.lived {
            lived.end_period(&[slow, half(turnovers / FAST)][..self.options.rates()]);
        }
        self.fetches.fade(slow);
        (self.looked, self.evicted) = (now, evicted);
        self.tables(residents, turnovers)
    }

    /// The indices of the present state, for a cache that has long been full.
    pub fn table(&mut self) -> IndexTable {
        self.recency.end();
        for lived in &mut self.lived {
            lived.end_period(&[1.0; RATES][..self.options.rates()]);
        }
        self.tables(1, 0.0)
    }

    fn tables(&mut self, residents: usize, turnovers: f64) -> IndexTable {
        let rates = self.options.rates();
        let pooled: Vec<Pooled> = self.lived.iter().map(|lived| lived.pooled(rates)).collect();
        let mut sum = AgeCounts::default();
        for pooled in &pooled {
            sum.add(&pooled.all[0], 1.0);
        }
        let reached = pooled.iter().map(Pooled::ages).max().unwrap_or_default();
        // Without stopping ages an item is kept through all ages.
        let ages = if self.options.stops { (reached + BEYOND).min(AGES) } else { AGES };
        let recency = self.recency.look(turnovers, residents, &sum, ages);
        let recency = if self.options.recency { &recency[..] } else { &[] };
        let everything = Hazards::of_all(&sum, ages, self.options.tail);
        let mut table = Making::new(ages);
        for (lived, pooled) in self.lived.iter_mut().zip(&pooled) {
            lived.rows(pooled, &everything, self.options, recency, &mut table);
        }
        let at = table.rows();
        let row = table.row();
        everything.indices(self.options.stops, row);
        row.iter_mut().zip(recency).for_each(|(index, more)| *index += more);
        table.tenant(|_| at);
        table.done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::hash::mix;

    /// Tenant 1 reads a loop of 100 keys, and tenant 0 reads each key once: the learner
    /// distinguishes tenants, classes and ages.
    #[test]
    fn what_is_seen_is_learnt() {
        let mut learner = Learner::new(2);
        for now in 1..40_000u64 {
            if now % 2 == 0 {
                learner.access(0, mix(now), KeyEvent::Read, now, 1);
            } else {
                learner.access(1, mix((1 << 32) + now / 2 % 100), KeyEvent::Read, now, 1);
            }
        }
        assert!(!learner.is_due(FIRST_LOOK - 1, 9) && !learner.is_due(FIRST_LOOK, 0));
        assert!(learner.is_due(FIRST_LOOK, 9));
        let table = learner.learn(40_000, 200, 40_000);
        assert!(!learner.is_due(43_332, 200) && learner.is_due(43_333, 200));
        let class = super::super::class::interval_class(200, 1);
        let index = |tenant, class, age| table.index(tenant, class, age);
        // All of these keys are hit after 200 requests.
        assert!((index(1, class, 0) * 200.0 - 1.0).abs() < 0.1, "{}", index(1, class, 0));
        assert!(index(1, class, 150) > 2.0 * index(1, class, 0), "near its hit it is worth more");
        assert!(index(0, 0, 0) < 0.01 * index(1, class, 0), "{}", index(0, 0, 0));
        assert!(index(1, 31, 0) > 10.0 * index(0, 31, 0), "a class not seen is as its tenant");
    }

    /// A tenant that appears later has its own counts from then on.
    #[test]
    fn tenants_may_come_later() {
        let mut learner = Learner::new(1);
        for now in 1..40_000u64 {
            learner.set_tenants(if now < 100 { 1 } else { 2 });
            let looped = (1 << 32) + now / 2 % 100;
            let (tenant, key) = if now % 2 == 0 { (0, now) } else { (1, looped) };
            learner.access(tenant, mix(key), KeyEvent::Read, now, 1);
        }
        let table = learner.learn(40_000, 200, 40_000);
        let class = super::super::class::interval_class(200, 1);
        assert!(table.index(1, class, 0) > 50.0 * table.index(0, 0, 0));
        assert!(table.index(1, 0, 0) > 50.0 * table.index(0, 0, 0), "as its tenant");
    }

    /// With evictions counted as ends, residents alone show no late hit, for all are evicted early.
    #[test]
    fn evicted_keys_stay_watched() {
        let index = |gone: bool| {
            let mut learner = Learner::new(1);
            for now in 1..100_000u64 {
                learner.access(0, mix(now % 1_000), KeyEvent::Read, now, 1);
                if gone && now > 100 {
                    learner.access(0, mix((now - 100) % 1_000), KeyEvent::Gone, now, 1);
                }
            }
            learner.learn(100_000, 100, 100_000).index(0, 0, 50)
        };
        assert!((index(false) * 950.0 - 1.0).abs() < 0.15, "{}", index(false));
        assert!(index(true) * 950.0 < 0.01, "{}", index(true));
    }

    /// Keys of a scan are forgotten, and do not count as keys that were hit.
    #[test]
    fn forgotten_keys_were_never_hit() {
        let mut learner = Learner::new(1);
        for now in 1..200_000u64 {
            let key = if now % 10 == 0 { now % 100 } else { now };
            learner.access(0, mix(key), KeyEvent::Read, now, 1);
            if learner.is_due(now, 10) {
                learner.learn(now, 10, now);
            }
        }
        let table = learner.learn(200_000, 10, 200_000);
        assert!(learner.watched() < 5_000 && learner.bytes() < 1 << 20);
        // One in ten thousand of the keys never hit is hit after a hundred requests.
        assert!(table.index(0, 0, 50) < 2e-4, "{}", table.index(0, 0, 50));
        assert!(table.index(0, 7, 50) > 0.009, "{}", table.index(0, 7, 50));
    }

    /// A fill belongs to the read that missed; another write ends the value before it.
    #[test]
    fn a_fill_ends_nothing() {
        let ends = |kind| {
            let mut learner = Learner::new(1);
            for now in 1..=3_000u64 {
                learner.access(0, mix(now % 1_000), kind, now, 1);
                learner.access(0, mix(now % 1_000), KeyEvent::Write, now + 1, 1);
            }
            learner.lived[0].known().flat_map(|(_, counts)| counts.ends).sum::<f32>()
        };
        assert_eq!([KeyEvent::Missed, KeyEvent::Read].map(ends), [0.0, 3_000.0]);
    }

    /// Keys cost 1 or 4 ms, each fetch as the one before or by chance.
    #[test]
    fn a_penalty_is_what_the_next_one_is_to_be() {
        let expected = |is_chance: bool| {
            let mut learner = Learner::new(1);
            for now in 1..=60_000u64 {
                let key = mix(now % 1_000);
                let says = if is_chance { mix(now) } else { key };
                learner.access(0, key, KeyEvent::Missed, now, 1);
                learner.fetched(key, if says.is_multiple_of(2) { 7 } else { 9 });
                learner.access(0, key, KeyEvent::Write, now, 1);
            }
            let known = std::array::from_fn(|class| match class {
                7 => ClassFetches { mean: 1_000.0, count: 500.0 },
                9 => ClassFetches { mean: 4_000.0, count: 500.0 },
                _ => ClassFetches::default(),
            });
            let costs = learner.expected(0, &known);
            (costs[7], costs[9])
        };
        let (one, four) = expected(false);
        assert!(one < 1_010.0 && four > 3_990.0, "{one} {four}");
        let (one, four) = expected(true);
        assert!((one - 2_500.0).abs() < 70.0 && (four - 2_500.0).abs() < 70.0, "{one} {four}");
    }

    #[test]
    fn a_share_is_watched_and_may_shrink() {
        let mut learner = Learner::new(1);
        for now in 1..10_000u64 {
            if Filter::with_rate(0.5).keeps(mix(now)) {
                learner.access(0, mix(now), KeyEvent::Write, now, 1);
            }
        }
        assert!((4_500..5_500).contains(&learner.watched()));
        learner.set_keys_max(1_000);
        while learner.narrow() {}
        assert!((700..=1_000).contains(&learner.watched()), "{}", learner.watched());
    }

    /// A load of many keys, and then one of few: in the end all of the few are watched.
    #[test]
    fn the_share_follows_the_keys() {
        let mut learner = Learner::new(1).watching(Filter::with_rate(0.02));
        let (mut rates, mut now) = (vec![], 0);
        for keys in [200_000, 1_000] {
            for _ in 0..400_000 {
                now += 1;
                let key = mix(mix(now) % keys);
                if learner.filter().keeps(key) {
                    learner.access(0, key, KeyEvent::Read, now, 1);
                    learner.narrow();
                }
                if learner.is_due(now, 1_000) {
                    learner.learn(now, 1_000, now);
                }
            }
            rates.push(learner.filter().rate());
        }
        assert!(rates[0] < 0.5 && rates[1] > 0.9, "{rates:?}");
    }
}
