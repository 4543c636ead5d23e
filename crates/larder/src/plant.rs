//! The cache as the pilot's plant: what it shows, and how a step is carried out.

use crate::cache::Shared;
use base::{Filter, TenantId};
use tune::{Pilot, Plant, Reading, Step};

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
            shared.store.fade_penalties(live::PENALTY_KEEP);
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
        let tenant = |(at, name): (usize, &String)| live::tenant(store, at as TenantId, name);
        Reading {
            now: self.shared.clock.now().micros,
            limit: store.limit(),
            model_memory: live::model_memory(store),
            tenants: self.shared.names.iter().enumerate().map(tenant).collect(),
            samples,
            dropped: *self.dropped,
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        let store = &self.shared.store;
        let pools: Vec<_> = step.pools.iter().map(live::pool).collect();
        store.set_pools(&pools);
        store.set_stopwatch(step.pools.iter().any(|pool| pool.filter != Filter::NONE));
        for pool in &step.pools {
            for &tenant in &pool.tenants {
                store.set_tap(tenant, pool.filter);
            }
        }
    }
}
