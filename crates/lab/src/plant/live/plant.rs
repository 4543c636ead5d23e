//! The product under the pilot: the live plant over the live store, in virtual time.
//!
//! Nothing here is a model: the store runs under the same code as in the server and in a cache in
//! process. So a recipe that runs here and on the simulated plant shows how the two differ.

use super::product::{Product, at};
use crate::plant::{Bounds, Counts, SimulatedStore};
use base::{Access, Bytes, Micros, TenantId};
use live::{Known, Live};
use policy::Outcome;
use store::{Compression, CompressionSettings, ValueSamples};
use tune::{Evictor, Plant, Reading, Recipe, Step};

/// A store with the tenants that share it, and the live plant that applies the pilot's steps.
#[derive(Debug)]
pub(crate) struct LivePlant {
    product: Product,
    live: Live,
    known: Vec<Known>,
    counts: Vec<Counts>,
    now: Micros,
}

impl LivePlant {
    /// An empty store of `maxmemory` bytes for these tenants, numbered in their order.
    pub(crate) fn new(recipe: &Recipe, maxmemory: Bytes, tenants: &[Bounds], seed: u64) -> Self {
        let product = Product::new(live::evictor(recipe.evictors[0]), maxmemory, seed);
        for (at, tenant) in tenants.iter().enumerate() {
            let bounds = store::Bounds { min: tenant.min, max: tenant.max };
            if at < product.store.tenants() {
                product.store.set_bounds(at as TenantId, bounds);
            } else {
                product.store.add_tenant(bounds);
            }
        }
        let mut live = Live::default();
        live.follow(&product.store, recipe);
        let known = |tenant: &Bounds| Known {
            min: tenant.min,
            max: tenant.max,
            weight: tenant.weight,
            ..Known::named(&tenant.name)
        };
        Self {
            product,
            live,
            known: tenants.iter().map(known).collect(),
            counts: vec![Counts::default(); tenants.len()],
            now: Micros(0),
        }
    }
}

impl LivePlant {
    /// Serves a read of a key that no request ever writes.
    pub(super) fn seek(&mut self, access: &Access) {
        self.now = self.now.max(access.time);
        let counts = &mut self.counts[usize::from(access.tenant)];
        counts.gets += 1;
        if !self.product.seek(access) {
            counts.misses += 1;
            counts.waited += access.penalty;
        }
    }

    /// Whether the store has ever evicted an item.
    pub(crate) fn has_evicted(&self) -> bool {
        self.product.stats().evictions > 0
    }

    /// Whether the store holds a key, without any effect.
    #[cfg(test)]
    pub(crate) fn holds(&self, tenant: TenantId, key: u64) -> bool {
        let store = &self.product.store;
        store.peek(&store.key(tenant, 0, &key.to_ne_bytes()), at(self.now), |_| ()).is_some()
    }

    /// Bytes that are divided among tenants.
    pub(super) fn limit(&self) -> Bytes {
        let store = &self.product.store;
        store.limit().saturating_sub(store.reserve())
    }

    /// Sets the bytes that are divided among tenants.
    pub(super) fn set_limit(&self, limit: Bytes) {
        self.product.store.set_limit(limit + self.product.store.reserve());
    }

    /// Gives all values this share of bytes that do not shrink.
    pub(super) fn set_dense(&mut self, share: f64) {
        self.product.set_dense(share);
    }

    /// Draws a value, to see how far it shrinks.
    pub(super) fn sample_value(&self) {
        self.product.store.sample_value(at(self.now));
    }

    /// How far the sampled values of a tenant shrink.
    pub(super) fn value_samples(&self, tenant: TenantId) -> ValueSamples {
        self.product.store.value_samples(tenant)
    }

    /// Compresses values from now on, as the directive `compression auto` does.
    pub(super) fn compress(&self) {
        let settings = CompressionSettings { mode: Compression::Auto, weight: 1.0 };
        self.product.store.set_compression(settings);
    }

    /// Changes the bounds of a tenant.
    pub(super) fn bound(&mut self, place: usize, bounds: &Bounds) {
        self.known[place].min = bounds.min;
        self.known[place].max = bounds.max;
        let bounds = store::Bounds { min: bounds.min, max: bounds.max };
        self.product.store.set_bounds(place as TenantId, bounds);
    }

    /// The memory of the pool of a tenant, if the pilot gave it any.
    pub(super) fn budget(&self, tenant: TenantId) -> Option<Bytes> {
        let pool = self.live.pools().iter().find(|pool| pool.tenants.contains(&tenant))?;
        Some(pool.budget)
    }

    /// Turns the store into a plain cache with one pool under this policy.
    pub(super) fn release(&mut self, evictor: policy::Evictor) {
        let tenants = (0..self.known.len() as TenantId).collect();
        let budget = self.product.store.limit();
        let pool = store::Pool { tenants, class: None, budget, evictor };
        self.live.release(&self.product.store, &[pool]);
    }
}

impl Plant for LivePlant {
    fn read(&mut self) -> Reading {
        self.live.on(&self.product.store, &self.known, at(self.now)).read()
    }

    fn apply(&mut self, step: &Step) {
        self.live.on(&self.product.store, &self.known, at(self.now)).apply(step);
    }
}

impl SimulatedStore for LivePlant {
    fn access(&mut self, access: &Access) -> Outcome {
        self.now = self.now.max(access.time);
        let outcome = self.product.access(access);
        self.counts[usize::from(access.tenant)].record(access, outcome);
        outcome
    }

    fn advance(&mut self, now: Micros) {
        self.now = self.now.max(now);
    }

    fn counts(&self, tenant: TenantId) -> Counts {
        self.counts[usize::from(tenant)]
    }

    fn used(&self) -> Bytes {
        self.product.used()
    }

    fn used_by(&self, tenant: TenantId) -> Bytes {
        self.product.store.tenant_stats(tenant).used
    }

    fn items_of(&self, tenant: TenantId) -> u64 {
        self.product.store.tenant_stats(tenant).len.items
    }

    fn evictor(&self, tenant: TenantId) -> Evictor {
        let pool = self.live.pools().iter().find(|pool| pool.tenants.contains(&tenant));
        pool.map_or(Evictor::klru_pool(5), |pool| pool.evictor)
    }

    fn ended_epoch(&mut self) {
        self.product.store.fade_penalties(live::PENALTY_KEEP);
    }
}
