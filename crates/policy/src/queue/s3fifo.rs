//! S3-FIFO: a small FIFO queue in front of a main one, and a FIFO queue of ghosts.
//!
//! Most objects are asked for once. They pass through the small queue, a tenth of the cache, and
//! never reach the main one. Who was hit twice there, or comes back while a ghost, enters the main
//! queue, which gives an object as many further rounds as it had hits, three at most. No hit moves
//! anything.
//!
//! An object larger than the small queue is refused.
//!
//! \[1\] Yang, Zhang, Qiu, Yue, Vinayak. FIFO Queues Are All You Need for Cache Eviction. SOSP '23.

use super::Queues;
use crate::ghost::Ghosts;
use crate::{Access, Bytes, Param, Policy, Slot, Spec, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "s3fifo",
    params: &[
        Param::share("small", 0.1),
        Param::number("ghost", 0.9, 0.0, 100.0),
        Param::count("hits", 2, 1, 255),
    ],
    build: |params| {
        let mut policy = S3Fifo {
            queues: Queues::new(2),
            ghosts: Ghosts::default(),
            shares: (params.get("small"), params.get("ghost")),
            hits: params.get("hits") as u8,
            limits: Limits::default(),
            returning: false,
            evicted: false,
        };
        policy.on_resize(params.capacity);
        Box::new(policy)
    },
    live: None,
};

const SMALL: usize = 0;
const MAIN: usize = 1;
/// Rounds an object of the main queue can have before it.
const ROUNDS_MAX: u8 = 3;

#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    small: u64,
    main: u64,
    ghosts: u64,
}

/// The three queues.
#[derive(Debug)]
pub struct S3Fifo {
    queues: Queues,
    ghosts: Ghosts,
    shares: (f64, f64),
    /// Hits in the small queue that lead to the main one.
    hits: u8,
    limits: Limits,
    /// Whether the object about to enter was among the ghosts.
    returning: bool,
    /// Whether anything was ever evicted.
    evicted: bool,
}

impl S3Fifo {
    /// The first of the small queue that was not hit enough; those before it move on.
    fn small_victim(&mut self) -> Option<Slot> {
        while let Some(slot) = self.queues.oldest(SMALL) {
            if *self.queues.count(slot) < self.hits {
                return Some(slot);
            }
            *self.queues.count(slot) = 0;
            self.queues.shift(slot, MAIN);
        }
        None
    }

    /// The first of the main queue that has no round left.
    fn main_victim(&mut self) -> Option<Slot> {
        loop {
            let slot = self.queues.oldest(MAIN)?;
            let count = self.queues.count(slot);
            if *count == 0 {
                return Some(slot);
            }
            *count = (*count).min(ROUNDS_MAX) - 1;
            self.queues.shift(slot, MAIN);
        }
    }
}

impl Policy for S3Fifo {
    fn on_miss(&mut self, incoming: &Access, _: Tick) {
        self.returning = self.ghosts.remove(incoming.key);
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        // A cache that was never full yet has nobody to protect: the main queue fills as well.
        let filling = !self.evicted && self.queues.bytes(SMALL) >= self.limits.small;
        let queue = if std::mem::take(&mut self.returning) || filling { MAIN } else { SMALL };
        self.queues.push(queue, slot, access.size);
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        let count = self.queues.count(slot);
        *count = count.saturating_add(1);
        self.queues.resize(slot, access.size);
    }

    fn on_remove(&mut self, slot: Slot, key: u64, evicted: bool, _: Tick) {
        let (queue, size) = self.queues.remove(slot);
        if evicted && queue == SMALL && u64::from(size) <= self.limits.ghosts {
            self.ghosts.trim(self.limits.ghosts - u64::from(size));
            self.ghosts.push(key, size);
        }
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        self.evicted = true;
        loop {
            let from_main =
                self.queues.bytes(MAIN) > self.limits.main || self.queues.oldest(SMALL).is_none();
            let found = if from_main { self.main_victim() } else { self.small_victim() };
            if let Some(slot) = found {
                return slot;
            }
        }
    }

    fn admits(&self, incoming: &Access) -> bool {
        u64::from(incoming.size) <= self.limits.small.max(1)
    }

    fn on_resize(&mut self, capacity: Bytes) {
        let small = (capacity.as_f64() * self.shares.0) as u64;
        let ghosts = (capacity.as_f64() * self.shares.1) as u64;
        self.limits = Limits { small, main: capacity.0 - small, ghosts };
        self.ghosts.trim(ghosts);
    }
}
