//! The cache as the pilot's plant: what it shows, and how a step is carried out.

use crate::cache::Shared;
use base::{Bytes, Filter, Micros, TenantId};
use policy::rank::klru::Klru;
use std::sync::Arc;
use store::{ClassStats, Evictor, Pool};
use tune::{Part, Pilot, Plant, Reading, Step, Tenant};

/// What penalties measured until an epoch ago weigh against those since.
const PENALTY_KEEP: f64 = 0.95;
/// Fetches below which their mean cost is not used.
const FETCHES_MIN: f64 = 16.0;

/// The pilot, and what it has applied.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) pilot: Pilot,
    dropped: u64,
}

impl Loop {
    pub(crate) const fn new(pilot: Pilot) -> Self {
        Self { pilot, dropped: 0 }
    }

    /// One look, and what follows at the end of an epoch.
    pub(crate) fn tick(&mut self, shared: &Shared) {
        let mut live = Live { shared, dropped: &mut self.dropped };
        if self.pilot.tick(&mut live) {
            shared.store.fade_penalties(PENALTY_KEEP);
        }
    }
}

struct Live<'a> {
    shared: &'a Shared,
    dropped: &'a mut u64,
}

impl Plant for Live<'_> {
    fn read(&mut self) -> Reading {
        let store = &self.shared.store;
        let mut samples = vec![];
        *self.dropped += store.drain(&mut samples);
        let part = |class: &ClassStats| Part {
            class: class.class,
            used: class.used,
            gets: class.gets,
            misses: class.misses,
            sets: class.sets,
            penalty: (class.penalty.count >= FETCHES_MIN && class.penalty.mean > Micros(0))
                .then_some(class.penalty.mean),
        };
        let tenant = |(at, name): (usize, &String)| {
            let stats = store.tenant_stats(at as TenantId);
            let measured = stats.penalty.count >= FETCHES_MIN && stats.penalty.mean > Micros(0);
            Tenant {
                id: at as TenantId,
                name: name.clone(),
                used: stats.used,
                items: stats.len.items,
                gets: stats.counters.gets(),
                misses: stats.counters.misses,
                sets: stats.counters.sets,
                penalty: measured.then_some(stats.penalty.mean),
                min: Bytes(0),
                max: None,
                weight: 1.0,
                classes: store.class_stats(at as TenantId).iter().map(part).collect(),
            }
        };
        Reading {
            now: self.shared.clock.now().micros,
            limit: store.limit(),
            tenants: self.shared.names.iter().enumerate().map(tenant).collect(),
            samples,
            dropped: *self.dropped,
            slabs: vec![],
            goals: vec![],
        }
    }

    fn apply(&mut self, step: &Step) {
        let store = &self.shared.store;
        let pools: Vec<_> = step
            .pools
            .iter()
            .map(|pool| Pool {
                tenants: pool.tenants.clone(),
                class: pool.class,
                budget: pool.budget,
                evictor: Evictor {
                    rank: Arc::new(Klru),
                    k: pool.evictor.k,
                    pool: pool.evictor.pool,
                },
            })
            .collect();
        store.set_pools(&pools);
        store.set_stopwatch(step.pools.iter().any(|pool| pool.filter != Filter::NONE));
        for pool in &step.pools {
            for &tenant in &pool.tenants {
                store.set_tap(tenant, pool.filter);
            }
        }
    }
}
