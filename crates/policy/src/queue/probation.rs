//! A small FIFO queue in front of a CLOCK, and ghosts beside them: the common part of S3-FIFO, QDLP
//! and Clock2Q+.
//!
//! ```text
//!              ┌─────────────┐ hit enough   ┌──────────────────┐ not hit lately
//!   newcomers ▶│ small, FIFO │─────────────▶│ main, CLOCK      │────────────────▶ leaves
//!              └─────────────┘              └──────────────────┘
//!                     │ not hit      ghosts      ▲
//!                     └─────────▶ leaves, key kept┘ asked for again
//! ```
//!
//! Most objects have one request: they pass through the small queue and never reach the main one. A
//! hit moves nothing. An object larger than the small queue is refused.

use super::Queues;
use crate::ghost::Ghosts;
use crate::{Policy, Slot};
use base::{Access, Bytes, Tick};

/// Parameters that differ within the family. Shares are of the capacity, except that of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    pub(super) small: f64,
    pub(super) ghosts: f64,
    /// Newest share of the small queue, in which hits do not count.
    pub(super) window: f64,
    /// Hits in the small queue that lead to the main queue.
    pub(super) hits: u8,
    /// The most further rounds of an object in the main queue: the CLOCK's largest count.
    pub(super) rounds: u8,
    /// Whether newcomers go to the main queue until the first eviction, once the small queue is
    /// full: there is nothing to protect yet.
    pub(super) fills_main: bool,
}

const SMALL: usize = 0;
const MAIN: usize = 1;

#[derive(Clone, Copy, Debug, Default)]
struct QueueLimits {
    small: u64,
    main: u64,
    ghosts: u64,
    window: u64,
}

/// The three queues.
#[derive(Debug)]
pub(super) struct Probation {
    traits: Traits,
    queues: Queues,
    ghosts: Ghosts,
    limits: QueueLimits,
    /// Bytes that ever entered the small queue, in total and, by slot, at its entry. Kept only with
    /// a window.
    entered: u64,
    entered_at: Vec<u64>,
    /// Whether the object about to enter was among the ghosts.
    returning: bool,
    /// Whether the policy ever chose a victim.
    evicted: bool,
}

impl Probation {
    pub(super) fn new(traits: Traits, capacity: Bytes) -> Self {
        let mut policy = Self {
            traits,
            queues: Queues::new(2),
            ghosts: Ghosts::default(),
            limits: QueueLimits::default(),
            entered: 0,
            entered_at: vec![],
            returning: false,
            evicted: false,
        };
        policy.on_resize(capacity);
        policy
    }

    /// Notes that `slot` enters the small queue, at the new end of the window.
    fn enter(&mut self, slot: Slot, access: &Access) {
        let at = slot as usize;
        if at >= self.entered_at.len() {
            self.entered_at.resize(at + 1, 0);
        }
        self.entered += u64::from(access.size);
        self.entered_at[at] = self.entered;
    }

    /// Whether fewer bytes than the window holds have entered the small queue behind `slot`.
    fn is_in_window(&self, slot: Slot) -> bool {
        self.traits.window > 0.0
            && self.queues.queue_of(slot) == SMALL
            && self.entered - self.entered_at[slot as usize] < self.limits.window
    }

    /// The first object of the small queue with too few hits. Objects before it move to the main
    /// queue.
    fn small_victim(&mut self) -> Option<Slot> {
        while let Some(slot) = self.queues.oldest(SMALL) {
            if *self.queues.count(slot) < self.traits.hits {
                return Some(slot);
            }
            *self.queues.count(slot) = 0;
            self.queues.shift(slot, MAIN);
        }
        None
    }

    /// The first object of the main queue that has no round left.
    fn main_victim(&mut self) -> Option<Slot> {
        loop {
            let slot = self.queues.oldest(MAIN)?;
            let count = self.queues.count(slot);
            if *count == 0 {
                return Some(slot);
            }
            *count = (*count).min(self.traits.rounds) - 1;
            self.queues.shift(slot, MAIN);
        }
    }
}

impl Policy for Probation {
    fn on_miss(&mut self, incoming: &Access, _: Tick) {
        self.returning = self.ghosts.remove(incoming.key);
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        let filling = self.traits.fills_main
            && !self.evicted
            && self.queues.bytes(SMALL) >= self.limits.small;
        if std::mem::take(&mut self.returning) || filling {
            self.queues.push(MAIN, slot, access.size);
            return;
        }
        self.queues.push(SMALL, slot, access.size);
        if self.traits.window > 0.0 {
            self.enter(slot, access);
        }
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        if !self.is_in_window(slot) {
            let count = self.queues.count(slot);
            *count = count.saturating_add(1);
        }
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
        let part = |of: u64, share: f64| (of as f64 * share) as u64;
        let small = part(capacity.0, self.traits.small);
        let ghosts = part(capacity.0, self.traits.ghosts);
        let window = (small as f64 * self.traits.window).ceil() as u64;
        self.limits = QueueLimits { small, main: capacity.0 - small, ghosts, window };
        self.ghosts.trim(ghosts);
    }
}
