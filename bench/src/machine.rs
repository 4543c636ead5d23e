//! Measures whether the machine gives two whole processors at the moment.
//!
//! Two processors of a virtual machine may be one real processor. They may also be so far apart
//! that a cache line takes four times as long from one to the other. Both states last from a
//! fraction of a second to many minutes, and slow down every cache with two threads. So this module
//! measures two figures that depend on no cache: the work of two threads that only multiply,
//! relative to one, and the time that a cache line takes from one thread to the other.

use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::thread;
use std::time::{Duration, Instant};

/// Multiplications of each thread.
const PRODUCTS: u32 = 3_000_000;
/// Writes of the line by the two threads together.
const THROWS: u64 = 40_000;
/// Least work of two whole processors, relative to one.
const PROCESSORS_MIN: f64 = 1.9;
/// Most nanoseconds of a throw between processors that share a cache.
const THROW_MAX: f64 = 60.0;

/// The figures of one measurement.
#[derive(Clone, Copy, Debug)]
struct Machine {
    /// Work of two threads relative to one.
    processors: f64,
    /// Nanoseconds from a write of one thread to the next write of the other.
    throw: f64,
}

impl Machine {
    fn seen() -> Self {
        let one = products();
        let both = thread::scope(|scope| {
            let threads = [(); 2].map(|()| scope.spawn(products));
            threads.map(|thread| thread.join().expect("it comes to its end"))
        });
        Self { processors: (both[0] + both[1]) / one, throw: throws() }
    }

    fn is_whole(self) -> bool {
        self.processors >= PROCESSORS_MIN && self.throw <= THROW_MAX
    }
}

/// Multiplications a nanosecond of one thread.
fn products() -> f64 {
    let begun = Instant::now();
    let last = (0..PRODUCTS).fold(3u64, |product, n| {
        std::hint::black_box(product.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(n))
    });
    std::hint::black_box(last);
    f64::from(PRODUCTS) / begun.elapsed().as_nanos() as f64
}

/// Mean nanoseconds of a throw between two threads.
fn throws() -> f64 {
    let line = AtomicU64::new(0);
    let play = |mut mine: u64| {
        while mine < THROWS {
            if line.load(Acquire) == mine {
                line.store(mine + 1, Release);
                mine += 2;
            } else {
                std::hint::spin_loop();
            }
        }
    };
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| play(0));
        scope.spawn(|| play(1));
    });
    begun.elapsed().as_nanos() as f64 / THROWS as f64
}

/// Waits for a whole machine before a lap, and measures the machine again after it. Once the
/// patience is over, every lap counts.
pub(crate) struct Watch {
    until: Instant,
    is_whole: bool,
    /// Laps that count, and how many of them ran on a machine that was not whole.
    pub(crate) kept: usize,
    pub(crate) poor: usize,
    /// Laps that were repeated.
    pub(crate) again: usize,
}

impl Watch {
    pub(crate) fn new(patience: Duration) -> Self {
        let until = Instant::now() + patience;
        Self { until, is_whole: false, kept: 0, poor: 0, again: 0 }
    }

    fn is_patient(&self) -> bool {
        Instant::now() < self.until
    }

    /// Waits until the machine is whole, or until the patience is over.
    pub(crate) fn wait(&mut self) {
        while !self.is_whole && self.is_patient() {
            self.is_whole = Machine::seen().is_whole();
        }
    }

    /// Repeats a lap until the machine is whole before and after it, or until the patience is over.
    /// `lap` receives the number of earlier attempts.
    pub(crate) fn lap<T>(&mut self, mut lap: impl FnMut(usize) -> T) -> T {
        let mut in_vain = 0;
        loop {
            self.wait();
            let was_whole = self.is_whole;
            let result = lap(in_vain);
            self.is_whole = Machine::seen().is_whole();
            let is_good = was_whole && self.is_whole;
            if is_good || !self.is_patient() {
                self.kept += 1;
                self.poor += usize::from(!is_good);
                return result;
            }
            in_vain += 1;
            self.again += 1;
        }
    }
}
