//! SLRU: LRU lists one above the other. A hit lifts an object into the next list. The excess of a
//! list sinks into the one below, and victims come from the lowest.
//!
//! An object with one hit ranks below an object with many, so a scan cannot flush the upper lists.
//! By default there are four lists of a quarter each. A newcomer enters the lowest list that has
//! room, so a cache that is not yet full uses all of them. An object larger than a list is refused.
//!
//! \[1\] Karedla, Love, Wherry. Caching Strategies to Improve Disk System Performance. IEEE
//! Computer 1994.

use super::Queues;
use crate::{Param, Policy, Slot, Spec};
use base::{Access, Bytes, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "slru",
    params: &[Param::count("segments", 4, 1, 64)],
    build: |params| {
        let segments = params.get("segments") as usize;
        let limit = params.capacity.0 / segments as u64;
        Box::new(Slru { queues: Queues::new(segments), segments, limit })
    },
    live: None,
};

/// The lists, the lowest first.
#[derive(Debug)]
pub struct Slru {
    queues: Queues,
    segments: usize,
    limit: u64,
}

impl Slru {
    /// Lets the oldest objects sink, from list `top` down, until only the lowest list may exceed
    /// its limit.
    fn sink(&mut self, top: usize) {
        for segment in (1..=top).rev() {
            while self.queues.bytes(segment) > self.limit {
                let oldest = self.queues.any_oldest([segment]);
                self.queues.shift(oldest, segment - 1);
            }
        }
    }
}

impl Policy for Slru {
    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        let room = |&at: &usize| self.queues.bytes(at) + u64::from(access.size) <= self.limit;
        let segment = (0..self.segments).find(room).unwrap_or(0);
        self.queues.push(segment, slot, access.size);
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        self.queues.resize(slot, access.size);
        let segment = (self.queues.queue_of(slot) + 1).min(self.segments - 1);
        self.queues.shift(slot, segment);
        self.sink(segment);
    }

    fn on_remove(&mut self, slot: Slot, _: u64, _: bool, _: Tick) {
        self.queues.remove(slot);
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        self.queues.any_oldest(0..self.segments)
    }

    fn admits(&self, incoming: &Access) -> bool {
        u64::from(incoming.size) <= self.limit
    }

    fn on_resize(&mut self, capacity: Bytes) {
        self.limit = capacity.0 / self.segments as u64;
        self.sink(self.segments - 1);
    }
}
