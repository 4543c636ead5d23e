//! 3L-Cache: trees predict the next use of a few candidates, and the furthest is evicted.
//!
//! ```text
//!   oldest                      LRU order                       newest
//!   ├──────────▶ pointer ────────────────────────────────── newcomers ┤
//!                 └ candidates ─▶ trees ─▶ heap of size · time ◀─ candidates ┘
//! ```
//!
//! *Learning* (section 3.2): each request draws one object, among the residents and as many lately
//! evicted objects. At the object's next request, its history at the draw becomes a row, with the
//! time that passed as the label. Only one row in four is kept. If the object is forgotten instead,
//! its time is set beyond the longest that any object was remembered. Once there are enough rows,
//! the trees are fitted anew.
//!
//! *Evicting* (section 3.3): a pointer walks from the least recently used object on. Newcomers are
//! candidates on arrival, while they hold more than their share of the bytes. The trees rank these
//! candidates once. Half as many evictions follow, the largest size · time first. A candidate that
//! is hit meanwhile drops out. Until there are trees the policy is LRU.
//!
//! This follows the authors' code for the object miss ratio. The parts that it tunes for the byte
//! miss ratio are absent.
//!
//! \[1\] Zhou, Niu, Xiong, Fang, Wang. 3L-Cache: Low Overhead and Precise Learning-based Eviction
//! Policy for Caches. FAST '25.

use super::history::{Departed, ObjectHistory};
use super::trees::{FeatureRow, Trees};
use crate::rank::Dense;
use crate::{Param, Policy, Slot, Spec};
use base::list::{Links, List, NIL};
use base::{Access, Prng, Size, Tick};
use std::collections::{BinaryHeap, VecDeque};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "3l-cache",
    params: &[Param::count("batch", 65_536, 64, 16_777_216)],
    build: |params| Box::new(ThreeLCache::new(params.get("batch") as usize, params.seed)),
    live: None,
};

/// One row in this many is kept.
const ROWS_ONE_IN: u64 = 4;
/// The most candidates of one ranking; it takes a hundredth of the residents up to this number.
const CANDIDATES_MAX: usize = 1_024;
/// Candidates ranked for each eviction.
const CANDIDATES_BY_EVICTION: usize = 2;
/// Share of the bytes above which newcomers are candidates, and below which other objects are.
const NEWCOMERS: (f64, f64) = (0.02, 0.2);
/// Residents and evicted objects together, by residents: at first and at most.
const WINDOW: (usize, usize) = (2, 6);
/// Requests after which the window may grow.
const WINDOW_REQUESTS: u64 = 1_000_000;

/// Reads since the window could last grow, counted only while it is full.
#[derive(Clone, Copy, Debug, Default)]
struct Reads {
    all: u64,
    hits: u64,
    /// Reads of resident or remembered objects.
    known: u64,
}

/// The residents in LRU order, the rows to learn from, and the ranked candidates.
#[derive(Debug)]
pub struct ThreeLCache {
    links: Links,
    order: List,
    residents: Dense<ObjectHistory>,
    bytes: u64,
    departed: Departed,
    returning: Option<ObjectHistory>,
    prng: Prng,
    evicted: bool,

    rows: Vec<FeatureRow>,
    labels: Vec<f32>,
    batch: usize,
    trees: Option<Trees>,
    /// The longest time that an object was remembered before it was forgotten: up to the last fit,
    /// and since.
    remembered: [u64; 2],
    window: usize,
    window_is_full: bool,
    reads: Reads,

    /// The next slot of the walk, then the steps it took so far and its length.
    pointer: Slot,
    walked: usize,
    walk: usize,
    newcomers: VecDeque<(Slot, u64, Size)>,
    newcomer_bytes: u64,
    /// By rank (the bits of a positive float order like it), with the number of the prediction.
    heap: BinaryHeap<(u32, Slot, u64)>,
    /// By slot, the number of the current prediction; 0 without one.
    predictions: Vec<u64>,
    predicted: u64,
    /// Evictions until candidates are ranked again.
    left: usize,
}

impl ThreeLCache {
    fn new(batch: usize, seed: u64) -> Self {
        Self {
            links: Links::default(),
            order: List::default(),
            residents: Dense::default(),
            bytes: 0,
            departed: Departed::default(),
            returning: None,
            prng: Prng::new(seed),
            evicted: false,
            rows: vec![],
            labels: vec![],
            batch,
            trees: None,
            remembered: [0; 2],
            window: WINDOW.0,
            window_is_full: false,
            reads: Reads::default(),
            pointer: NIL,
            walked: 0,
            walk: 0,
            newcomers: VecDeque::new(),
            newcomer_bytes: 0,
            heap: BinaryHeap::new(),
            predictions: vec![],
            predicted: 0,
            left: 0,
        }
    }

    /// Learns from an object that was drawn: it was next requested `time` ticks after the draw.
    fn learn(&mut self, known: &ObjectHistory, time: u64) {
        if known.drawn == 0 || (self.trees.is_some() && self.prng.below(ROWS_ONE_IN) != 0) {
            return;
        }
        self.rows.push(known.row(known.drawn));
        self.labels.push((time as f32).ln_1p());
        if self.rows.len() >= self.batch && self.left == 0 {
            self.fit();
        }
    }

    fn fit(&mut self) {
        self.trees = Trees::fit(&self.rows, &self.labels).or(self.trees.take());
        self.rows.clear();
        self.labels.clear();
        self.forget_predictions();
        self.remembered[0] = self.remembered[1];
        let Reads { all, hits, known } = self.reads;
        if all > WINDOW_REQUESTS && self.window_is_full {
            let (more, wider) = ((known - hits) as f64, (self.window - 1) as f64);
            let pays = more > 0.01 * hits as f64 * wider;
            if pays && wider < (all - hits) as f64 / more && self.window < WINDOW.1 {
                self.window += 1;
                self.window_is_full = false;
            }
            self.reads = Reads::default();
        }
    }

    /// Draws one object, and forgets objects that were evicted too long ago.
    fn draw(&mut self, now: u64) {
        if self.evicted {
            let residents = self.residents.len();
            let place = self.prng.below((residents + self.departed.queue.len()) as u64) as usize;
            let known = if place < residents {
                let (slot, _) = self.residents.at(place);
                Some(self.residents.get_mut(slot))
            } else {
                self.departed.queue[place - residents].as_mut()
            };
            if let Some(known) = known.filter(|known| known.drawn == 0) {
                known.drawn = now;
            }
        }
        while self.departed.queue.len() > self.residents.len() * (self.window - 1) + 1 {
            self.window_is_full = true;
            let Some(known) = self.departed.pop() else { continue };
            let age = now - known.last;
            if known.drawn > 0 {
                self.remembered[1] = self.remembered[1].max(age);
            }
            self.learn(&known, self.remembered[0] + age);
        }
    }

    fn count(&mut self, is_resident: bool, is_known: bool) {
        if self.window_is_full {
            self.reads.all += 1;
            self.reads.hits += u64::from(is_resident);
            self.reads.known += u64::from(is_known);
        }
    }

    /// Moves the walk past a slot that changes its place, and cancels the slot's prediction.
    fn step_off(&mut self, slot: Slot) {
        if self.pointer == slot {
            self.pointer = self.links.newer(slot);
        }
        self.predictions[slot as usize] = 0;
    }

    fn forget_predictions(&mut self) {
        self.heap.clear();
        self.predictions.fill(0);
    }

    fn candidates_max(&self) -> usize {
        (self.walk / 100 + CANDIDATES_BY_EVICTION).min(CANDIDATES_MAX)
    }

    /// Adds newcomers while they hold more than their share of the bytes.
    fn newcomers(&mut self, into: &mut Vec<Slot>) {
        let most = into.len() + self.candidates_max() * 3 / 2;
        while self.newcomer_bytes as f64 > NEWCOMERS.0 * self.bytes as f64 && into.len() < most {
            let Some((slot, key, size)) = self.newcomers.pop_front() else { break };
            self.newcomer_bytes -= u64::from(size);
            if self.residents.get(slot).is_some_and(|known| known.key == key) {
                into.push(slot);
            }
        }
    }

    /// Adds the next objects of the walk. At its end it begins again, and all predictions are
    /// dropped.
    fn walk(&mut self, into: &mut Vec<Slot>) {
        let mut taken = 0;
        self.walk = if self.walk == 0 { self.residents.len() } else { self.walk };
        while taken < self.candidates_max() && into.len() < self.walk {
            if self.pointer == NIL || self.walked >= self.walk {
                (self.pointer, self.walked, taken) = (self.order.oldest(), 0, 0);
                self.walk = self.residents.len();
                self.forget_predictions();
            }
            into.push(self.pointer);
            self.pointer = self.links.newer(self.pointer);
            self.walked += 1;
            taken += 1;
        }
    }

    /// Ranks candidates anew.
    fn rank(&mut self, now: u64) {
        let mut candidates = vec![];
        self.newcomers(&mut candidates);
        if (self.newcomer_bytes as f64) < NEWCOMERS.1 * self.bytes as f64 {
            self.walk(&mut candidates);
        }
        let known = candidates.iter().filter_map(|&slot| self.residents.get(slot));
        let rows: Vec<FeatureRow> = known.map(|known| known.row(now)).collect();
        let Some(trees) = &self.trees else { return };
        for (&slot, time) in candidates.iter().zip(trees.predict(&rows)) {
            let size = self.residents.get(slot).map_or(0.0, |known| known.size.as_f32());
            self.predicted += 1;
            self.predictions[slot as usize] = self.predicted;
            self.heap.push(((size * time.exp()).to_bits(), slot, self.predicted));
        }
        self.left = candidates.len() / CANDIDATES_BY_EVICTION;
    }

    fn foretold(&mut self) -> Option<Slot> {
        while let Some((_, slot, prediction)) = self.heap.pop() {
            if self.predictions[slot as usize] == prediction {
                return Some(slot);
            }
        }
        None
    }
}

impl Policy for ThreeLCache {
    fn on_miss(&mut self, incoming: &Access, now: Tick) {
        self.returning = self.departed.take(incoming.key);
        self.count(false, self.returning.is_some());
        if let Some(known) = self.returning {
            self.learn(&known, now.0 - known.drawn);
        }
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, now: Tick) {
        if slot as usize >= self.predictions.len() {
            self.predictions.resize(slot as usize + 1, 0);
        }
        let known = match self.returning.take() {
            Some(mut known) => {
                known.use_again(access.size, now.0);
                known
            }
            None => ObjectHistory::new(access, now.0),
        };
        self.residents.push(slot, known);
        self.order.push(&mut self.links, slot);
        self.bytes += u64::from(access.size);
        if self.trees.is_some() {
            self.newcomers.push_back((slot, access.key, access.size));
            self.newcomer_bytes += u64::from(access.size);
        }
        self.draw(now.0);
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, now: Tick) {
        self.count(true, true);
        let known = *self.residents.get_mut(slot);
        self.learn(&known, now.0 - known.drawn);
        self.bytes = self.bytes - u64::from(known.size) + u64::from(access.size);
        self.residents.get_mut(slot).use_again(access.size, now.0);
        self.step_off(slot);
        self.order.refresh(&mut self.links, slot);
        self.draw(now.0);
    }

    fn on_remove(&mut self, slot: Slot, _: u64, evicted: bool, _: Tick) {
        self.step_off(slot);
        self.order.remove(&mut self.links, slot);
        let known = self.residents.remove(slot);
        self.bytes -= u64::from(known.size);
        if evicted {
            self.evicted = true;
            self.left = self.left.saturating_sub(1);
            self.departed.push(known);
        }
    }

    fn victim(&mut self, _: &Access, now: Tick) -> Slot {
        if self.trees.is_none() {
            return self.order.oldest();
        }
        let known = if self.left > 0 { self.foretold() } else { None };
        if let Some(slot) = known {
            return slot;
        }
        self.rank(now.0);
        self.foretold().unwrap_or(self.order.oldest())
    }
}
