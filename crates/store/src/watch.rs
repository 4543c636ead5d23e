//! Learning from watched keys: a share of all, whether the store holds them or not.
//!
//! The taps of the shards queue what happens to watched keys (`tap.rs`). The sweep takes the queues
//! now and then, and when it is time to look the indices are computed, without any shard's lock,
//! and put in place whole, as a change of the pools is. All keys are watched while there are few;
//! the share shrinks as they become more, to a fiftieth, or to what a hundredth of the memory
//! holds.
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
use base::{Filter, Sighting, TenantId};
use policy::rank::Stamps;
use policy::rank::gittins::{Cost, Indices, Kind, Learner, Memory, Past, Table};
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

/// What was learnt from watched keys.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) learner: Learner,
    pub(crate) indices: Arc<Indices>,
    /// Charged for all of it.
    bytes: u64,
}

impl Watching {
    pub(crate) fn new(tenants: usize) -> Self {
        let indices = Arc::new(Indices::new(Table::default(), &[1], &[]));
        let learner = Learner::new(tenants).watching(Filter::with_rate(SHARE_MIN));
        Self { learner, indices, bytes: 0 }
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
            let kind = match seen.what {
                What::Seen(Sighting::Hit) => Kind::Read,
                What::Seen(Sighting::Miss) => Kind::Missed,
                What::Seen(Sighting::Write) => Kind::Write,
                What::Seen(Sighting::Delete) => Kind::Gone,
                What::Fetched(class) => {
                    self.learner.fetched(seen.key, class);
                    continue;
                }
            };
            self.learner.access(seen.tenant, seen.key, kind, seen.tick);
        }
    }

    /// Watches fewer keys where they are too many, or take more bytes; whether it does.
    fn narrow(&mut self, bytes_max: u64) -> bool {
        self.learner.set_keys_max((bytes_max / BYTES_OF_A_KEY).max(WATCHED_MIN) as usize);
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
        let mut tick = 0;
        watching.learner.set_tenants(accounts.len());
        for shard in &self.shards {
            let watched = {
                let mut shard = shard.write_drained();
                tick = tick.max(shard.tick);
                shard.tap.drain_watched()
            };
            watching.take(&watched);
        }
        let part = self.memory.limit() / PART;
        let narrower = watching.narrow(part);
        let is_due = watching.learner.is_due(tick, 1);
        if !narrower && !is_due {
            return;
        }
        // Of many tenants it takes a while to ask each, so that is asked last.
        let items = if is_due { self.items_by_shard(accounts.len()) } else { vec![] };
        let by_shard = items.iter().sum();
        if by_shard > 0 {
            let table = watching.learner.learn(tick, by_shard);
            let costs = costs(&watching.learner, accounts, prices);
            watching.indices = Arc::new(Indices::new(table, &items, &costs));
            self.size_pasts(part / self.shards.len() as u64, now);
        }
        self.charge_watching(&mut admin, now);
        self.publish(&mut admin);
    }

    /// Items of each tenant in a shard, in the mean.
    pub(crate) fn items_by_shard(&self, tenants: usize) -> Vec<usize> {
        let mut items = vec![0; tenants];
        for shard in &self.shards {
            for (items, tenant) in items.iter_mut().zip(&shard.write_drained().tenants) {
                *items += tenant.table.len();
            }
        }
        for items in &mut items {
            *items /= self.shards.len();
        }
        items
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
