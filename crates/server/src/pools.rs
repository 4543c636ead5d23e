//! How the store evicts where no pilot steers it: one pool of all tenants.

use crate::config::{Layout, Policy, Settings};
use base::{Bytes, TenantId};
use policy::rank::{klru, random};
use std::sync::Arc;
use store::{Evictor, Pool};

/// LHD, which has too little to choose from with fewer candidates, whatever `maxmemory-samples`
/// says. In the heap layout each costs a line of its own, and those that are kept do for as many
/// again. In the slab layout sixteen tags are one line, and, written at about the same time, tell
/// less.
fn lhd(k: u8, layout: Layout) -> Evictor {
    match layout {
        Layout::Heap => Evictor::lhd_pool(k.max(8)),
        Layout::Slab => Evictor::lhd(k.max(32)),
    }
}

/// The evictor the settings name.
pub(crate) fn evictor(settings: &Settings) -> Evictor {
    let k = settings.maxmemory_samples;
    match settings.maxmemory_policy {
        Policy::Lru | Policy::Auto => Evictor { rank: Arc::new(klru::Klru), k, pool: true },
        Policy::Lhd => lhd(k, settings.layout),
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
