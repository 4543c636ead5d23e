//! How the store evicts where no pilot steers it: one pool of all tenants.

use crate::config::{Policy, Settings};
use base::{Bytes, TenantId};
use policy::rank::{klru, random};
use std::sync::Arc;
use store::{Evictor, Pool};

/// Candidates of LHD, which has too little to choose from with fewer, whatever `maxmemory-samples`
/// says: sixteen tags are one line, and, written at about the same time, tell less than as many
/// apart.
const LHD_MIN: u8 = 32;

/// The evictor the settings name.
pub(crate) fn evictor(settings: &Settings) -> Evictor {
    let k = settings.maxmemory_samples;
    match settings.maxmemory_policy {
        Policy::Lru | Policy::Auto => Evictor { rank: Arc::new(klru::Klru), k, pool: true },
        Policy::Lhd => Evictor::lhd(k.max(LHD_MIN)),
        Policy::Random => Evictor { rank: Arc::new(random::Random), k: 1, pool: false },
        Policy::Nobody => Evictor { rank: Arc::new(klru::Klru), k: 0, pool: false },
    }
}

/// All tenants in one pool.
pub(crate) fn shared_pool(settings: &Settings, tenants: usize) -> Vec<Pool> {
    vec![Pool {
        tenants: (0..tenants as TenantId).collect(),
        class: None,
        budget: Bytes(settings.maxmemory.0),
        evictor: evictor(settings),
    }]
}
