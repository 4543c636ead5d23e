//! What the machine gives at the moment. A virtual one may have two processors that are one, or
//! that lie so far apart that a line takes four times as long from one to the other; both last
//! from a fraction of a second to many minutes, and then no cache does with two threads what it
//! could. So two things are seen that do not depend on any cache: by how much two threads that
//! only multiply do more than one, and how long a line takes that two threads throw to and fro.

use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::thread;
use std::time::{Duration, Instant};

/// Multiplications of a thread.
const PRODUCTS: u32 = 3_000_000;
/// Times that the line is thrown.
const THROWS: u64 = 40_000;
/// Two whole processors do at least so many times the work of one.
const PROCESSORS_MIN: f64 = 1.9;
/// Nanoseconds that a throw takes at most between processors that share a cache.
const THROW_MAX: f64 = 60.0;

/// What was seen.
#[derive(Clone, Copy, Debug)]
struct Machine {
    processors: f64,
    /// Nanoseconds.
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

/// Products a nanosecond.
fn products() -> f64 {
    let begun = Instant::now();
    let last = (0..PRODUCTS).fold(3u64, |product, n| {
        std::hint::black_box(product.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(n))
    });
    std::hint::black_box(last);
    f64::from(PRODUCTS) / begun.elapsed().as_nanos() as f64
}

/// Nanoseconds that a throw takes.
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

/// Waits for a whole machine, and knows in the end whether it still was. Its patience is limited.
pub(crate) struct Watch {
    until: Instant,
    is_whole: bool,
    /// Laps that were kept, and of these the ones of a machine that was not whole.
    pub(crate) kept: usize,
    pub(crate) poor: usize,
    /// Laps that were done again.
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

    /// Waits until the machine is whole.
    pub(crate) fn wait(&mut self) {
        while !self.is_whole && self.is_patient() {
            self.is_whole = Machine::seen().is_whole();
        }
    }

    /// Plays a lap, told how many came before it in vain, until the machine is whole before and
    /// after.
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
