//! Eviction without a pilot: one pool of all tenants.

use super::config::Settings;
use base::{Bytes, TenantId};
use store::{Evictor, Pool};

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
