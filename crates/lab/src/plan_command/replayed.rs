//! Replays requests under a division that stays as it is.

use super::partition::Partition;
use crate::plant::{Bounds, Counts, SimulatedStore, of};
use anyhow::Result;
use base::{Access, Bytes, TenantId};
use tune::{Evictor, Recipe, Step};

/// Requests after which a division is set again: pages that are still free at first go to the class
/// that asks first.
const REPEAT: u64 = 1 << 12;

/// A simulated store of the recipe's kind, with the counts of its pools and tenants.
pub(crate) struct Replayed {
    store: Box<dyn SimulatedStore>,
    division: Option<Step>,
    requests: u64,
    /// Counts of each pool.
    pools: Vec<Counts>,
    tenants: usize,
}

impl Replayed {
    /// An empty store with this division. Without one, all tenants compete.
    ///
    /// # Errors
    /// The memory holds no page.
    pub(crate) fn new(
        recipe: &Recipe,
        partition: &Partition,
        (memory, division): (Bytes, Option<&[(Bytes, Evictor)]>),
        tenants: &[Bounds],
        seed: u64,
    ) -> Result<Self> {
        let mut store = of(recipe, memory, tenants, seed)?;
        let division = division.map(|division| partition.step(division));
        if let Some(step) = &division {
            store.apply(step);
        }
        // Only pages go to the class that asks first.
        let division = division.filter(|_| partition.slabs().is_some());
        Ok(Self { store, division, requests: 0, pools: vec![], tenants: tenants.len() })
    }

    /// Serves a request of a pool.
    pub(crate) fn access(&mut self, pool: usize, access: &Access) {
        self.requests += 1;
        if let Some(step) = self.division.as_ref().filter(|_| self.requests.is_multiple_of(REPEAT))
        {
            self.store.apply(step);
        }
        let outcome = self.store.access(access);
        if self.pools.len() <= pool {
            self.pools.resize(pool + 1, Counts::default());
        }
        self.pools[pool].record(access, outcome);
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
