//! LRU-K: evicts the object whose K-th last use is oldest; objects with fewer uses go before.
//!
//! The time of the K-th last use shows a rate, and a single use may be an accident, so one request
//! does not keep an object. Uses are remembered for as many bytes of evicted objects as the cache
//! holds (the paper's retained information), or K uses would never come together. `history` sets
//! another share. With 0 an object that comes back after its eviction has no history, as in
//! libCacheSim. Among objects used fewer than K times the least recently used goes first. There is
//! no correlated reference period.
//!
//! A heap finds the victim, so a hit costs O(log n). The K times of an object do not fit the
//! metadata of a live item.
//!
//! \[1\] O'Neil, O'Neil, Weikum. The LRU-K Page Replacement Algorithm for Database Disk Buffering.
//! SIGMOD '93.

use crate::ghost::Ghosts;
use crate::heap::Heap;
use crate::{Param, Policy, Slot, Spec};
use base::{Access, Bytes, Size, Tick};
use std::collections::{HashMap, VecDeque};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "lru-k",
    params: &[Param::count("k", 2, 1, 64), Param::number("history", 1.0, 0.0, 100.0)],
    build: |params| {
        Box::new(LruK {
            k: params.get("k") as usize,
            heap: Heap::default(),
            uses: vec![],
            sizes: vec![],
            departed: HashMap::new(),
            ghosts: Ghosts::default(),
            history: params.get("history"),
            limit: (params.capacity.as_f64() * params.get("history")) as u64,
            returning: VecDeque::new(),
        })
    },
    live: None,
};

/// Ticks of the last uses, oldest first; K at most.
type Uses = VecDeque<u64>;

/// The residents by their K-th last use, and the uses of evicted objects.
#[derive(Debug)]
pub struct LruK {
    k: usize,
    heap: Heap,
    uses: Vec<Uses>,
    sizes: Vec<Size>,
    departed: HashMap<u64, Uses>,
    ghosts: Ghosts,
    /// Bytes of evicted objects remembered, as a share of the capacity.
    history: f64,
    limit: u64,
    returning: Uses,
}

impl LruK {
    /// Full histories rank by their first entry. Shorter ones rank below all of them, by their last
    /// entry, shifted down by more ticks than a run has.
    fn priority(&self, slot: Slot) -> f64 {
        const BELOW: f64 = 1e15;
        let uses = &self.uses[slot as usize];
        let at = |use_: Option<&u64>| use_.map_or(0.0, |&tick| tick as f64);
        if uses.len() >= self.k { at(uses.front()) } else { at(uses.back()) - BELOW }
    }

    fn note(&mut self, slot: Slot, now: Tick) {
        let uses = &mut self.uses[slot as usize];
        uses.push_back(now.0);
        if uses.len() > self.k {
            uses.pop_front();
        }
    }
}

impl Policy for LruK {
    fn on_miss(&mut self, incoming: &Access, _: Tick) {
        self.ghosts.remove(incoming.key);
        self.returning = self.departed.remove(&incoming.key).unwrap_or_default();
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, now: Tick) {
        let at = slot as usize;
        if at >= self.uses.len() {
            self.uses.resize(at + 1, Uses::new());
            self.sizes.resize(at + 1, Size::default());
        }
        self.uses[at] = std::mem::take(&mut self.returning);
        self.sizes[at] = access.size;
        self.note(slot, now);
        self.heap.push(slot, self.priority(slot));
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, now: Tick) {
        self.sizes[slot as usize] = access.size;
        self.note(slot, now);
        self.heap.change(slot, self.priority(slot));
    }

    fn on_remove(&mut self, slot: Slot, key: u64, evicted: bool, _: Tick) {
        self.heap.remove(slot);
        let uses = std::mem::take(&mut self.uses[slot as usize]);
        if !evicted {
            return;
        }
        self.ghosts.push(key, self.sizes[slot as usize]);
        self.departed.insert(key, uses);
        while self.ghosts.bytes() > self.limit {
            if let Some(gone) = self.ghosts.pop_oldest() {
                self.departed.remove(&gone);
            }
        }
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        self.heap.first().expect("a victim is asked for only while something is resident").0
    }

    fn on_resize(&mut self, capacity: Bytes) {
        self.limit = (capacity.as_f64() * self.history) as u64;
    }
}
