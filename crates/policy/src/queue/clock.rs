//! CLOCK: FIFO with a second chance. An object used since the hand last passed stays for another
//! round.
//!
//! It approximates LRU for page caches: a hit sets a bit where LRU moves a link, so hits need no
//! lock. With `max` above 1 the bit is a counter, and a popular object survives several rounds.

use super::Queues;
use crate::{Param, Policy, Slot, Spec};
use base::{Access, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "clock",
    params: &[Param::count("max", 1, 1, 255)],
    build: |params| Box::new(Clock { queues: Queues::new(1), max: params.get("max") as u8 }),
    live: None,
};

/// One queue with the counters of its objects.
#[derive(Debug)]
pub struct Clock {
    queues: Queues,
    max: u8,
}

impl Policy for Clock {
    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        self.queues.push(0, slot, access.size);
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        let count = self.queues.count(slot);
        *count = count.saturating_add(1).min(self.max);
        self.queues.resize(slot, access.size);
    }

    fn on_remove(&mut self, slot: Slot, _: u64, _: bool, _: Tick) {
        self.queues.remove(slot);
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        loop {
            let slot = self.queues.any_oldest([0]);
            let count = self.queues.count(slot);
            if *count == 0 {
                return slot;
            }
            *count -= 1;
            self.queues.shift(slot, 0);
        }
    }
}
