//! Expiries of items: entries of the wheels, and dead items that they name.
//!
//! An item is entered in its tenant's wheel (`items/wheel.rs`) when it gets an expiry, and removed
//! when it is due. `room/expire.rs` decides when.

use crate::bytes::freed::Freed;
use crate::bytes::key::hash_of;
use crate::contents::contents::Contents;
use crate::items::item::Ref;
use crate::items::table::item_table::END;
use crate::learning::exit::Exit;
use crate::tenant::tenant::TenantShard;
use crate::{Key, Now};
use base::TenantId;

/// Buckets that are entered for each new entry, while a walk refills a wheel.
const WALK_STEPS: usize = 4;

impl Contents {
    /// Makes place in a tenant's wheel for one more entry, with reserved bytes. Returns the rest of
    /// the bytes.
    pub(crate) fn widen_wheel(&mut self, tenant: TenantId, reserved: u64) -> Freed {
        self.note_wheel();
        let TenantShard { wheel, account, .. } = self.tenant_mut(tenant);
        let before = wheel.as_ref().map_or(0, |wheel| wheel.bytes());
        let wheel = wheel.get_or_insert_default();
        wheel.reserve();
        account.release(before + reserved - wheel.bytes())
    }

    /// Enters the current expiry of an item. There is a place for it.
    #[inline(never)]
    pub(super) fn note_expiry(&mut self, key: &Key, when: u64, now: Now) {
        let at = key.tenant as usize;
        let tenant = &mut self.tenants[at];
        let wheel = tenant.wheel.as_mut().expect("room was made in it");
        wheel.enter(key.hash, when, now.unix_ms);
        self.no_expiry_before = self.no_expiry_before.min(wheel.no_expiry_before());
        self.walk_wheel(at, WALK_STEPS, now);
    }

    /// Enters all items of a tenant again if too many entries may be stale, from up to `budget`
    /// buckets. Returns the number of buckets that it looked at.
    pub(crate) fn walk_wheel(&mut self, at: usize, budget: usize, now: Now) -> usize {
        let tenant = &mut self.tenants[at];
        let (expiring, items) = (tenant.len(None).expires as usize, tenant.table.len());
        let TenantShard { wheel: Some(wheel), table, .. } = tenant else { return 0 };
        if wheel.is_loose(expiring, items) {
            wheel.restart();
        }
        for step in 0..budget {
            let Some(position) = wheel.walk else { return step };
            let mut is_whole = true;
            let next = table.walk(self.seed, position, |item| {
                let Some(when) = item.expires() else { return };
                is_whole &= wheel.has_spare();
                if is_whole {
                    wheel.enter(hash_of(self.seed, item.db(), item.key()), when, now.unix_ms);
                }
            });
            self.no_expiry_before = self.no_expiry_before.min(wheel.no_expiry_before());
            if !is_whole {
                // The bucket is looked at again once there is room for another entry.
                return step;
            }
            wheel.walk = Some(next).filter(|&next| next < END);
        }
        budget
    }

    /// Expires one due entry of a tenant. Returns the number of dead items removed, and their
    /// bytes. `None` if nothing is due.
    pub(crate) fn expire_one(&mut self, at: usize, now: Now) -> Option<(u64, Freed)> {
        let tenant = &mut self.tenants[at];
        let taken = tenant.wheel.as_mut()?.take(now.unix_ms)?;
        let (mut dead, mut freed) = (0, Freed::NOTHING);
        let is_dead = |item: Ref| item.is_dead(now.unix_ms);
        while let Some(place) = self.tenants[at].table.find_beside(taken.hash, is_dead) {
            freed += self.take_out(at as TenantId, place, Exit::Expired);
            dead += 1;
        }
        let tenant = &mut self.tenants[at];
        let mut when = None;
        _ = tenant.table.find_beside(taken.hash, |item| {
            if let Some(expires) = item.expires()
                && hash_of(self.seed, item.db(), item.key()) as u32 == taken.hash
            {
                when = Some(when.map_or(expires, |when: u64| when.min(expires)));
            }
            false
        });
        if let Some(wheel) = &mut tenant.wheel {
            wheel.put_back(taken, when);
        }
        Some((dead, freed))
    }

    /// Frees memory of a tenant's wheel, up to `most` entries, or the whole wheel if no item has an
    /// expiry.
    pub(crate) fn narrow_wheel(&mut self, at: usize, most: usize) -> Freed {
        let tenant = &mut self.tenants[at];
        let (before, expiring) = (tenant.wheel_bytes(), tenant.len(None).expires);
        match &mut tenant.wheel {
            Some(wheel) if wheel.is_empty() && expiring == 0 => tenant.wheel = None,
            Some(wheel) => wheel.shrink(most),
            None => {}
        }
        tenant.account.release(before - tenant.wheel_bytes())
    }

    /// Finds the time until which no wheel has a due entry.
    pub(crate) fn update_no_expiry(&mut self) {
        let wheels = self.tenants.iter().filter_map(|tenant| tenant.wheel.as_ref());
        let quiet = wheels.map(|wheel| wheel.no_expiry_before()).min();
        self.has_wheels = quiet.is_some();
        self.no_expiry_before = quiet.unwrap_or(u64::MAX);
    }
}
