//! W-TinyLFU: a small LRU window for newcomers, a segmented main list for the rest, and TinyLFU
//! between them.
//!
//! The object that leaves the window meets the main list's next victim, and the one with more
//! recent requests stays. The window lets a burst of hits happen before the comparison, which
//! TinyLFU alone does not. The main list is an SLRU whose protected part is four fifths of it.
//!
//! A large object takes the place of several. It must have had more requests than all of them
//! together. Then all of them leave for it (the *aggregated victims* of \[2\]). If it met them one
//! after the other, it would win some places and lose the last, and the losers would leave for
//! nothing.
//!
//! The best size of the window depends on the traffic: a hundredth of the cache where popularity
//! lasts, most of it where only recency matters \[3\]. So the window begins with a hundredth, and
//! miniatures of the cache show a better size. Caffeine climbs instead: it moves the window and
//! watches the hit ratio. That costs hits at every wrong step, and it mistakes changes of the
//! workload for effects of the window. Measured on real traces, miniatures miss less nearly
//! everywhere. `adapt=0` keeps the first window.
//!
//! \[1\] Einziger, Friedman, Manes. TinyLFU: A Highly Efficient Cache Admission Policy. ACM
//! Transactions on Storage 2017.
//! \[2\] Einziger, Eytan, Friedman, Manes. Lightweight Robust Size Aware Cache Management. ACM
//! Transactions on Storage 2022.
//! \[3\] Einziger, Eytan, Friedman, Manes. Adaptive Software Cache Management. Middleware '18.

use super::Queues;
use crate::admit::Sketch;
use crate::miniature::Miniatures;
use crate::{Choice, Param, Params, Policy, Slot, Spec};
use base::{Access, Bytes, Prng, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "w-tinylfu",
    params: &[
        Param::share("window", 0.01),
        Param::share("protected", 0.8),
        Param::switch("adapt", 1),
    ],
    build: |params| {
        let mut policy = WTinyLfu {
            queues: Queues::new(3),
            keys: vec![],
            sketch: Sketch::default(),
            prng: Prng::new(params.seed),
            window: params.get("window"),
            protected: params.get("protected"),
            miniatures: (params.get("adapt") > 0.0).then(|| miniatures(params)),
            capacity: params.capacity,
            limits: SegmentLimits::default(),
            winner: None,
        };
        policy.on_resize(params.capacity);
        Box::new(policy)
    },
    live: None,
};

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;
/// A losing candidate with at least this frequency still wins one time in [`LUCK`]. Keys chosen to
/// collide in the sketch could otherwise keep a victim for ever.
const WARM: u32 = 6;
const LUCK: u64 = 128;
/// Windows tried beside the initial one.
const WINDOWS: [f64; 4] = [0.08, 0.2, 0.45, 0.8];

fn miniatures(params: &Params<'_>) -> Miniatures {
    let fixed = Choice::of(&SPEC).with("protected", params.get("protected")).with("adapt", 0.0);
    let windows = std::iter::once(params.get("window")).chain(WINDOWS);
    let all = windows.map(|window| (window, fixed.clone().with("window", window))).collect();
    Miniatures::new(all, params.capacity, params.seed)
}

#[derive(Clone, Copy, Debug, Default)]
struct SegmentLimits {
    window: u64,
    main: u64,
    protected: u64,
}

/// The window, and the two segments of the main list.
#[derive(Debug)]
pub struct WTinyLfu {
    queues: Queues,
    keys: Vec<u64>,
    sketch: Sketch,
    prng: Prng,
    /// The window's share of the capacity.
    window: f64,
    /// The protected segment's share of the main list.
    protected: f64,
    /// Miniatures that adapt the window; `None` with `adapt=0`.
    miniatures: Option<Miniatures>,
    capacity: Bytes,
    limits: SegmentLimits,
    /// The object that won a place in the main list, until its victims there are evicted.
    winner: Option<Slot>,
}

impl WTinyLfu {
    fn frequency(&self, slot: Slot) -> u32 {
        u32::from(self.sketch.frequency(self.keys[slot as usize]))
    }

    fn main(&self) -> u64 {
        self.queues.bytes(PROBATION) + self.queues.bytes(PROTECTED)
    }

    /// Whether the main list has room for an object of the window.
    fn fits(&self, slot: Slot) -> bool {
        self.main() + u64::from(self.queues.size_of(slot)) <= self.limits.main
    }

    /// Whether an object of the window had more requests than all objects together that must leave
    /// the main list for it.
    fn wins(&mut self, candidate: Slot) -> bool {
        let own = self.frequency(candidate);
        let mut rivals = 0;
        let mut need = self.main() + u64::from(self.queues.size_of(candidate));
        for slot in self.queues.oldest_first([PROBATION, PROTECTED]) {
            if need <= self.limits.main || rivals >= own {
                break;
            }
            rivals += self.frequency(slot);
            need -= u64::from(self.queues.size_of(slot));
        }
        own > rivals || (own >= WARM && self.prng.below(LUCK) == 0)
    }

    fn show(&mut self, access: &Access) {
        let share = self.miniatures.as_mut().and_then(|miniatures| miniatures.access(access));
        if let Some(share) = share {
            self.window = share;
            self.divide();
        }
    }

    /// Sets the limits. Objects beyond them move when the cache needs the next victim.
    fn divide(&mut self) {
        let capacity = self.capacity;
        let window = ((capacity.as_f64() * self.window) as u64).max(1).min(capacity.0);
        let main = capacity.0 - window;
        let protected = (main as f64 * self.protected) as u64;
        self.limits = SegmentLimits { window, main, protected };
        self.shrink_protected();
    }

    fn shrink_protected(&mut self) {
        while self.queues.bytes(PROTECTED) > self.limits.protected {
            let oldest = self.queues.any_oldest([PROTECTED]);
            self.queues.shift(oldest, PROBATION);
        }
    }
}

impl Policy for WTinyLfu {
    fn on_miss(&mut self, incoming: &Access, _: Tick) {
        self.show(incoming);
        self.sketch.add(incoming.key, self.queues.len());
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        if slot as usize >= self.keys.len() {
            self.keys.resize(slot as usize + 1, 0);
        }
        self.keys[slot as usize] = access.key;
        self.queues.push(WINDOW, slot, access.size);
        self.sketch.fit(self.queues.len());
        // Until the main list is full, every object moves on into it.
        while self.queues.bytes(WINDOW) > self.limits.window {
            let oldest = self.queues.any_oldest([WINDOW]);
            if !self.fits(oldest) {
                break;
            }
            self.queues.shift(oldest, PROBATION);
        }
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        self.show(access);
        self.sketch.add(access.key, self.queues.len());
        self.queues.resize(slot, access.size);
        if self.queues.queue_of(slot) == WINDOW {
            self.queues.shift(slot, WINDOW);
        } else {
            self.queues.shift(slot, PROTECTED);
            self.shrink_protected();
        }
    }

    fn on_remove(&mut self, slot: Slot, key: u64, evicted: bool, _: Tick) {
        self.queues.remove(slot);
        self.winner = self.winner.filter(|&winner| winner != slot);
        if !evicted {
            self.show(&Access::delete(key));
        }
    }

    fn victim(&mut self, incoming: &Access, _: Tick) -> Slot {
        loop {
            let window = self.queues.bytes(WINDOW) + u64::from(incoming.size);
            let candidate =
                self.queues.oldest(WINDOW).filter(|_| window > self.limits.window.max(1));
            let resident = self.queues.oldest(PROBATION).or(self.queues.oldest(PROTECTED));
            let (candidate, resident) = match (candidate, resident) {
                (Some(candidate), Some(resident)) => (candidate, resident),
                (None, Some(slot)) => return slot,
                (Some(slot), None) if !self.fits(slot) => return slot,
                (Some(slot), None) => {
                    self.queues.shift(slot, PROBATION);
                    continue;
                }
                (None, None) => return self.queues.any_oldest([WINDOW]),
            };
            if self.fits(candidate) {
                self.winner = None;
                self.queues.shift(candidate, PROBATION);
                continue;
            }
            if self.winner != Some(candidate) {
                self.winner = self.wins(candidate).then_some(candidate);
            }
            return if self.winner.is_some() { resident } else { candidate };
        }
    }

    fn on_resize(&mut self, capacity: Bytes) {
        self.capacity = capacity;
        if let Some(miniatures) = &mut self.miniatures {
            miniatures.resize(capacity);
        }
        self.divide();
    }
}
