//! Eviction without a pilot: one pool of all tenants.

use super::config::Settings;
use base::{Bytes, TenantId};
use store::{Evictor, Pool};
use tune::{Recipe, recipe};

/// The evictor of the settings.
pub(crate) fn evictor(settings: &Settings) -> Evictor {
    settings.maxmemory_policy.evictor(settings.maxmemory_samples)
}

/// One pool with all tenants.
pub(crate) fn shared_pool(settings: &Settings, tenants: usize) -> Vec<Pool> {
    vec![Pool {
        tenants: (0..tenants as TenantId).collect(),
        class: None,
        budget: Bytes(settings.maxmemory.0),
        evictor: evictor(settings),
    }]
}

/// The recipe in force: `static`, unless the policy is `auto`.
pub(crate) fn recipe_of(settings: &Settings) -> Recipe {
    if settings.maxmemory_policy.is_auto() {
        return settings.recipe;
    }
    recipe::parse("static").unwrap_or(*recipe::ALL[0])
}

/// Whether the recipe steers the store; otherwise the store is a plain cache.
pub(crate) fn is_steered(settings: &Settings) -> bool {
    recipe_of(settings).steers()
}
