//! SIEVE: one FIFO queue and a hand that sweeps from the oldest towards the newest. The hand spares
//! objects that were visited since it last passed.
//!
//! Unlike in CLOCK, a spared object keeps its place and newcomers enter at the head, away from the
//! hand. So one-hit wonders are evicted early, while a hit costs one bit and no list move.
//!
//! Not scan resistant: after a long scan every survivor has been unmarked once.
//!
//! \[1\] Zhang, Yang, Yue, Vigfusson, Rashmi. SIEVE is Simpler than LRU. NSDI '24.

use crate::{Policy, Slot, Spec};
use base::list::{Links, List, NIL};
use base::{Access, Tick};

/// The registry entry.
pub const SPEC: Spec =
    Spec { name: "sieve", params: &[], build: |_| Box::new(Sieve::default()), live: None };

/// The queue, the marks, and the position at which the next sweep resumes.
#[derive(Debug)]
pub struct Sieve {
    links: Links,
    list: List,
    visited: Vec<bool>,
    hand: Slot,
}

impl Default for Sieve {
    fn default() -> Self {
        Self { links: Links::default(), list: List::default(), visited: vec![], hand: NIL }
    }
}

impl Policy for Sieve {
    fn on_insert(&mut self, slot: Slot, _: &Access, _: Tick) {
        self.list.push(&mut self.links, slot);
        match self.visited.get_mut(slot as usize) {
            Some(reused) => *reused = false,
            None => self.visited.push(false),
        }
    }

    fn on_hit(&mut self, slot: Slot, _: &Access, _: Tick) {
        self.visited[slot as usize] = true;
    }

    fn on_remove(&mut self, slot: Slot, _: u64, _: bool, _: Tick) {
        if self.hand == slot {
            self.hand = self.links.newer(slot);
        }
        self.list.remove(&mut self.links, slot);
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        let mut at = if self.hand == NIL { self.list.oldest() } else { self.hand };
        while std::mem::take(&mut self.visited[at as usize]) {
            at = match self.links.newer(at) {
                NIL => self.list.oldest(),
                newer => newer,
            };
        }
        self.hand = at;
        at
    }
}
