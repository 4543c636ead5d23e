//! W-TinyLFU: a small LRU window for newcomers, a segmented main list for the rest, and TinyLFU
//! between them.
//!
//! Who falls out of the window meets the main list's next victim, and the one asked for more often
//! lately stays. The window lets a burst of hits happen before anybody is judged, which TinyLFU
//! alone does not. The main list is an SLRU whose protected part is four fifths of it.
//!
//! How large the window should be depends on the traffic: a hundredth of the cache where popularity
//! lasts, most of it where recency is all. So it begins with a hundredth, and a hill climber tries
//! what is better \[2\]. `climb=0` leaves the window as it began.
//!
//! \[1\] Einziger, Friedman, Manes. TinyLFU: A Highly Efficient Cache Admission Policy. ACM
//! Transactions on Storage 2017.
//! \[2\] Einziger, Eytan, Friedman, Manes. Adaptive Software Cache Management. Middleware '18.

use super::Queues;
use crate::admit::Sketch;
use crate::climber::Climber;
use crate::{Access, Bytes, Op, Param, Policy, Slot, Spec, Tick};
use base::Prng;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "w-tinylfu",
    params: &[
        Param::share("window", 0.01),
        Param::share("protected", 0.8),
        Param::share("climb", 0.0625),
        Param::number("sample", 4.0, 0.01, 10_000.0),
    ],
    build: |params| {
        let mut policy = WTinyLfu {
            queues: Queues::new(3),
            keys: vec![],
            sketch: Sketch::default(),
            prng: Prng::new(params.seed),
            window: params.get("window"),
            protected: params.get("protected"),
            climber: Climber::new(params.get("climb")),
            sample: params.get("sample"),
            capacity: params.capacity,
            limits: Limits::default(),
        };
        policy.on_resize(params.capacity);
        Box::new(policy)
    },
    live: None,
};

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;
/// A loser at least this frequent still wins one time in [`LUCK`]: keys chosen to collide in the
/// sketch could otherwise keep a victim for ever.
const WARM: u8 = 6;
const LUCK: u64 = 128;
/// The window stays below this, or nothing would be left to compare newcomers with.
const WINDOW_MAX: f64 = 0.8;
/// A cache of fewer objects is looked at as if it held so many: its hit ratio is all noise.
const SAMPLE_OBJECTS_MIN: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    window: u64,
    main: u64,
    protected: u64,
}

/// The window and the two segments of the main list.
#[derive(Debug)]
pub struct WTinyLfu {
    queues: Queues,
    keys: Vec<u64>,
    sketch: Sketch,
    prng: Prng,
    /// Share of the capacity.
    window: f64,
    /// Share of the main list.
    protected: f64,
    climber: Climber,
    /// Reads by resident object between two moves of the window.
    sample: f64,
    capacity: Bytes,
    limits: Limits,
}

impl WTinyLfu {
    fn frequency(&self, slot: Slot) -> u8 {
        self.sketch.frequency(self.keys[slot as usize])
    }

    fn main(&self) -> u64 {
        self.queues.bytes(PROBATION) + self.queues.bytes(PROTECTED)
    }

    /// Whether the main list has room for an object of the window.
    fn fits(&self, slot: Slot) -> bool {
        self.main() + u64::from(self.queues.size_of(slot)) <= self.limits.main
    }

    /// Tells the climber of a read, and moves the window if it says so.
    fn count(&mut self, access: &Access, hit: bool) {
        if access.op != Op::Get {
            return;
        }
        let sample = (self.queues.len().max(SAMPLE_OBJECTS_MIN) as f64 * self.sample) as u64;
        if let Some(step) = self.climber.count(hit, sample) {
            self.window = (self.window + step).clamp(0.0, WINDOW_MAX);
            self.divide();
        }
    }

    /// Sets the limits. Who is beyond them moves when the next victim is sought.
    fn divide(&mut self) {
        let capacity = self.capacity;
        let window = ((capacity.as_f64() * self.window) as u64).max(1).min(capacity.0);
        let main = capacity.0 - window;
        let protected = (main as f64 * self.protected) as u64;
        self.limits = Limits { window, main, protected };
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
        self.count(incoming, false);
        self.sketch.add(incoming.key, self.queues.len());
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        if slot as usize >= self.keys.len() {
            self.keys.resize(slot as usize + 1, 0);
        }
        self.keys[slot as usize] = access.key;
        self.queues.push(WINDOW, slot, access.size);
        self.sketch.fit(self.queues.len());
        // Until the main list is full everyone moves on into it.
        while self.queues.bytes(WINDOW) > self.limits.window {
            let oldest = self.queues.any_oldest([WINDOW]);
            if !self.fits(oldest) {
                break;
            }
            self.queues.shift(oldest, PROBATION);
        }
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        self.count(access, true);
        self.sketch.add(access.key, self.queues.len());
        self.queues.resize(slot, access.size);
        if self.queues.queue_of(slot) == WINDOW {
            self.queues.shift(slot, WINDOW);
        } else {
            self.queues.shift(slot, PROTECTED);
            self.shrink_protected();
        }
    }

    fn on_remove(&mut self, slot: Slot, _: u64, _: bool, _: Tick) {
        self.queues.remove(slot);
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
                self.queues.shift(candidate, PROBATION);
                continue;
            }
            let (new, old) = (self.frequency(candidate), self.frequency(resident));
            let wins = new > old || (new >= WARM && self.prng.below(LUCK) == 0);
            return if wins { resident } else { candidate };
        }
    }

    fn on_resize(&mut self, capacity: Bytes) {
        self.capacity = capacity;
        self.divide();
    }
}
