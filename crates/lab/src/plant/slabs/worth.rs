//! Worth of items in a class: hit densities per byte of their chunks, learnt from all classes
//! together, in requests to the whole cache, by the code of the live store. That code also decides
//! which items are explorers, and how many.

use super::Slabs;
use super::item::Item;
use base::{Micros, TenantId, Tick};
use policy::rank::lhd::{Learner, Lived, Ranks};
use policy::{Meta, Rank};

/// Learnt hit densities, and the counts behind them.
#[derive(Debug)]
pub(super) struct Worth {
    pub(super) candidates: u8,
    pub(super) lived: Lived,
    pub(super) learner: Learner,
    pub(super) ranks: Ranks,
    /// Number of evicted items.
    pub(super) evictions: u64,
}

impl Worth {
    /// Worth of which nothing is learnt yet.
    pub(super) fn new(candidates: u8, tenants: usize) -> Self {
        Self {
            candidates,
            lived: Lived::new(tenants),
            learner: Learner::new(tenants),
            ranks: Ranks::default(),
            evictions: 0,
        }
    }

    /// Hit density of an item of a tenant that takes `size` bytes.
    pub(super) fn density(&self, item: &Item, tenant: TenantId, size: u32, tick: u64) -> f32 {
        let age = tick - item.last;
        let meta = Meta { age, life: 0, hits: 0, size, penalty: Micros(0) };
        self.ranks.rank_in(tenant, item.hit_class, &meta, Tick(tick))
    }
}

/// Tenant of a class, and the bytes that an item of it takes of its page.
pub(super) fn home(slabs: &Slabs, chunks: &[u32], class: usize) -> (TenantId, u32) {
    let chunk = chunks[class % chunks.len()];
    ((class / chunks.len()) as TenantId, slabs.page / (slabs.page / chunk))
}
