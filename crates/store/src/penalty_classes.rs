//! Penalty classes, if pools are made of them: counts of each class, and the classes of absent
//! keys.
//!
//! While no pool has a class, none of this exists, and a request pays one check of a null pointer.
//! When the first pool has one, every shard walks its tables once under its lock and counts its
//! items. From then on, every change of an item's bytes updates the count of its class.
//!
//! A miss knows its key, but not its class. It counts when its fetch ends, for the class in which
//! the fetch was measured. A miss without an end counts for the last known class of its key. The
//! *penalty table* holds these classes. It has a fixed size and one place per hash, in which a new
//! key replaces the old one. A replaced key is unknown again, and learns its class with its next
//! fetch. A written item of unknown class counts for the class of most misses of its tenant.
//! Otherwise the unknown items would be a pool with reads but without misses, because misses count
//! for their measured classes.

use crate::item::Owned;
use crate::key::hash_of;
use crate::penalty::Fetched;
use crate::shard::Shard;
use crate::store::{Admin, lock};
use crate::table::Place;
use crate::tenant::{Account, TenantShard};
use crate::{Change, Error, Item, Key, Now, PenaltyClassStats, Store};
use base::penalty::{CLASSES, Estimate, class_of, usual};
use base::{Bytes, Micros, TenantId, hash};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// Number of classes, including the unknown.
pub(crate) const SLOTS: usize = CLASSES as usize + 1;

/// Bytes of the limit for each place in the penalty table.
const BYTES_PER_PLACE: u64 = 512;
/// Range of the number of places of all shards together.
const PLACES: std::ops::RangeInclusive<u64> = 1 << 12..=1 << 20;

/// Bytes and requests of the items of one class of a tenant, in one shard.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    used: u64,
    gets: u64,
    misses: u64,
    sets: u64,
}

/// The classes of one tenant in one shard.
#[derive(Debug, Default)]
pub(crate) struct PenaltyClassCounts {
    counts: [Count; SLOTS],
}

impl PenaltyClassCounts {
    fn at(&mut self, class: u8) -> &mut Count {
        &mut self.counts[usize::from(class).min(SLOTS - 1)]
    }

    /// Counts reads that missed keys of a class.
    fn missed(&mut self, class: u8, reads: u64) {
        let count = self.at(class);
        count.gets += reads;
        count.misses += reads;
    }

    /// The class to assume for an item without a measurement.
    fn usual(&self) -> u8 {
        usual(self.counts.iter().map(|count| count.misses))
    }

    fn enters(&mut self, account: &Account, class: u8, charge: u64) {
        self.at(class).used += charge;
        account.class(class).fetch_add(charge, Relaxed);
    }

    fn leaves(&mut self, account: &Account, class: u8, charge: u64) {
        self.at(class).used -= charge;
        account.class(class).fetch_sub(charge, Relaxed);
    }
}

/// Penalties of keys, by hash.
#[derive(Debug)]
pub(crate) struct PenaltyTable {
    /// Each place holds fourteen bits of a hash, and an estimate.
    places: Box<[u32]>,
}

const ESTIMATE: u32 = 18;

impl PenaltyTable {
    fn new(places: usize) -> Self {
        Self { places: vec![0; places].into() }
    }

    /// The place of a key, and its mark.
    fn place(&self, tenant: TenantId, hash: u64) -> (usize, u32) {
        let hash = hash::mix(hash ^ u64::from(tenant));
        (hash as usize & (self.places.len() - 1), (hash >> (32 + ESTIMATE)) as u32)
    }

    fn find(&self, tenant: TenantId, hash: u64) -> Option<Estimate> {
        let (at, mark) = self.place(tenant, hash);
        let place = self.places[at];
        (place != 0 && place >> ESTIMATE == mark).then(|| Estimate::unpack(place))
    }

    fn put(&mut self, tenant: TenantId, hash: u64, estimate: Estimate) {
        let (at, mark) = self.place(tenant, hash);
        self.places[at] = mark << ESTIMATE | estimate.pack();
    }

    /// The class of a key; 0 if the key is not in the table.
    fn class(&self, tenant: TenantId, hash: u64) -> u8 {
        self.find(tenant, hash).map_or(0, Estimate::class)
    }

    /// Adds the time of a fetch, and returns the key's new class.
    fn measure(&mut self, tenant: TenantId, hash: u64, took: Micros) -> u8 {
        let known = self.find(tenant, hash).map(|mut known| {
            known.add(took);
            known
        });
        let estimate = known.unwrap_or_else(|| Estimate::new(took));
        self.put(tenant, hash, estimate);
        estimate.class()
    }

    /// Remembers the class of an item that is evicted.
    pub(crate) fn leave(&mut self, seed: u64, tenant: TenantId, item: &Owned) {
        let item = item.view();
        let (class, hash) = (item.stamps().penalty_class(), hash_of(seed, item.db(), item.key()));
        if class != 0 && self.class(tenant, hash) != class {
            self.put(tenant, hash, Estimate::of_class(class));
        }
    }
}

impl TenantShard {
    /// Counts an item of this class and charge that was added.
    #[inline]
    pub(crate) fn class_enters(&mut self, class: u8, charge: u64) {
        if let Some(classes) = &mut self.classes {
            classes.enters(&self.account, class, charge);
        }
    }

    /// Counts an item of this class and charge that was removed.
    #[inline]
    pub(crate) fn class_leaves(&mut self, class: u8, charge: u64) {
        if let Some(classes) = &mut self.classes {
            classes.leaves(&self.account, class, charge);
        }
    }

    /// Whether the tenant may have an item of the class here.
    #[inline]
    pub(crate) fn has_class(&self, class: u8) -> bool {
        let count = self.classes.as_ref().map(|classes| classes.counts[usize::from(class)]);
        count.is_some_and(|count| count.used > 0)
    }

    /// Sets the counts to zero after all items were removed.
    pub(crate) fn classes_empty(&mut self) {
        if let Some(classes) = &mut self.classes {
            for (count, class) in classes.counts.iter_mut().zip(0..) {
                self.account.class(class).fetch_sub(std::mem::take(&mut count.used), Relaxed);
            }
        }
    }

    /// Starts counting, with the present items, or stops.
    fn count_classes(&mut self, on: bool) {
        if on == self.classes.is_some() {
            return;
        }
        self.classes_empty();
        self.classes = on.then(Box::default);
        if let Some(classes) = &mut self.classes {
            let (account, sizes) = (&self.account, self.pages.classes());
            self.table.each(|item| {
                let charge = sizes.charge(item.contents()) + self.trees.bytes_of(item);
                classes.enters(account, item.stamps().penalty_class(), charge);
            });
        }
    }
}

impl Shard {
    /// Starts counting classes, and remembering keys in `places` places; stops if `None`.
    pub(crate) fn count_classes(&mut self, places: Option<usize>) {
        self.tenants.iter_mut().for_each(|tenant| tenant.count_classes(places.is_some()));
        if self.penalty_table.as_ref().map(|table| table.places.len()) != places {
            self.penalty_table = places.map(|places| Box::new(PenaltyTable::new(places)));
        }
    }

    /// Counts a read that found an item.
    pub(crate) fn class_is_read(&mut self, tenant: TenantId, class: u8) {
        if let Some(classes) = &mut self.tenants[usize::from(tenant)].classes {
            classes.at(class).gets += 1;
        }
    }

    /// Counts reads that missed a key whose fetch never ended.
    #[cold]
    pub(crate) fn class_is_missed(&mut self, tenant: TenantId, hash: u64, reads: u32) {
        let Some(table) = &mut self.penalty_table else { return };
        let class = table.class(tenant, hash);
        if let Some(classes) = &mut self.tenants[usize::from(tenant)].classes {
            classes.missed(class, reads.into());
        }
    }

    /// Whether an item of this class keeps its class if a write that ends no fetch replaces it.
    #[inline]
    pub(crate) fn class_stays(&self, key: &Key, class: u8) -> bool {
        let Some(table) = &self.penalty_table else { return true };
        let classes = self.tenants[usize::from(key.tenant)].classes.as_deref();
        let is_usual = || classes.is_none_or(|classes| classes.usual() == 0);
        let is_new = || table.class(key.tenant, key.hash) == 0 && is_usual();
        self.cost_hint == 0 && (class != 0 || is_new())
    }

    /// Counts a write of an item that has this class now.
    pub(crate) fn class_is_set(&mut self, tenant: TenantId, class: u8) {
        if let Some(classes) = &mut self.tenants[usize::from(tenant)].classes {
            classes.at(class).sets += 1;
        }
    }

    /// Counts a write of a key, and sets the item's class.
    pub(crate) fn class_is_written(&mut self, key: &Key, fetched: bool) {
        if self.counts_sizes {
            let table = &self.tenants[usize::from(key.tenant)].table;
            if let Some(place) = table.find(key.hash, key.db, key.bytes) {
                self.size_is_written(key.tenant, place);
            }
        }
        let hint = self.cost_hint;
        let Some(table) = &mut self.penalty_table else { return };
        let tenant = &mut self.tenants[usize::from(key.tenant)];
        let Some(place) = tenant.table.find(key.hash, key.db, key.bytes) else { return };
        let mut class = tenant.table.get(place).stamps().penalty_class();
        if hint != 0 && !fetched {
            class = hint;
        } else if class == 0 {
            class = table.class(key.tenant, key.hash);
        }
        if class == 0
            && let Some(classes) = &tenant.classes
        {
            class = classes.usual();
        }
        tenant.set_class(place, class);
        self.class_is_set(key.tenant, class);
    }

    /// Records the end of a fetch that `reads` reads waited for: its time for the tenant, in the
    /// item and for its class.
    #[cold]
    pub(crate) fn fetched(&mut self, key: &Key, fetched: Fetched, reads: u64) {
        let hint = self.cost_hint;
        let tenant = &mut self.tenants[usize::from(key.tenant)];
        let place = tenant.table.find(key.hash, key.db, key.bytes);
        let present = place.map_or(0, |place| tenant.table.get(place).stamps().penalty_class());
        let class = match (fetched, &mut self.penalty_table) {
            _ if hint != 0 => hint,
            (Fetched::In(..), _) if tenant.account.is_hinted() => match &mut self.penalty_table {
                Some(table) if present == 0 => table.class(key.tenant, key.hash),
                _ => present,
            },
            (Fetched::In(took, _), Some(table)) => table.measure(key.tenant, key.hash, took),
            (Fetched::In(took, _), None) => class_of(took),
            (Fetched::Abandoned, Some(table)) => table.class(key.tenant, key.hash),
            (Fetched::Abandoned, None) => present,
        };
        if matches!(fetched, Fetched::In(..)) {
            self.tap.see_fetched(key, self.tick, class);
        }
        let mut measured = tenant.account.measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured.add(fetched, tenant.classes.is_some().then_some(class));
        drop(measured);
        if let Some(classes) = &mut tenant.classes {
            classes.missed(class, reads);
        }
        if let Some(place) = place {
            tenant.set_class(place, class);
            if self.counts_sizes {
                self.size_is_missed(key.tenant, place, reads);
            }
        }
    }
}

impl TenantShard {
    /// Changes the class of an item.
    fn set_class(&mut self, place: Place, class: u8) {
        let charge = self.charge_of(self.table.get(place));
        let mut item = self.table.get_mut(place);
        let mut stamps = item.view().stamps();
        let before = stamps.penalty_class();
        if before != class {
            stamps.set_penalty_class(class);
            item.set_stamps(stamps);
            self.pages.retag(item.view());
            self.class_leaves(before, charge);
            self.class_enters(class, charge);
        }
    }
}

impl Store {
    /// Sets whether the penalties of a tenant are the hints of [`Store::set_with_hint`] instead of
    /// measured times.
    pub fn set_hinted(&self, tenant: TenantId, hinted: bool) {
        if let Some(account) = lock(&self.admin).accounts.get(usize::from(tenant)) {
            account.set_hinted(hinted);
        }
    }

    /// Like [`Store::set`], with a hint of the cost of a miss: the item's class is that of
    /// `penalty`, whatever is measured. Measured times count for that class.
    pub fn set_with_hint(
        &self,
        key: &Key,
        value: &[u8],
        expires: Option<u64>,
        penalty: Micros,
        now: Now,
    ) -> Result<(), Error> {
        let change = |_: Option<&Item>| (Change::set(value, expires), ());
        self.update_with_hint(key, penalty, now, change)
    }

    /// Like [`Store::update`], with a hint of the cost of a miss.
    pub fn update_with_hint<'v, R>(
        &self,
        key: &Key,
        penalty: Micros,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        let mut shard = self.shard(key);
        shard.cost_hint = class_of(penalty);
        let result = shard.update(self, key, now, f);
        let class = std::mem::take(&mut shard.cost_hint);
        let shard = &mut *shard;
        let tenant = &mut shard.tenants[usize::from(key.tenant)];
        let place = tenant.table.find(key.hash, key.db, key.bytes).filter(|_| result.is_ok());
        if let Some(place) = place {
            tenant.set_class(place, class);
            if let Some(table) = &mut shard.penalty_table {
                table.put(key.tenant, key.hash, Estimate::of_class(class));
            }
        }
        result
    }

    /// Bytes and requests of a tenant's penalty classes; empty while no pool has a class.
    pub fn penalty_class_stats(&self, tenant: TenantId) -> Vec<PenaltyClassStats> {
        let (account, counts) = {
            let admin = lock(&self.admin);
            (admin.accounts.get(usize::from(tenant)).cloned(), admin.class_bytes > 0)
        };
        let Some(account) = account.filter(|_| counts) else { return vec![] };
        let mut all: Vec<_> = (0..=CLASSES)
            .map(|class| PenaltyClassStats { class, ..PenaltyClassStats::default() })
            .collect();
        for shard in &self.shards {
            let shard = shard.write_drained();
            let classes = shard.tenants.get(usize::from(tenant)).and_then(|t| t.classes.as_ref());
            for (stats, count) in all.iter_mut().zip(classes.iter().flat_map(|c| &c.counts)) {
                stats.used += Bytes(count.used);
                stats.gets += count.gets;
                stats.misses += count.misses;
                stats.sets += count.sets;
            }
        }
        let measured = lock(&account.measured);
        for stats in &mut all {
            stats.penalty = measured.class_stats(stats.class);
        }
        all
    }

    /// Starts counting classes if a pool has one, and stops when none has. Returns the number of
    /// keys that each shard remembers; `None` to count nothing.
    pub(crate) fn switch_classes(&self, admin: &mut Admin) -> Option<usize> {
        let on = admin.pools.iter().any(|pool| pool.class.is_some());
        let places = (self.memory.limit() / BYTES_PER_PLACE)
            .clamp(*PLACES.start(), *PLACES.end())
            .next_power_of_two() as usize
            / self.shards.len();
        let of_shard =
            admin.accounts.len() * size_of::<PenaltyClassCounts>() + places * size_of::<u32>();
        let bytes = if on { (self.shards.len() * of_shard) as u64 } else { 0 };
        self.memory.take(bytes);
        self.memory.give(std::mem::replace(&mut admin.class_bytes, bytes));
        on.then_some(places)
    }
}
