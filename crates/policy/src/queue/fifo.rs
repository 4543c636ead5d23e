//! FIFO: evicts the oldest arrival, however often it was used.
//!
//! The cheapest order: a hit changes nothing. An overwrite does not make an object young.

use crate::{Policy, Slot, Spec};
use base::list::{Links, List};
use base::{Access, Tick};

/// The registry entry.
pub const SPEC: Spec =
    Spec { name: "fifo", params: &[], build: |_| Box::new(Fifo::default()), live: None };

/// The residents, newest arrival first.
#[derive(Debug, Default)]
pub struct Fifo {
    links: Links,
    list: List,
}

impl Policy for Fifo {
    fn on_insert(&mut self, slot: Slot, _: &Access, _: Tick) {
        self.list.push(&mut self.links, slot);
    }

    fn on_hit(&mut self, _: Slot, _: &Access, _: Tick) {}

    fn on_remove(&mut self, slot: Slot, _: u64, _: bool, _: Tick) {
        self.list.remove(&mut self.links, slot);
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        self.list.oldest()
    }
}
