//! Counts of requests by penalty class and by size class.
//!
//! A hit counts for the class of its item. A miss counts when its fetch ends in a write.

use crate::Key;
use crate::bytes::measured::Fetched;
use crate::contents::contents::Contents;
use crate::items::table::item_table::Slot;
use crate::learning::penalty_classes::PenaltyTable;
use base::TenantId;
use base::penalty::{Estimate, class_of};
use std::sync::PoisonError;

impl Contents {
    /// Starts counting classes, and remembering keys in `places` places; stops if `None`.
    pub(crate) fn count_classes(&mut self, places: Option<usize>) {
        self.tenants.iter_mut().for_each(|tenant| tenant.count_classes(places.is_some()));
        if self.penalty_table.as_ref().map(|table| table.places.len()) != places {
            self.penalty_table = places.map(|places| Box::new(PenaltyTable::new(places)));
        }
        self.set_counts_sizes(self.counts_sizes);
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

    /// Sets the class of a key's item by a hint, and remembers it.
    pub(crate) fn set_hinted_class(&mut self, key: &Key, class: u8) {
        if let Some(place) = self.place(key) {
            self.tenant_mut(key.tenant).set_class(place, class);
            if let Some(table) = &mut self.penalty_table {
                table.put(key.tenant, key.hash, Estimate::of_class(class));
            }
        }
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
            self.tap.see_fetched(key, self.clock.tick, class);
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

impl Contents {
    /// Counts a read that found an item of a class, idle for `age`.
    pub(crate) fn size_is_read(&mut self, tenant: TenantId, class: u16, age: u32) {
        let held = &mut self.tenants[usize::from(tenant)].pages.held;
        // All items of the class may have been removed since.
        if let Some(class) = held.get_mut(usize::from(class)) {
            class.counts.gets += 1;
            class.counts.tail_hits += u64::from(f64::from(age) >= class.tail());
        }
    }

    /// Counts reads that missed the item that is at this place now.
    pub(crate) fn size_is_missed(&mut self, tenant: TenantId, place: Slot, reads: u64) {
        let class = self.tenants[usize::from(tenant)].sized(place);
        class.counts.gets += reads;
        class.counts.misses += reads;
    }

    /// Counts a write of the item at this place.
    pub(crate) fn size_is_written(&mut self, tenant: TenantId, place: Slot) {
        self.tenants[usize::from(tenant)].sized(place).counts.sets += 1;
    }
}

impl Contents {
    /// Sets whether requests are counted by size.
    pub(crate) fn set_counts_sizes(&mut self, on: bool) {
        self.counts_sizes = on;
        self.is_watched = self.penalty_table.is_some() || on;
    }
}
