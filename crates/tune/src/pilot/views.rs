//! Curves for people, if tenants share a pool: the miss ratio of each tenant at other sizes.
//!
//! No plan uses them. They come from the samples of the pool's own models. A view watches its
//! tenant's keys among those, at the power of two below the pool's rate. So a rate that falls in
//! small steps does not restart the view each time.

use crate::snapshot::Candidate;
use crate::watch::{Watch, keys_max, octave};
use crate::{Evictor, Reading, Recipe, TenantReading};
use base::{Access, Bytes, Filter, TenantId};
use std::collections::{HashMap, HashSet};

/// The policy of the curves: the plain one that everyone knows.
const EVICTORS: &[Evictor] = &[Evictor::klru_pool(5)];

/// The most tenants with a view: each view is a model, which takes time and memory.
const VIEWS_MAX: usize = 128;

/// The reading of a tenant: mostly its number is its position.
pub(super) fn find(reading: &Reading, id: TenantId) -> Option<&TenantReading> {
    let is_it = |tenant: &&TenantReading| tenant.id == id;
    let there = reading.tenants.get(usize::from(id)).filter(is_it);
    there.or_else(|| reading.tenants.iter().find(is_it))
}

/// Exponent of the decay for curves that people see.
pub(super) const SLOWER: f64 = 0.1;

/// A view of each tenant with requests.
#[derive(Debug, Default)]
pub(super) struct Views {
    of: Vec<View>,
}

#[derive(Debug)]
struct View {
    tenant: TenantId,
    watch: Watch,
    /// Reads at the last look and at the last epoch.
    seen: Option<u64>,
    ended: u64,
}

impl Views {
    /// Gives a view to every tenant with reads, up to a limit, if the recipe draws curves.
    pub(super) fn form(&mut self, recipe: &Recipe, reading: &Reading, seed: u64) {
        let Some(name) = recipe.curves else { return };
        self.of.retain(|view| find(reading, view.tenant).is_some());
        let known: HashSet<TenantId> = self.of.iter().map(|view| view.tenant).collect();
        let is_new = |tenant: &&TenantReading| tenant.gets > 0 && !known.contains(&tenant.id);
        let room = VIEWS_MAX.saturating_sub(self.of.len());
        let new: Vec<_> = reading.tenants.iter().filter(is_new).take(room).collect();
        if new.is_empty() {
            return;
        }
        let spec = curve::find(name).unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
        let recipe = Recipe { evictors: EVICTORS, rate: None, ..*recipe };
        let keys = keys_max(&recipe, self.of.len() + new.len(), reading);
        for view in &mut self.of {
            view.watch.allow(keys);
        }
        self.of.extend(new.into_iter().map(|tenant| {
            let watch = Watch::new(spec, &recipe, keys, Bytes(0), seed).with_bands();
            View { tenant: tenant.id, watch, seen: Some(0), ended: 0 }
        }));
    }

    /// Shows the views the samples since the last look, at the rate of the pool.
    pub(super) fn learn(&mut self, reading: &Reading, accesses: &[Access], filter: Filter) {
        let rate = octave(filter.rate());
        let mut by_tenant: HashMap<TenantId, Vec<Access>> = HashMap::new();
        for access in accesses {
            by_tenant.entry(access.tenant).or_default().push(*access);
        }
        for view in &mut self.of {
            let Some(tenant) = find(reading, view.tenant) else { continue };
            view.watch.follow(rate);
            let before = view.seen.replace(tenant.gets).unwrap_or(tenant.gets);
            let own = by_tenant.get(&tenant.id).map_or(&[][..], |own| own);
            view.watch.learn(own, tenant.gets.saturating_sub(before));
        }
    }

    /// Takes the curves of tenants with new reads, and forgets a little. The views forget a tenth
    /// of what the pool's models do, since people ask about minutes and not about the last seconds.
    pub(super) fn epoch(&mut self, keep: f64) {
        let keep = keep.powf(SLOWER);
        for view in &mut self.of {
            let gets = view.seen.unwrap_or_default();
            if gets > std::mem::replace(&mut view.ended, gets) {
                view.watch.take_curves(keep);
            }
        }
    }

    /// The curves of a tenant, if it has a view.
    pub(super) fn curves(&self, tenant: TenantId) -> Option<&[Candidate]> {
        let view = self.of.iter().find(|view| view.tenant == tenant);
        view.map(|view| view.watch.curves())
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.of.iter().map(|view| view.watch.bytes()).sum()
    }
}
