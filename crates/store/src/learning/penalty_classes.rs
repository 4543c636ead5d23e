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

use crate::bytes::account::Account;
use crate::bytes::key::hash_of;
use crate::bytes::measured::SLOTS;
use crate::items::item::Owned;
use base::penalty::{Estimate, usual};
use base::{Micros, TenantId, hash};
use std::sync::atomic::Ordering::Relaxed;

/// Bytes and requests of the items of one class of a tenant, in one shard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) used: u64,
    pub(crate) gets: u64,
    pub(crate) misses: u64,
    pub(crate) sets: u64,
}

/// The classes of one tenant in one shard.
#[derive(Debug, Default)]
pub(crate) struct PenaltyClassCounts {
    pub(crate) counts: [Count; SLOTS],
}

impl PenaltyClassCounts {
    pub(crate) fn at(&mut self, class: u8) -> &mut Count {
        &mut self.counts[usize::from(class).min(SLOTS - 1)]
    }

    /// Counts reads that missed keys of a class.
    pub(crate) fn missed(&mut self, class: u8, reads: u64) {
        let count = self.at(class);
        count.gets += reads;
        count.misses += reads;
    }

    /// The class to assume for an item without a measurement.
    pub(crate) fn usual(&self) -> u8 {
        usual(self.counts.iter().map(|count| count.misses))
    }

    pub(crate) fn enters(&mut self, account: &Account, class: u8, charge: u64) {
        self.at(class).used += charge;
        account.class(class).fetch_add(charge, Relaxed);
    }

    pub(crate) fn leaves(&mut self, account: &Account, class: u8, charge: u64) {
        self.at(class).used -= charge;
        account.class(class).fetch_sub(charge, Relaxed);
    }
}

/// Penalties of keys, by hash.
#[derive(Debug)]
pub(crate) struct PenaltyTable {
    /// Each place holds fourteen bits of a hash, and an estimate.
    pub(crate) places: Box<[u32]>,
}

const ESTIMATE: u32 = 18;

impl PenaltyTable {
    pub(crate) fn new(places: usize) -> Self {
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

    pub(crate) fn put(&mut self, tenant: TenantId, hash: u64, estimate: Estimate) {
        let (at, mark) = self.place(tenant, hash);
        self.places[at] = mark << ESTIMATE | estimate.pack();
    }

    /// The class of a key; 0 if the key is not in the table.
    pub(crate) fn class(&self, tenant: TenantId, hash: u64) -> u8 {
        self.find(tenant, hash).map_or(0, Estimate::class)
    }

    /// Adds the time of a fetch, and returns the key's new class.
    pub(crate) fn measure(&mut self, tenant: TenantId, hash: u64, took: Micros) -> u8 {
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
