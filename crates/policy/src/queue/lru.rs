//! LRU: one list in order of last use; the oldest is evicted.
//!
//! Exact LRU cannot be a rank policy of the live store: finding the oldest item needs the list, and
//! the list needs a lock on every hit. K-LRU with K = 16 is within a percent of it, and takes its
//! place there.

use crate::rank::klru::Klru;
use crate::{Evictor, Policy, Slot, Spec};
use base::list::{Links, List};
use base::{Access, Tick};
use std::sync::Arc;

/// Candidates that the live store draws.
const CANDIDATES: u8 = 16;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "lru",
    params: &[],
    build: |_| Box::new(Lru::default()),
    live: Some(|_| Evictor { rank: Arc::new(Klru), k: CANDIDATES, pool: false }),
};

/// The residents, newest use first.
#[derive(Debug, Default)]
pub struct Lru {
    links: Links,
    list: List,
}

impl Policy for Lru {
    fn on_insert(&mut self, slot: Slot, _: &Access, _: Tick) {
        self.list.push(&mut self.links, slot);
    }

    fn on_hit(&mut self, slot: Slot, _: &Access, _: Tick) {
        self.list.refresh(&mut self.links, slot);
    }

    fn on_remove(&mut self, slot: Slot, _: u64, _: bool, _: Tick) {
        self.list.remove(&mut self.links, slot);
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        self.list.oldest()
    }
}
