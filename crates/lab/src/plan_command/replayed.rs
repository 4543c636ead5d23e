//! Replays requests under a division that stays as it is.

use super::partition::Partition;
use crate::plant::{Bounds, Counts, SimulatedPlant};
use crate::simulation::Store;
use crate::slab_plant::SlabPlant;
use base::{Access, Bytes, Op, TenantId};
use policy::Outcome;
use tune::{Evictor, Recipe, Step};

/// Requests after which a division is set again: pages that are still free at first go to the class
/// that asks first.
const REPEAT: u64 = 1 << 12;

/// A simulated store of the recipe's kind, with the counts of its pools and tenants.
pub(crate) struct Replayed {
    store: Box<dyn Store>,
    division: Option<Step>,
    requests: u64,
    /// Counts of each pool.
    pools: Vec<Counts>,
    tenants: usize,
}

impl Replayed {
    /// An empty store with this division. Without one, all tenants compete.
    pub(crate) fn new(
        recipe: &Recipe,
        partition: &Partition,
        (memory, division): (Bytes, Option<&[(Bytes, Evictor)]>),
        tenants: &[Bounds],
        seed: u64,
    ) -> Self {
        let mut store: Box<dyn Store> = match partition.slabs() {
            Some(slabs) => {
                let plant = SlabPlant::new(memory, slabs, tenants);
                Box::new(plant.evicting(recipe.evictors[0], seed))
            }
            None => Box::new(SimulatedPlant::new(memory, tenants, seed)),
        };
        let division = division.map(|division| partition.step(division));
        if let Some(step) = &division {
            store.apply(step);
        }
        // Only pages go to the class that asks first.
        let division = division.filter(|_| partition.slabs().is_some());
        Self { store, division, requests: 0, pools: vec![], tenants: tenants.len() }
    }

    /// Serves a request of a pool.
    pub(crate) fn access(&mut self, pool: usize, access: &Access) {
        self.requests += 1;
        if let Some(step) = self.division.as_ref().filter(|_| self.requests.is_multiple_of(REPEAT))
        {
            self.store.apply(step);
        }
        let missed = self.store.access(access) == Outcome::Miss;
        if self.pools.len() <= pool {
            self.pools.resize(pool + 1, Counts::default());
        }
        let counts = &mut self.pools[pool];
        counts.gets += u64::from(access.op == Op::Get);
        if missed {
            counts.misses += 1;
            counts.waited += access.penalty;
        }
    }

    /// Counts of a pool.
    pub(crate) fn pool(&self, at: usize) -> Counts {
        self.pools.get(at).copied().unwrap_or_default()
    }

    /// Counts of a tenant.
    pub(super) fn tenant(&self, id: TenantId) -> Counts {
        self.store.counts(id)
    }

    /// Counts of all tenants together.
    pub(crate) fn all(&self) -> Counts {
        (0..self.tenants as TenantId).map(|id| self.store.counts(id)).sum()
    }

    /// Memory that a tenant uses.
    pub(super) fn used_by(&self, id: TenantId) -> Bytes {
        self.store.used_by(id)
    }

    /// Memory in use.
    pub(super) fn used(&self) -> Bytes {
        self.store.used()
    }
}
