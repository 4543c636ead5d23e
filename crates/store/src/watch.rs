//! Learning from watched keys: a share of all, whether the store holds them or not.
//!
//! The taps of the shards queue what happens to watched keys (`tap.rs`). The sweep takes the queues
//! now and then, and when it is time to look the indices are computed, without any shard's lock,
//! and put in place whole, as a change of the pools is. All keys are watched while there are few;
//! the share shrinks as they become more, to a fiftieth, or to what a hundredth of the memory
//! holds.
//!
//! At a high pace a part of all that teaches enough, and noting a request takes the shard whole. So
//! of more than some thousand watched requests a second fewer keys are watched, and looks are as
//! far apart as what they take allows.
//!
//! Tables and counts take memory that items lack: of a small cache with many tenants they have less
//! detail.
//!
//! Each shard remembers evicted keys, so that one which returns goes on with its birth and hits:
//! as many as it has items, or as many as another hundredth of its memory holds. Where items are
//! small a memory of each would take more from them than it gives.
//!
//! Ages are in requests to a shard, and so are those of other shards: each has the same share of
//! the requests, near enough.

use crate::key::hash_of;
use crate::learn::classify;
use crate::pools::Want;
use crate::shard::Shard;
use crate::store::{Admin, lock};
use crate::table::Place;
use crate::tap::{Watched, What};
use crate::tenant::Account;
use crate::{Key, Now, Store};
use base::{Filter, Micros, Sighting, TenantId};
use policy::rank::Stamps;
use policy::rank::gittins::{
    Cost, Indices, Kind, Learner, Memory, Options, Past, TENANTS, Table, size_class,
};
use std::sync::Arc;

/// The least share that is watched.
const SHARE_MIN: f64 = 0.02;
/// Memory that watched keys may take, and the evicted, as a divisor of the limit.
pub(crate) const PART: u64 = 100;
/// Bytes of a watched key.
const BYTES_OF_A_KEY: u64 = 32;
/// Pages of each shard that leave at most for what is to be learnt.
const PAGES_FOR_LESSONS: usize = 64;
/// Keys that may be watched in any case: of fewer too little is learnt.
const WATCHED_MIN: u64 = 4_000;
/// Watched requests a second from which on fewer keys are watched, and how few at least.
const PACE_MAX: f64 = 10_000.0;
const PACED_MIN: usize = 100;
/// Time over which the pace is measured.
const PACE_OVER: Micros = Micros::from_millis(250);
/// Time between two looks at least, for each tenant that has a table.
const LOOKS_APART: Micros = Micros::from_millis(50);
/// Memory that tables and counts may take: so much in any case, or this part of the limit.
const DETAIL_MIN: u64 = 256 << 10;
const DETAIL_PART: u64 = 333;
/// Bytes that they take of a tenant in all detail, and without the fast rate.
const DETAIL_ALL: u64 = 200 << 10;
const DETAIL_SLOW: u64 = 120 << 10;

/// What was learnt from watched keys.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) learner: Learner,
    pub(crate) indices: Arc<Indices>,
    /// Charged for all of it.
    bytes: u64,
    /// When it was last looked.
    looked: Micros,
    pace: Pace,
}

/// How many watched requests there are a second.
#[derive(Debug)]
struct Pace {
    since: Micros,
    requests: usize,
    /// Keys that may be watched at this pace.
    keys_max: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { since: Micros(0), requests: 0, keys_max: usize::MAX }
    }
}

impl Pace {
    /// Counts so many more requests to so many watched keys until now.
    fn note(&mut self, requests: usize, watched: usize, now: Micros) {
        self.requests += requests;
        let time = now.saturating_sub(self.since);
        if time < PACE_OVER {
            return;
        }
        let pace = self.requests as f64 / time.as_f64() * 1e6;
        (self.since, self.requests) = (now, 0);
        if pace > PACE_MAX {
            // All in proportion, but a few at a time: keys differ.
            let share = (PACE_MAX / pace).max(0.25);
            self.keys_max = ((watched as f64 * share) as usize).max(PACED_MIN);
        } else if pace < PACE_MAX / 4.0 && self.keys_max < usize::MAX {
            self.keys_max = self.keys_max.saturating_mul(2);
        }
    }
}

/// How much is learnt of tenants, so many of them, in a cache of such a limit.
fn options(limit: u64, tenants: usize) -> Options {
    let most = match limit {
        0 => u64::MAX,
        limit => DETAIL_MIN.max(limit / DETAIL_PART),
    };
    let each = most / tenants.clamp(1, TENANTS) as u64;
    Options { parts: each >= DETAIL_SLOW, fast: each >= DETAIL_ALL, ..Options::default() }
}

impl Watching {
    pub(crate) fn new(tenants: usize) -> Self {
        let indices = Arc::new(Indices::new(Table::default(), &[1], 0.0, &[]));
        let learner = Learner::new(tenants).watching(Filter::with_rate(SHARE_MIN));
        Self { learner, indices, bytes: 0, looked: Micros(0), pace: Pace::default() }
    }

    pub(crate) fn indices(&self) -> Arc<Indices> {
        Arc::clone(&self.indices)
    }

    /// The keys whose requests the taps note.
    pub(crate) const fn filter(&self) -> Filter {
        self.learner.filter()
    }

    /// Charged for it.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes in what happened to watched keys of one shard.
    fn take(&mut self, watched: &[Watched]) {
        for seen in watched {
            let (sighting, size) = match seen.what {
                What::Seen(sighting, size) => (sighting, size),
                What::Fetched(class) => {
                    self.learner.fetched(seen.key, class);
                    continue;
                }
            };
            let kind = match sighting {
                Sighting::Hit => Kind::Read,
                Sighting::Miss => Kind::Missed,
                Sighting::Write => Kind::Write,
                Sighting::Delete => Kind::Gone,
            };
            let of_size = size_class(size as f32, self.indices.mean_size());
            self.learner.access(seen.tenant, seen.key, kind, seen.tick, of_size);
        }
    }

    /// Watches fewer keys where they are too many, or take more bytes; whether it does.
    fn narrow(&mut self, bytes_max: u64) -> bool {
        let by_memory = (bytes_max / BYTES_OF_A_KEY).max(WATCHED_MIN) as usize;
        self.learner.set_keys_max(by_memory.min(self.pace.keys_max));
        self.learner.narrow()
    }
}

/// What a shard remembers of evicted keys.
#[derive(Debug, Default)]
pub(crate) struct Pasts {
    pub(crate) memory: Memory,
    /// Charged for it.
    pub(crate) bytes: u64,
}

impl Shard {
    /// An evicted key is remembered, where any is.
    #[inline]
    pub(crate) fn remember(&mut self, at: TenantId, place: Place) {
        if let Some(pasts) = &mut self.pasts {
            let item = self.tenants[usize::from(at)].table.get(place);
            let (hash, stamps) = (hash_of(self.seed, item.db(), item.key()), item.stamps());
            pasts.memory.insert(hash, Past { born: stamps.born, hits: stamps.hits });
        }
    }

    /// The stamps of a key that is new here, or comes back: then it goes on with its birth and its
    /// hits, of which this is one.
    #[inline]
    pub(crate) fn stamps_of(&mut self, key: &Key) -> Stamps {
        let mut stamps = Stamps::new(self.tick, 0);
        if let Some(pasts) = &mut self.pasts
            && let Some(mut past) = pasts.memory.take(key.hash)
        {
            past.hit(self.tick);
            (stamps.born, stamps.hits) = (past.born, past.hits);
            let items = self.tenants[usize::from(key.tenant)].table.about();
            classify(self.lessons, &mut stamps, 0, items);
        }
        stamps
    }
}

/// What a miss of each tenant costs, and how much its waiting counts.
pub(crate) fn costs(learner: &Learner, accounts: &[Arc<Account>], prices: &[f32]) -> Vec<Cost> {
    let cost = |(at, account): (usize, &Arc<Account>)| {
        let measured = lock(&account.measured);
        let (mean, means) = (measured.stats().mean, measured.means());
        drop(measured);
        Cost {
            mean: mean.as_f64() as f32,
            by_class: learner.expected(at as TenantId, &means),
            factor: prices.get(at).copied().unwrap_or(1.0),
        }
    };
    accounts.iter().enumerate().map(cost).collect()
}

impl Store {
    /// How much the waiting of each tenant counts, by its number; 1 where none is named. A rank
    /// that goes by what misses cost multiplies it by that.
    pub fn set_prices(&self, prices: &[f32]) {
        let mut admin = lock(&self.admin);
        if admin.prices == prices {
            return;
        }
        admin.prices = prices.to_vec();
        let Admin { watching: Some(watching), accounts, prices, .. } = &mut *admin else { return };
        let costs = costs(&watching.learner, accounts, prices);
        watching.indices = Arc::new(watching.indices.with_costs(&costs));
        self.publish(&mut admin);
    }

    /// Takes the queues of the taps, and looks when it is time.
    pub(crate) fn watch(&self, now: Now) {
        let mut admin = lock(&self.admin);
        let Admin { watching: Some(watching), accounts, prices, .. } = &mut *admin else { return };
        let (mut tick, mut requests) = (0, 0);
        watching.learner.set_tenants(accounts.len());
        for shard in &self.shards {
            let watched = {
                let mut shard = shard.write_drained();
                tick = tick.max(shard.tick);
                shard.tap.drain_watched()
            };
            requests += watched.len();
            watching.take(&watched);
        }
        watching.pace.note(requests, watching.learner.watched(), now.micros);
        let part = self.memory.limit() / PART;
        let narrower = watching.narrow(part);
        let since = now.micros.saturating_sub(watching.looked);
        let apart = Micros(LOOKS_APART.0 * accounts.len().min(TENANTS) as u64);
        // Where no clock runs, time says nothing.
        let is_time = since >= apart || since == Micros(0);
        let is_due = is_time && watching.learner.is_due(tick, 1);
        if !narrower && !is_due {
            return;
        }
        // Of many tenants it takes a while to ask each, so that is asked last.
        let (items, evicted) =
            if is_due { self.items_by_shard(accounts.len()) } else { (vec![], 0) };
        let by_shard: usize = items.iter().sum();
        if by_shard > 0 {
            watching.looked = now.micros;
            watching.learner.set_options(options(self.memory.limit(), accounts.len()));
            let table = watching.learner.learn(tick, by_shard, evicted);
            let costs = costs(&watching.learner, accounts, prices);
            let used: u64 = accounts.iter().map(|account| account.used()).sum();
            let mean_size = used as f32 / (by_shard * self.shards.len()) as f32;
            watching.indices = Arc::new(Indices::new(table, &items, mean_size, &costs));
            self.size_pasts(part / self.shards.len() as u64, now);
        }
        self.charge_watching(&mut admin, now);
        self.publish(&mut admin);
    }

    /// Items of each tenant in a shard and evictions so far, in the mean.
    pub(crate) fn items_by_shard(&self, tenants: usize) -> (Vec<usize>, u64) {
        let (mut items, mut evicted) = (vec![0; tenants], 0);
        for shard in &self.shards {
            for (items, tenant) in items.iter_mut().zip(&shard.write_drained().tenants) {
                *items += tenant.table.len();
                evicted += tenant.counters.evicted;
            }
        }
        for items in &mut items {
            *items /= self.shards.len();
        }
        (items, evicted / self.shards.len() as u64)
    }

    /// Charges what watching takes now.
    pub(crate) fn charge_watching(&self, admin: &mut Admin, now: Now) {
        if let Some(watching) = &mut admin.watching {
            let bytes = (watching.learner.bytes() + 2 * watching.indices.bytes()) as u64;
            let bytes = self.charged_for_lessons(bytes);
            self.take_for_lessons(bytes.saturating_sub(watching.bytes), now);
            self.memory.give(watching.bytes.saturating_sub(bytes));
            watching.bytes = bytes;
        }
    }

    /// Takes so many bytes, for which items leave where memory is full.
    pub(crate) fn take_for_lessons(&self, bytes: u64, now: Now) {
        let mut credit = 0;
        for shard in self.shards.iter().cycle().take(PAGES_FOR_LESSONS * self.shards.len()) {
            if credit >= bytes || self.memory.try_take(bytes - credit) {
                self.memory.give(credit.saturating_sub(bytes));
                return;
            }
            // What leaves stays taken, and is this memory then.
            let want = Want { tenant: None, own: false, spare: 0, now };
            credit += shard.write_drained().evict_page(&want);
        }
        self.memory.take(bytes.saturating_sub(credit));
        self.memory.give(credit.saturating_sub(bytes));
    }

    /// Remembers as many evicted keys in each shard as it has items, or so many bytes hold: as many
    /// as an earlier run did while its items come back.
    fn size_pasts(&self, bytes_max: u64, now: Now) {
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            if shard.changed.is_some() {
                continue;
            }
            let items = shard.tenants.iter().map(|tenant| tenant.table.len()).sum::<usize>();
            let keys = items.min(bytes_max as usize / Memory::ENTRY);
            let pasts = shard.pasts.get_or_insert_default();
            pasts.memory.resize(keys);
            let bytes = pasts.memory.bytes() as u64;
            let before = std::mem::replace(&mut pasts.bytes, bytes);
            drop(shard);
            self.take_for_lessons(bytes.saturating_sub(before), now);
            self.memory.give(before.saturating_sub(bytes));
        }
    }

    /// Forgets the evicted keys.
    pub(crate) fn forget_pasts(&self) {
        for shard in &self.shards {
            let pasts = shard.write_drained().pasts.take();
            self.memory.give(pasts.map_or(0, |pasts| pasts.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_requests_fewer_keys_are_watched() {
        let (mut pace, mut now) = (Pace::default(), Micros(1_000_000));
        let mut second = |pace: &mut Pace, requests: usize, watched: usize| {
            now += Micros(1_000_000);
            pace.note(requests, watched, now);
            pace.keys_max
        };
        assert_eq!(second(&mut pace, 5_000, 12_000), usize::MAX);
        assert_eq!(second(&mut pace, 20_000, 12_000), 6_000, "at twice the pace a half");
        assert_eq!(second(&mut pace, 1_000_000, 6_000), 1_500, "a quarter at most at a time");
        assert_eq!(second(&mut pace, 1_000_000, 300), PACED_MIN);
        assert_eq!(second(&mut pace, 5_000, 100), PACED_MIN);
        assert_eq!(second(&mut pace, 1_000, 100), 2 * PACED_MIN);
    }

    #[test]
    fn small_caches_of_many_tenants_learn_less() {
        let detail = |limit: u64, tenants: usize| {
            let Options { parts, fast, .. } = options(limit << 20, tenants);
            (parts, fast)
        };
        assert_eq!(detail(0, 50), (true, true));
        assert_eq!([1, 2, 3].map(|tenants| detail(32, tenants).0), [true, true, false]);
        assert_eq!((detail(32, 1), detail(32, 2)), ((true, true), (true, false)));
        assert_eq!((detail(1_000, 8), detail(1_000, 32)), ((true, true), (false, false)));
    }
}
