//! 2Q: newcomers wait in a FIFO queue. Only an object requested again *after* it left that queue
//! enters the main LRU list.
//!
//! Hits inside the FIFO queue do not count, since they follow the first request soon in any case. A
//! queue of ghosts remembers the evicted objects. The FIFO queue has a quarter of the cache, and
//! the ghosts are those of half a cache (the full version of the paper). An object larger than the
//! FIFO queue is refused.
//!
//! \[1\] Johnson, Shasha. 2Q: A Low Overhead High Performance Buffer Management Replacement
//! Algorithm. VLDB '94.

use super::Queues;
use crate::ghost::Ghosts;
use crate::{Param, Policy, Slot, Spec};
use base::{Access, Bytes, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "2q",
    params: &[Param::share("in", 0.25), Param::number("out", 0.5, 0.0, 100.0)],
    build: |params| {
        let shares = (params.get("in"), params.get("out"));
        let mut policy = TwoQ {
            queues: Queues::new(2),
            ghosts: Ghosts::default(),
            shares,
            limits: (0, 0),
            returning: false,
        };
        policy.on_resize(params.capacity);
        Box::new(policy)
    },
    live: None,
};

const IN: usize = 0;
const MAIN: usize = 1;

/// The FIFO queue, the main list, and the keys evicted from the queue.
#[derive(Debug)]
pub struct TwoQ {
    queues: Queues,
    ghosts: Ghosts,
    shares: (f64, f64),
    /// Bytes of the FIFO queue, and of the ghosts.
    limits: (u64, u64),
    /// Whether the object about to enter was among the ghosts.
    returning: bool,
}

impl Policy for TwoQ {
    fn on_miss(&mut self, incoming: &Access, _: Tick) {
        self.returning = self.ghosts.remove(incoming.key);
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        let queue = if std::mem::take(&mut self.returning) { MAIN } else { IN };
        self.queues.push(queue, slot, access.size);
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        self.queues.resize(slot, access.size);
        if self.queues.queue_of(slot) == MAIN {
            self.queues.shift(slot, MAIN);
        }
    }

    fn on_remove(&mut self, slot: Slot, key: u64, evicted: bool, _: Tick) {
        let (queue, size) = self.queues.remove(slot);
        if evicted && queue == IN && u64::from(size) <= self.limits.1 {
            self.ghosts.trim(self.limits.1 - u64::from(size));
            self.ghosts.push(key, size);
        }
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        let first = if self.queues.bytes(IN) > self.limits.0 { IN } else { MAIN };
        self.queues.any_oldest([first, 1 - first])
    }

    fn admits(&self, incoming: &Access) -> bool {
        u64::from(incoming.size) <= self.limits.0.max(1)
    }

    fn on_resize(&mut self, capacity: Bytes) {
        let part = |share: f64| (capacity.as_f64() * share) as u64;
        self.limits = (part(self.shares.0), part(self.shares.1));
        self.ghosts.trim(self.limits.1);
    }
}
