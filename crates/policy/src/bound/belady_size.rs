//! Belady with sizes: evicts the object that holds the most bytes for the longest until its next
//! use.
//!
//! The best choice among objects of different sizes cannot be computed for real traces. This greedy
//! choice is close to it and serves as the bound. Its score, size × time to the next use, changes
//! as time passes, so the highest of 128 candidates goes. An object without another use does not
//! enter.

use crate::rank::Dense;
use crate::{Param, Policy, Slot, Spec};
use base::{Access, Prng, Size, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "belady-size",
    params: &[Param::k(128)],
    build: |params| {
        let (k, prng) = ((params.get("k") as usize).max(1), Prng::new(params.seed));
        Box::new(BeladySize { k, prng, dense: Dense::default() })
    },
    live: None,
};

#[derive(Clone, Copy, Debug)]
struct NextUse {
    next: Tick,
    size: Size,
}

/// The residents with size and next use.
#[derive(Debug)]
pub struct BeladySize {
    k: usize,
    prng: Prng,
    dense: Dense<NextUse>,
}

impl Policy for BeladySize {
    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        self.dense.push(slot, NextUse { next: access.next, size: access.size });
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        *self.dense.get_mut(slot) = NextUse { next: access.next, size: access.size };
    }

    fn on_remove(&mut self, slot: Slot, _: u64, _: bool, _: Tick) {
        self.dense.remove(slot);
    }

    fn victim(&mut self, _: &Access, now: Tick) -> Slot {
        let mut best = (-1.0, 0);
        for _ in 0..self.k {
            let place = self.prng.below(self.dense.len() as u64) as usize;
            let (slot, entry) = self.dense.at(place);
            let wait = if entry.next == Tick::NEVER {
                f64::MAX
            } else {
                entry.next.since(now).max(1) as f64
            };
            let score = wait * f64::from(entry.size.max(Size::ONE));
            if score > best.0 {
                best = (score, slot);
            }
        }
        best.1
    }

    fn admits(&self, incoming: &Access) -> bool {
        incoming.next != Tick::NEVER
    }
}
