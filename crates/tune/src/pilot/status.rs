//! Facts that the pilot tells: its division, curves, causes of misses, history and state.

use super::replays::{Present, Replayed};
use super::state::{Pilot, Steered};
use crate::Evictor;
use crate::causes::SIZES;
use crate::record::{Epoch, Status};
use crate::snapshot::Candidate;
use crate::watch::Watch;
use base::{Bytes, Causes, Micros, TenantId};
use std::collections::VecDeque;
use std::sync::Arc;

impl Pilot {
    /// The present budget of each pool, with the pool's name.
    pub fn division(&self) -> Vec<(String, Bytes)> {
        self.pools.iter().map(|pool| (pool.name.clone(), pool.budget)).collect()
    }

    /// The curves of a tenant, or of its pool if the recipe draws no curves for people: one for
    /// each policy of the recipe. Empty if there are too few samples, or if each class of the
    /// tenant's sizes has its own curves.
    pub fn curves(&self, tenant: TenantId) -> &[Candidate] {
        if self.recipe.curves.is_some() {
            return self.views.curves(tenant).unwrap_or_default();
        }
        let own = |pool: &&Steered| pool.tenants.contains(&tenant) && pool.sizes.is_none();
        let pool = self.pools.iter().find(own);
        pool.and_then(|pool| pool.watch.as_ref()).map_or(&[], Watch::curves)
    }

    /// The names of the pools that have their own curves, with these curves.
    pub fn own_curves(&self) -> impl Iterator<Item = (&str, &[Candidate])> {
        self.pools.iter().filter_map(|pool| Some((&*pool.name, pool.watch.as_ref()?.curves())))
    }

    /// Misses of a tenant so far, by cause, estimated for all keys from the sampled keys.
    pub fn causes(&self, tenant: TenantId) -> Causes {
        self.causes.misses(tenant)
    }

    /// Number of sampled misses behind [`Pilot::causes`] of a tenant.
    pub fn sampled_misses(&self, tenant: TenantId) -> u64 {
        self.causes.counted(tenant)
    }

    /// Share of the sampled reads of expired keys that would be saved if items lived twice as long.
    /// `None` if there were no such reads.
    pub fn twice_the_ttl(&self, tenant: TenantId) -> Option<f64> {
        self.causes.twice_the_ttl(tenant)
    }

    /// Sampled hits of a tenant by size: at `n`, sizes from 2ⁿ bytes to below twice that.
    pub fn hits_by_size(&self, tenant: TenantId) -> [u32; SIZES] {
        self.causes.hits_by_size(tenant)
    }

    /// Plays the samples since a moment at other sizes and under other policies, a little at each
    /// call. It works for recipes that keep one pool and draw curves for people, and compares the
    /// division with one LRU pool for recipes that give each tenant a budget. Call it after each
    /// look: a set of plays begins once a minute and takes some seconds of looks. Returns true if
    /// this call completed a set.
    pub fn play(&mut self, since: Micros) -> bool {
        let Some(present) = self.present() else { return false };
        self.replays.play(&present, self.prices.in_force(), since)
    }

    /// The policy or division that plays compare with others; `None` if nothing is played.
    pub(super) fn present(&self) -> Option<Present> {
        match &self.pools[..] {
            [pool] if self.recipe.curves.is_some() => {
                // The plays include one K-LRU, which is the nearest to a K-LRU with any K.
                let is_klru = pool.evictor.policy == Evictor::klru(0).policy;
                let evictor = if is_klru { Evictor::klru_pool(5) } else { pool.evictor };
                Some(Present::Shared(evictor))
            }
            pools if self.is_division_in_force() => {
                let own =
                    |pool: &Steered| Some((*pool.tenants.first()?, pool.evictor, pool.budget));
                Some(Present::Divided(pools.iter().filter_map(own).collect()))
            }
            _ => None,
        }
    }

    /// Whether each of several tenants has a budget, which the plant keeps.
    fn is_division_in_force(&self) -> bool {
        self.recipe.divides_by_tenant() && self.pools.len() > 1 && !self.only_watches
    }

    /// The last completed set of plays.
    pub const fn replayed(&self) -> Option<&Arc<Replayed>> {
        self.replays.shown()
    }

    /// The last epochs, oldest first.
    pub const fn history(&self) -> &VecDeque<Epoch> {
        &self.history
    }

    /// A snapshot of the pilot's state for reports and metrics.
    pub fn status(&self) -> Status {
        let watches = self.pools.iter().filter_map(|pool| pool.watch.as_ref());
        Status {
            recipe: self.recipe.to_string(),
            epoch: self.epoch,
            memory: self.limit,
            rate: self.pools.iter().map(|pool| pool.filter().rate()).fold(0.0, f64::max),
            samples: self.samples,
            dropped: self.dropped,
            model_bytes: watches.map(Watch::bytes).sum::<Bytes>()
                + self.views.bytes()
                + self.replays.bytes(),
            observer_bytes: self.observer.bytes() + self.causes.bytes(),
            prices: self.prices.in_force().to_vec(),
            plan: self.plan.clone(),
            history: self.history.iter().cloned().collect(),
        }
    }
}
