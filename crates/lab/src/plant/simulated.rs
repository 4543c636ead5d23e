//! The interface of a store in virtual time.

use super::Counts;
use base::{Access, Bytes, Micros, TenantId};
use policy::Outcome;
use tune::{Evictor, Plant};

/// A store in virtual time, which a pilot can steer.
pub trait SimulatedStore: Plant {
    /// Serves a request of a known tenant. A read that misses waits for its penalty and writes.
    fn access(&mut self, access: &Access) -> Outcome;
    /// Lets time pass.
    fn advance(&mut self, now: Micros);
    /// Counts of a tenant's requests, misses and waiting so far.
    fn counts(&self, tenant: TenantId) -> Counts;
    /// Memory in use.
    fn used(&self) -> Bytes;
    /// Memory in use by a tenant.
    fn used_by(&self, tenant: TenantId) -> Bytes;
    /// Items of a tenant.
    fn items_of(&self, tenant: TenantId) -> u64;
    /// How items of a tenant are evicted.
    fn evictor(&self, tenant: TenantId) -> Evictor;
    /// Called after each epoch.
    fn ended_epoch(&mut self) {}
    /// Copies the items of a tenant to a disk, if the store can.
    fn dump(&mut self, _: TenantId) {}
    /// Loads items back from the disk, up to `most` bytes. Returns false when nothing is left to
    /// load, or no room.
    fn load(&mut self, _most: Bytes) -> bool {
        false
    }
}

/// A store of a kind that is chosen at run time.
impl<S: SimulatedStore + ?Sized> SimulatedStore for Box<S> {
    fn access(&mut self, access: &Access) -> Outcome {
        (**self).access(access)
    }

    fn advance(&mut self, now: Micros) {
        (**self).advance(now);
    }

    fn counts(&self, tenant: TenantId) -> Counts {
        (**self).counts(tenant)
    }

    fn used(&self) -> Bytes {
        (**self).used()
    }

    fn used_by(&self, tenant: TenantId) -> Bytes {
        (**self).used_by(tenant)
    }

    fn items_of(&self, tenant: TenantId) -> u64 {
        (**self).items_of(tenant)
    }

    fn evictor(&self, tenant: TenantId) -> Evictor {
        (**self).evictor(tenant)
    }

    fn ended_epoch(&mut self) {
        (**self).ended_epoch();
    }

    fn dump(&mut self, tenant: TenantId) {
        (**self).dump(tenant);
    }

    fn load(&mut self, most: Bytes) -> bool {
        (**self).load(most)
    }
}
