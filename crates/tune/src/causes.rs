//! The causes of misses, by sampled keys.
//!
//! The store counts misses but cannot tell their causes: it keeps nothing of an evicted item. The
//! pilot sees every request to a sample of the keys anyway. For each of them it remembers the item
//! that an unbounded cache would hold. A miss of an item that would still be there is an eviction.
//! The shares of the causes among the sample's misses are those among all misses.
//!
//! ```text
//!                   read, found nothing
//!   unknown ─────────▶ never seen            write, later than a fetch takes ─▶ too early
//!   held, in time ───▶ evicted
//!   held, too old ───▶ expired
//!   removed ─────────▶ deleted
//! ```
//!
//! A miss counts for the number of keys that its key stands for, so that misses at another rate of
//! sampling keep their weight.
//!
//! The number of watched keys is bounded: the tenants with most of them watch half of their own.
//! When the tap samples more keys than before, the misses of new ones do not count at first. They
//! are watched for as long as they were not watched before: until then an earlier read of them may
//! be unknown.

use crate::observe::FILL_WINDOW;
use base::{Bytes, Cause, Causes, Filter, Micros, Sample, Sighting, TenantId};
use std::collections::HashMap;

/// Watched keys of all tenants together: they give a share to about half a percentage point.
const KEYS_MAX: usize = 14_000;

/// Memory of the models, in bytes, for each watched key.
const MODELS_PER_KEY: u64 = 320;

/// The shortest and the longest time that new keys are watched before their misses count: as long
/// as the cache ran without a watch on them.
const SETTLING_MIN: Micros = Micros::from_secs(60);
const SETTLING_MAX: Micros = Micros::from_secs(24 * 3_600);

/// The most items of a cache that counts as empty, and the time for which it counts as new. The
/// rate of sampling is found in this time. Earlier misses are few, unless values were written
/// without a read.
const EMPTY_MAX: u64 = 1_000;
const FRESH: Micros = Micros::from_secs(30);

/// A key without a request for this time is forgotten before others are.
const FORGOTTEN: Micros = Micros::from_secs(24 * 3_600);

/// The state of a key in an unbounded cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing: it was never written. The number counts the reads that missed.
    Absent(u32),
    /// Its item, which expires at this time.
    Held(Micros),
    /// Nothing: its item was removed.
    Removed,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    state: State,
    /// Time of the last request; for an absent key, of the first.
    at: Micros,
    /// The time to live at its write; zero if no write was seen.
    ttl: Micros,
    /// Time at which the item would expire if every item lived twice as long. It may be another
    /// item: the next write after a read that only twice the time to live would have answered is
    /// not made there.
    twice: Micros,
    /// Whether the last read was such a read.
    spared: bool,
}

/// The watched keys of one tenant, and the causes of its misses.
#[derive(Debug)]
struct Watched {
    keys: HashMap<u64, Known>,
    /// The keys whose misses count, among the watched ones.
    counts: Filter,
    watches: Filter,
    /// The most keys to watch, whatever is sampled.
    bound: Filter,
    /// Whether values were written without a read before.
    was_loaded: bool,
    /// Time since which the present share of keys is watched.
    since: Micros,
    /// Misses of all keys, as scaled from those that count, and the number of the latter.
    misses: Causes,
    counted: u64,
    /// Reads of expired keys with a known time to live: those that would be left if items lived
    /// twice as long, and all.
    late: (u64, u64),
    /// Sampled hits by the logarithm of the size.
    hits: [u32; SIZES],
}

/// Number of size classes: powers of two.
pub const SIZES: usize = 32;

impl Default for Watched {
    fn default() -> Self {
        Self {
            keys: HashMap::new(),
            counts: Filter::NONE,
            watches: Filter::NONE,
            bound: Filter::ALL,
            was_loaded: false,
            since: Micros(0),
            misses: Causes::default(),
            counted: 0,
            late: (0, 0),
            hits: [0; SIZES],
        }
    }
}

impl Watched {
    /// Adapts the watched keys to the filter of the tap.
    fn follow(&mut self, tap: Filter, now: Micros, began: Micros, is_fresh: bool) {
        let wanted = Filter::below(tap.threshold().min(self.bound.threshold()));
        let (wide, new) = (self.watches.threshold(), wanted.threshold());
        if new < wide {
            self.keys.retain(|&key, _| wanted.keeps(key));
            self.watches = wanted;
            self.counts = Filter::below(self.counts.threshold().min(new));
        } else if new > wide {
            if is_fresh {
                self.counts = wanted;
            }
            self.watches = wanted;
            self.since = now;
        }
        let unwatched = self.since.saturating_sub(began);
        let settling = Micros(unwatched.0.clamp(SETTLING_MIN.0, SETTLING_MAX.0));
        if now.saturating_sub(self.since) >= settling {
            self.counts = self.watches;
        }
    }

    /// Number of keys that each counted key stands for.
    fn weight(&self) -> u64 {
        (self.counts.rate().recip()).round() as u64
    }

    fn see(&mut self, sample: &Sample) {
        let (key, now) = (sample.key, sample.time);
        if !self.watches.keeps(key) {
            return;
        }
        let expires = match sample.ttl {
            Micros(0) => Micros(u64::MAX),
            ttl => now + ttl,
        };
        let twice = expires + sample.ttl;
        let state = State::Held(expires);
        let held = Known { state, at: now, ttl: sample.ttl, twice, spared: false };
        match sample.sighting {
            Sighting::Hit => {
                let size = &mut self.hits[sample.size.max(1).ilog2() as usize];
                *size = size.saturating_add(1);
                // The sample has the remaining time to live, not the one at the write.
                let known = self.keys.get(&key);
                let ttl = known.map_or(Micros(0), |known| known.ttl);
                let mut twice = known.map_or(twice, |known| known.twice);
                if ttl > Micros(0) && twice <= now {
                    // This item was written later than the one that would have lived twice as long.
                    self.late.0 += u64::from(self.counts.keeps(key));
                    twice = now + ttl + ttl;
                }
                self.keys.insert(key, Known { ttl, twice, ..held });
            }
            Sighting::Write => {
                let spared = self.keys.get(&key).filter(|known| known.spared);
                let twice = spared.map_or(held.twice, |known| known.twice);
                let before = self.keys.insert(key, Known { twice, ..held });
                if let Some(Known { state: State::Absent(reads), at, .. }) = before
                    && now.saturating_sub(at) > FILL_WINDOW
                    && self.counts.keeps(key)
                {
                    // The write did not follow from these reads.
                    let all = u64::from(reads) * self.weight();
                    let [never, .., early] = &mut self.misses;
                    let moved = all.min(*never);
                    *never -= moved;
                    *early += moved;
                }
            }
            Sighting::Delete => {
                if let Some(known) = self.keys.get_mut(&key)
                    && matches!(known.state, State::Held(_))
                {
                    *known = Known { state: State::Removed, ttl: Micros(0), ..held };
                }
            }
            Sighting::Miss => {
                let absent = Known { state: State::Absent(0), ttl: Micros(0), ..held };
                let known = self.keys.entry(key).or_insert(absent);
                let ttl = known.ttl;
                known.spared = false;
                let cause = match &mut known.state {
                    State::Absent(reads) => {
                        *reads = reads.saturating_add(1);
                        Cause::NeverSeen
                    }
                    State::Held(expires) if *expires <= now => {
                        known.spared = now < known.twice;
                        if ttl > Micros(0) && self.counts.keeps(key) {
                            self.late.0 += u64::from(!known.spared);
                            self.late.1 += 1;
                        }
                        Cause::Expired
                    }
                    State::Held(_) => Cause::Evicted,
                    State::Removed => Cause::Deleted,
                };
                if cause != Cause::NeverSeen {
                    known.at = now;
                }
                if self.counts.keeps(key) {
                    self.misses[cause as usize] += self.weight();
                    self.counted += 1;
                }
            }
        }
    }

    /// Watches fewer keys: first drops keys without a request for a long time.
    fn shrink(&mut self, now: Micros, began: Micros) {
        let before = self.keys.len();
        self.keys.retain(|_, known| now.saturating_sub(known.at) < FORGOTTEN);
        if self.keys.len() >= before - before / 8 {
            self.bound = Filter::below((self.watches.threshold() / 2).max(1));
            self.follow(self.bound, now, began, false);
        }
        self.keys.shrink_to(self.keys.len());
    }

    /// Watches more keys if there is room.
    fn grow(&mut self, room: usize) {
        if self.bound != Filter::ALL && self.keys.len() < room / 4 {
            let twice = Filter::below(2 * self.bound.threshold());
            self.bound = if twice.rate() >= 1.0 { Filter::ALL } else { twice };
        }
    }
}

/// The state of the cache at the first look.
#[derive(Clone, Copy, Debug, Default)]
enum Start {
    #[default]
    Unseen,
    /// It held items, so some keys may have been read before.
    Filled(Micros),
    /// It was empty: a key never seen since was never there.
    Empty(Micros),
}

/// A tenant's filter and counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) tenant: TenantId,
    /// The filter that chooses the tenant's sampled keys.
    pub(crate) tap: Filter,
    pub(crate) items: u64,
    /// Reads of any key that missed, since the start.
    pub(crate) misses: u64,
}

/// Misses by cause, for every tenant.
#[derive(Debug, Default)]
pub(crate) struct Watching {
    of: Vec<Watched>,
    start: Start,
}

impl Watching {
    /// Takes in the tenants' samples since the last look.
    pub(crate) fn look(
        &mut self,
        samples: &[Sample],
        tenants: &[Seen],
        memory: Option<Bytes>,
        now: Micros,
    ) {
        let keys_max =
            memory.map_or(KEYS_MAX, |memory| KEYS_MAX.min((memory.0 / MODELS_PER_KEY) as usize));
        if matches!(self.start, Start::Unseen) {
            let items: u64 = tenants.iter().map(|seen| seen.items).sum();
            self.start = if items < EMPTY_MAX { Start::Empty(now) } else { Start::Filled(now) };
        }
        let (began, is_fresh) = match self.start {
            Start::Unseen => (now, false),
            Start::Filled(began) => (began, false),
            Start::Empty(began) => (began, now.saturating_sub(began) < FRESH),
        };
        let count = tenants.iter().map(|seen| usize::from(seen.tenant) + 1).max();
        if count.unwrap_or(0) > self.of.len() {
            self.of.resize_with(count.unwrap_or(0), Watched::default);
        }
        let room = keys_max / tenants.len().max(1);
        for &Seen { tenant, tap, items, misses } in tenants {
            let own = &mut self.of[usize::from(tenant)];
            own.was_loaded |= items > misses + EMPTY_MAX;
            let is_fresh = is_fresh && !own.was_loaded;
            own.grow(room);
            own.follow(tap, now, began, is_fresh);
            if items == 0 {
                // All items were removed at once.
                own.keys.values_mut().for_each(|known| match known.state {
                    State::Held(expires) if expires > now => known.state = State::Removed,
                    _ => {}
                });
            }
        }
        for sample in samples {
            if let Some(own) = self.of.get_mut(usize::from(sample.tenant)) {
                own.see(sample);
            }
        }
        while self.of.iter().map(|own| own.keys.len()).sum::<usize>() > keys_max {
            // All tenants with about as many at once: there may be thousands of tenants.
            let most = self.of.iter().map(|own| own.keys.len()).max().unwrap_or_default();
            for own in self.of.iter_mut().filter(|own| 2 * own.keys.len() > most) {
                own.shrink(now, began);
            }
        }
    }

    /// Misses of a tenant so far, by cause, scaled from the sampled ones.
    pub(crate) fn misses(&self, tenant: TenantId) -> Causes {
        self.of.get(usize::from(tenant)).map_or(Causes::default(), |own| own.misses)
    }

    /// Number of sampled misses of a tenant behind these counts.
    pub(crate) fn counted(&self, tenant: TenantId) -> u64 {
        self.of.get(usize::from(tenant)).map_or(0, |own| own.counted)
    }

    /// Share of the reads of expired keys that would be saved if items lived twice as long. It is
    /// about a half where keys are read often: each of their items expires once all the same.
    pub(crate) fn twice_the_ttl(&self, tenant: TenantId) -> Option<f64> {
        let (left, all) = self.of.get(usize::from(tenant))?.late;
        (all > 0).then(|| (1.0 - left as f64 / all as f64).max(0.0))
    }

    /// Sampled hits of a tenant by size: at `n`, sizes from 2ⁿ bytes to below twice that.
    pub(crate) fn hits_by_size(&self, tenant: TenantId) -> [u32; SIZES] {
        self.of.get(usize::from(tenant)).map_or([0; SIZES], |own| own.hits)
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> Bytes {
        let keys: usize = self.of.iter().map(|own| own.keys.capacity()).sum();
        let own = self.of.capacity() * size_of::<Watched>();
        Bytes((keys * (size_of::<(u64, Known)>() + 1) + own) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Sighting::{Delete, Hit, Miss, Write};

    fn sample(at_s: u64, key: u64, sighting: Sighting, ttl_s: u64) -> Sample {
        Sample {
            time: Micros::from_secs(at_s),
            key,
            tenant: 0,
            sighting,
            size: 10,
            ttl: Micros::from_secs(ttl_s),
            penalty: Micros(0),
        }
    }

    /// A tenant whose keys are all sampled.
    const fn tenant(tenant: TenantId, items: u64) -> Seen {
        Seen { tenant, tap: Filter::ALL, items, misses: 0 }
    }

    fn seen(samples: &[Sample]) -> Causes {
        let mut watching = Watching::default();
        watching.look(samples, &[tenant(0, 1)], None, Micros(0));
        watching.misses(0)
    }

    #[test]
    fn every_cause_is_told() {
        let told = |samples: &[Sample]| {
            let misses = seen(samples);
            let of = |cause: &Cause| misses[*cause as usize] > 0;
            Cause::ALL.into_iter().filter(of).collect::<Vec<_>>()
        };
        assert_eq!(told(&[sample(0, 1, Miss, 0)]), [Cause::NeverSeen]);
        assert_eq!(told(&[sample(0, 1, Write, 0), sample(9, 1, Miss, 0)]), [Cause::Evicted]);
        assert_eq!(told(&[sample(0, 1, Write, 5), sample(9, 1, Miss, 0)]), [Cause::Expired]);
        assert_eq!(told(&[sample(0, 1, Write, 9), sample(5, 1, Miss, 0)]), [Cause::Evicted]);
        let renewed = [sample(0, 1, Write, 5), sample(4, 1, Hit, 60), sample(9, 1, Miss, 0)];
        assert_eq!(told(&renewed), [Cause::Evicted]);
        let removed = [sample(0, 1, Hit, 0), sample(1, 1, Delete, 0), sample(2, 1, Miss, 0)];
        assert_eq!(told(&removed), [Cause::Deleted]);
        let early = [sample(0, 1, Miss, 0), sample(5, 1, Miss, 0), sample(60, 1, Write, 0)];
        assert_eq!(told(&early), [Cause::TooEarly]);
        assert_eq!(seen(&early)[Cause::TooEarly as usize], 2);
        let fetched = [sample(0, 1, Miss, 0), sample(3, 1, Write, 0)];
        assert_eq!(told(&fetched), [Cause::NeverSeen], "the read made somebody write it");
        assert_eq!(told(&[sample(0, 1, Delete, 0), sample(1, 1, Miss, 0)]), [Cause::NeverSeen]);
    }

    #[test]
    fn a_longer_life_would_have_answered_some() {
        let mut watching = Watching::default();
        let written = |key| sample(0, key, Write, 10);
        let samples = [
            written(1),
            written(2),
            sample(5, 1, Hit, 5),
            sample(15, 1, Miss, 0),
            sample(25, 2, Miss, 0),
        ];
        watching.look(&samples, &[tenant(0, 1)], None, Micros(0));
        assert_eq!(watching.twice_the_ttl(0), Some(0.5));
    }

    /// A key that is read every second, and fetched when its item has expired.
    #[test]
    fn twice_the_life_halves_the_misses_of_a_key_that_is_read_often() {
        let (mut watching, mut samples, mut expires) = (Watching::default(), vec![], 0);
        for at in 0..2_000 {
            let left = u64::saturating_sub(expires, at);
            if left > 0 {
                samples.push(sample(at, 1, Hit, left));
            } else {
                samples.extend([sample(at, 1, Miss, 0), sample(at, 1, Write, 10)]);
                expires = at + 10;
            }
        }
        watching.look(&samples, &[tenant(0, 1)], None, Micros(0));
        let saved = watching.twice_the_ttl(0).unwrap();
        assert!((saved - 0.5).abs() < 0.01, "{saved}");
    }

    #[test]
    fn a_tenant_that_was_emptied_lost_its_items_on_request() {
        let mut watching = Watching::default();
        watching.look(&[sample(0, 1, Write, 0)], &[tenant(0, 1)], None, Micros(0));
        watching.look(&[], &[tenant(0, 0)], None, Micros(1));
        watching.look(&[sample(9, 1, Miss, 0)], &[tenant(0, 0)], None, Micros(2));
        assert_eq!(watching.misses(0)[Cause::Deleted as usize], 1);
    }

    /// The number of watched keys is bounded, and keys that stay watched give the same causes.
    #[test]
    fn what_is_watched_is_bounded() {
        let mut watching = Watching::default();
        let tenants = [tenant(0, 100), tenant(1, 100)];
        for at in 0..60 {
            let keys = (0..5_000).map(|key| base::hash::mix(at * 5_000 + key));
            let few = (0..50).map(|key| Sample { tenant: 1, ..sample(at, key << 50, Hit, 0) });
            let samples: Vec<_> = keys.map(|key| sample(at, key, Miss, 0)).chain(few).collect();
            watching.look(&samples, &tenants, None, Micros::from_secs(at));
            assert!(watching.of.iter().map(|own| own.keys.len()).sum::<usize>() <= KEYS_MAX);
        }
        assert!(watching.of[0].watches.rate() < 0.2);
        assert_eq!(watching.of[1].watches, Filter::ALL, "those of others stay");
        let misses = watching.misses(0);
        let error = misses[0] as f64 / 300_000.0 - 1.0;
        assert!(error.abs() < 0.05 && misses[1..] == [0; 4], "{misses:?}");
    }

    /// More tenants than keys that may be watched, each with a key or two.
    #[test]
    fn what_is_watched_of_many_tenants_is_bounded() {
        let mut watching = Watching::default();
        let tenants: Vec<Seen> = (0..5_000).map(|id| tenant(id, 100)).collect();
        let samples: Vec<Sample> = (0..10_000u64)
            .map(|at| Sample { tenant: (at % 5_000) as u16, ..sample(1, at << 48 | at, Miss, 0) })
            .collect();
        watching.look(&samples, &tenants, Some(Bytes(1 << 20)), Micros::from_secs(1));
        let keys = watching.of.iter().map(|own| own.keys.len()).sum::<usize>();
        assert!((800..=3_276).contains(&keys), "{keys}");
    }

    /// Misses do not count at first in a cache that was full at the start, nor for keys not sampled
    /// before.
    #[test]
    fn what_may_have_been_seen_before_does_not_count_at_first() {
        let mut watching = Watching::default();
        watching.look(&[sample(0, 1, Miss, 0)], &[tenant(0, 9_999)], None, Micros(0));
        assert_eq!(watching.misses(0), Causes::default());
        watching.look(&[], &[tenant(0, 9_999)], None, SETTLING_MIN);
        watching.look(&[sample(61, 2, Miss, 0)], &[tenant(0, 9_999)], None, SETTLING_MIN);
        assert_eq!(watching.misses(0), [1, 0, 0, 0, 0]);
    }

    /// Keys of a new cache are written before any read. A key that is sampled only later may have
    /// been written already.
    #[test]
    fn values_loaded_beforehand_are_no_first_reads() {
        let half = Filter::below(Filter::ALL.threshold() / 2);
        for (misses, counted) in [(0, [0; 5]), (5_000, [1, 0, 0, 0, 0])] {
            let mut watching = Watching::default();
            watching.look(&[], &[Seen { tap: half, ..tenant(0, 10) }], None, Micros(0));
            let at = Micros::from_secs(1);
            let key = (0..100).map(base::hash::mix).find(|&key| !half.keeps(key)).unwrap();
            let miss = sample(1, key, Miss, 0);
            watching.look(&[miss], &[Seen { misses, ..tenant(0, 5_000) }], None, at);
            assert_eq!(watching.misses(0), counted);
        }
    }
}
