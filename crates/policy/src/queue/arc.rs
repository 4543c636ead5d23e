//! ARC: two LRU lists, for objects seen once and more often, whose shares follow the misses.
//!
//! Each list has a tail of ghosts. A miss whose key is among the ghosts of one list shows that this
//! list should have been larger. It moves the target p towards that list. The step is the larger,
//! the fewer ghosts that list has compared with the other.
//!
//! ```text
//!     ┌── ghosts once ──┬─── once ───┐┌─── often ───┬── ghosts often ──┐
//!     └─────────────────┴────────────┘└─────────────┴──────────────────┘
//!                        ◀── p ──────▶
//! ```
//!
//! Sizes: the paper counts pages. Here everything counts bytes, and the target moves by the bytes
//! of the returning object. So objects of one size give the paper's algorithm exactly.
//!
//! \[1\] Megiddo, Modha. ARC: A Self-Tuning, Low Overhead Replacement Cache. FAST '03.

use super::Queues;
use crate::ghost::Ghosts;
use crate::{Policy, Slot, Spec};
use base::{Access, Bytes, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "arc",
    params: &[],
    build: |params| {
        Box::new(Arc {
            queues: Queues::new(2),
            ghosts: [Ghosts::default(), Ghosts::default()],
            target: 0.0,
            capacity: params.capacity.0,
            returning: None,
            remember: true,
        })
    },
    live: None,
};

const ONCE: usize = 0;
const OFTEN: usize = 1;

/// The lists, their ghosts, and the target size of the first list.
#[derive(Debug)]
pub struct Arc {
    queues: Queues,
    ghosts: [Ghosts; 2],
    /// Bytes that the list of objects seen once should hold.
    target: f64,
    capacity: u64,
    /// The list among whose ghosts the object about to enter was.
    returning: Option<usize>,
    /// Whether the next evicted object becomes a ghost.
    remember: bool,
}

impl Arc {
    /// The paper's REPLACE: the victim comes from the list that exceeds its target.
    fn replace(&self) -> Slot {
        let once = self.queues.bytes(ONCE) as f64;
        let tie = once == self.target && self.returning == Some(OFTEN);
        let first = if once > 0.0 && (once > self.target || tie) { ONCE } else { OFTEN };
        self.queues.any_oldest([first, 1 - first])
    }
}

impl Policy for Arc {
    fn on_miss(&mut self, incoming: &Access, _: Tick) {
        let (once, often) = (self.ghosts[ONCE].bytes() as f64, self.ghosts[OFTEN].bytes() as f64);
        let size = f64::from(incoming.size);
        self.returning = None;
        if self.ghosts[ONCE].remove(incoming.key) {
            let step = size * (often / once.max(1.0)).max(1.0);
            self.target = (self.target + step).min(self.capacity as f64);
            self.returning = Some(ONCE);
        } else if self.ghosts[OFTEN].remove(incoming.key) {
            let step = size * (once / often.max(1.0)).max(1.0);
            self.target = (self.target - step).max(0.0);
            self.returning = Some(OFTEN);
        }
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        let queue = if self.returning.take().is_some() { OFTEN } else { ONCE };
        self.queues.push(queue, slot, access.size);
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        self.queues.resize(slot, access.size);
        self.queues.shift(slot, OFTEN);
    }

    fn on_remove(&mut self, slot: Slot, key: u64, evicted: bool, _: Tick) {
        let (queue, size) = self.queues.remove(slot);
        if evicted && self.remember {
            self.ghosts[queue].push(key, size);
        }
        self.remember = true;
    }

    fn victim(&mut self, incoming: &Access, _: Tick) -> Slot {
        self.remember = true;
        if self.returning.is_some() {
            return self.replace();
        }
        let once = self.queues.bytes(ONCE) + self.ghosts[ONCE].bytes();
        if once + u64::from(incoming.size) > self.capacity {
            if self.ghosts[ONCE].bytes() == 0 {
                // The list alone fills the cache: its oldest is evicted and not remembered.
                self.remember = false;
                return self.queues.any_oldest([ONCE, OFTEN]);
            }
            self.ghosts[ONCE].pop_oldest();
        } else if once + self.queues.bytes(OFTEN) + self.ghosts[OFTEN].bytes() >= self.capacity * 2
        {
            self.ghosts[OFTEN].pop_oldest();
        }
        self.replace()
    }

    fn on_resize(&mut self, capacity: Bytes) {
        self.capacity = capacity.0;
        self.target = self.target.min(capacity.as_f64());
        self.ghosts.iter_mut().for_each(|ghosts| ghosts.trim(capacity.0));
    }
}
