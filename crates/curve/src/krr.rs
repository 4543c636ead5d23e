//! KRR: the miss ratio curve of K-LRU from one stack [1].
//!
//! K-LRU is not a stack algorithm, but close to one. Let a cache of i objects evict its bottom
//! object with probability 1 - ((i-1)/i)^K'. If the stack were in the order of last use, every
//! cache would evict as K-LRU does, at all sizes at once. The stack loses the strict order of use
//! over time, and K' = K^1.4 corrects for that (exact at K = 1). With Redis's eviction pool, K
//! candidates work like 2K - 1 ([2] measures it), so then K' = (2K-1)^1.4.
//!
//! **Backward update.** In the logarithm of the position the swaps are a Poisson process of rate
//! K'. So instead of visiting every position, the update jumps from the accessed position upwards,
//! each time to ⌈r^(1/K')·(i-1)⌉ with r uniform: K'·ln(φ/K') steps on average instead of φ.
//!
//! **Deletes leave holes.** A cache that reaches down to a hole has free space; a smaller one does
//! not. At the next access to an object below it, objects below the topmost hole stay in place, and
//! the hole moves to the place of the accessed object.
//!
//! Sums of bytes are exact at every position, so no part of the stack is interpolated.
//!
//! On loops a little larger than the cache the exponent is an approximation (up to 0.02 off).
//!
//! [1] Yang, Wang, Wang. Efficient Modeling of Random Sampling-Based LRU. ICPP '21.
//! [2] Redis, `evict.c`: `EVPOOL_SIZE`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use base::{Prng, Size};

use crate::track::{PrefixSums, Stack, StackModel};
use crate::{Params, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "krr",
    predicts: Params::klru,
    build: |params| {
        let k = f64::from(params.k.max(1));
        let candidates = if params.pool { 2.0 * k - 1.0 } else { k };
        let stack = KrrStack::new(candidates.powf(EXPONENT), params.seed);
        Box::new(StackModel::new(params, precision(params.keys_max), stack))
    },
};

/// The power of K that corrects for the lost order of use, fitted by the authors of KRR.
const EXPONENT: f64 = 1.4;

/// The narrowest buckets of distances, as a power of two: a 2^-7th of the distance. A sample of `n`
/// keys has a relative error of `1/√n`, and buckets are not much narrower than that.
const PRECISION: u32 = 7;

fn precision(keys_max: usize) -> u32 {
    (keys_max.max(1).ilog2() / 2).clamp(4, PRECISION)
}

/// No object: a hole in the stack.
const HOLE: u32 = u32::MAX;

/// Draws r^(1/K') for r uniform in (0, 1].
#[derive(Clone, Debug)]
struct Root {
    inverse: f64,
    /// r^(1/K') at even steps of r, empty if K' is 1.
    table: Arc<[f64]>,
}

/// The tables in use, by the bits of K'. Stacks of the same K share a table, because a thousand
/// tenants may each have a stack.
static TABLES: Mutex<BTreeMap<u64, Arc<[f64]>>> = Mutex::new(BTreeMap::new());

impl Root {
    const BITS: u32 = 10;
    /// Below this step the curve is too steep for interpolation between the steps. Above it, the
    /// error is below 1/(2048·K') of the value.
    const BENT: usize = 16;

    fn new(k: f64) -> Self {
        let steps = 1 << Self::BITS;
        let inverse = 1.0 / k;
        if k == 1.0 {
            return Self { inverse, table: Arc::new([]) };
        }
        let root = |step| (f64::from(step) / f64::from(steps)).powf(inverse);
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|_, table| Arc::strong_count(table) > 1);
        let table = tables.entry(k.to_bits()).or_insert_with(|| (0..=steps).map(root).collect());
        Self { inverse, table: table.clone() }
    }

    /// A position from 1 to `n`, at most q with probability (q/n)^K'. Each step of the stack waits
    /// for the previous one, so latency counts. All conversions take one instruction each, and
    /// truncating and adding one is faster than rounding up.
    #[inline]
    fn draw(&self, n: usize, prng: &mut Prng) -> usize {
        if self.table.is_empty() {
            return prng.below(n as u64) as usize + 1;
        }
        let random = prng.next_u64();
        let step = (random >> (64 - Self::BITS)) as usize;
        let root = if step < Self::BENT {
            let r = ((random >> 11) + 1) as f64 / (1u64 << 53) as f64;
            r.powf(self.inverse)
        } else {
            const SCALE: f64 = 1.0 / (1u64 << (64 - Root::BITS)) as f64;
            let share = (random & ((1 << (64 - Self::BITS)) - 1)).cast_signed() as f64 * SCALE;
            let (left, right) = (self.table[step], self.table[step + 1]);
            left + (right - left) * share
        };
        // Rounding may exceed the interval by one.
        ((root * f64::from(n as u32)) as u32 as usize + 1).min(n)
    }
}

/// The stack. Positions count from 1; position i is at i - 1 in the vectors.
#[derive(Debug)]
pub(crate) struct KrrStack {
    root: Root,
    prng: Prng,
    /// The object at each position, or `HOLE`.
    stack: Vec<u32>,
    /// Bytes at each position; a hole keeps the bytes of its deleted object.
    sums: PrefixSums,
    /// The position of each object, 0 if it is not in the stack.
    positions: Vec<u32>,
    holes: BTreeSet<u32>,
}

impl KrrStack {
    pub(crate) fn new(k_prime: f64, seed: u64) -> Self {
        Self {
            root: Root::new(k_prime),
            prng: Prng::new(seed),
            stack: vec![],
            sums: PrefixSums::default(),
            positions: vec![],
            holes: BTreeSet::new(),
        }
    }

    /// Moves objects down from position 1, so that one of them fills `bottom` and position 1 is
    /// free. It works upwards from the bottom, so that every object has moved before it is
    /// overwritten.
    #[inline]
    fn make_room(&mut self, bottom: usize) {
        let mut at = bottom;
        while at > 1 {
            let from = self.root.draw(at - 1, &mut self.prng);
            let id = self.stack[from - 1];
            self.stack[at - 1] = id;
            self.positions[id as usize] = at as u32;
            self.sums.set(at - 1, self.sums.get(from - 1));
            at = from;
        }
    }

    fn trim(&mut self) {
        while self.stack.last() == Some(&HOLE) {
            self.holes.remove(&(self.stack.len() as u32));
            self.stack.pop();
            self.sums.pop();
        }
    }
}

impl Stack for KrrStack {
    fn access(&mut self, id: u32, size: Size) -> Option<u64> {
        if id as usize >= self.positions.len() {
            self.positions.resize(id as usize + 1, 0);
        }
        let mut place = self.positions[id as usize] as usize;
        let distance = if place == 0 {
            self.stack.push(id);
            self.sums.push(size);
            place = self.stack.len();
            None
        } else {
            Some(self.sums.through(place - 1))
        };
        match self.holes.first().copied().filter(|&hole| (hole as usize) < place) {
            None => self.make_room(place),
            Some(hole) => {
                // Objects below the hole stay in place; the hole and the accessed object swap
                // places.
                let bytes = self.sums.get(hole as usize - 1);
                self.holes.remove(&hole);
                self.make_room(hole as usize);
                self.stack[place - 1] = HOLE;
                self.sums.set(place - 1, bytes);
                self.holes.insert(place as u32);
            }
        }
        self.stack[0] = id;
        self.positions[id as usize] = 1;
        self.sums.set(0, size);
        self.trim();
        distance
    }

    fn size(&self, id: u32) -> Size {
        self.sums.get(self.positions[id as usize] as usize - 1)
    }

    fn remove(&mut self, id: u32) {
        let place = std::mem::take(&mut self.positions[id as usize]);
        self.stack[place as usize - 1] = HOLE;
        self.holes.insert(place);
        self.trim();
    }

    fn retain(&mut self, keep: &dyn Fn(u32) -> bool) {
        let objects = self.stack.len() - self.holes.len();
        let staying = self.stack.iter().filter(|&&id| id != HOLE && keep(id)).count();
        // Holes stand for keys too: the same share of holes stays.
        let share = staying as f64 / objects.max(1) as f64;
        let (mut holes_seen, mut holes_kept) = (0.0, 0.0);
        let stack = std::mem::take(&mut self.stack);
        let sums = std::mem::take(&mut self.sums);
        self.holes.clear();
        for (at, id) in stack.into_iter().enumerate() {
            let stays = if id == HOLE {
                holes_seen += share;
                holes_seen >= holes_kept + 1.0
            } else {
                keep(id)
            };
            if stays {
                self.stack.push(id);
                self.sums.push(sums.get(at));
            }
            let place = self.stack.len() as u32;
            if id != HOLE {
                self.positions[id as usize] = if stays { place } else { 0 };
            } else if stays {
                holes_kept += 1.0;
                self.holes.insert(place);
            }
        }
        self.trim();
    }

    fn objects(&self) -> Option<Vec<u32>> {
        Some(self.stack.iter().copied().filter(|&id| id != HOLE).collect())
    }

    fn push_below(&mut self, id: u32, size: Size) {
        if id as usize >= self.positions.len() {
            self.positions.resize(id as usize + 1, 0);
        }
        self.stack.push(id);
        self.sums.push(size);
        self.positions[id as usize] = self.stack.len() as u32;
    }

    fn bytes(&self) -> usize {
        (self.stack.capacity() + self.positions.capacity()) * size_of::<u32>()
            + self.sums.bytes()
            + self.holes.len() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack with so many candidates that each swap is with the neighbour, which is LRU.
    fn like_lru() -> KrrStack {
        KrrStack::new(1e12, 1)
    }

    fn order(stack: &KrrStack) -> Vec<Option<u32>> {
        stack.stack.iter().map(|&id| (id != HOLE).then_some(id)).collect()
    }

    /// Stack A B C D E, delete B, access D: D A C □ E. C and E must not move, and the hole must not
    /// vanish. Then a new object X fills the hole.
    #[test]
    fn the_topmost_hole_takes_the_place_of_the_accessed_object() {
        let mut stack = like_lru();
        let [a, b, c, d, e, x] = [0, 1, 2, 3, 4, 5];
        for id in [e, d, c, b, a] {
            stack.access(id, Size::ONE);
        }
        stack.remove(b);
        assert_eq!(stack.access(d, Size::ONE), Some(4));
        assert_eq!(order(&stack), [Some(d), Some(a), Some(c), None, Some(e)]);
        assert_eq!(stack.access(x, Size::ONE), None);
        assert_eq!(order(&stack), [Some(x), Some(d), Some(a), Some(c), Some(e)]);
    }

    /// The sizes 2 4 3 2 down to D are 11 bytes. Averages over a stack with large objects at the
    /// bottom would give 16.
    #[test]
    fn bytes_are_summed_and_not_averaged() {
        let mut stack = like_lru();
        for (id, size) in [(4, 9), (3, 2), (2, 3), (1, 4), (0, 2)] {
            stack.access(id, Size::of(size));
        }
        assert_eq!(stack.access(3, Size::of(2)), Some(11));
    }

    /// At K = 1 every position above is equally likely the next swap. The number of steps to the
    /// top is the harmonic number of the positions above.
    #[test]
    fn swaps_follow_their_law() {
        let mut prng = Prng::new(9);
        let draws = 300_000;
        for (k_prime, n) in [(1.0, 3), (2.0, 2), (9.518, 7), (128.0, 40)] {
            let root = Root::new(k_prime);
            let mut counts = vec![0.0; n + 1];
            for _ in 0..draws {
                counts[root.draw(n, &mut prng)] += 1.0;
            }
            let below = |q: usize| (q as f64 / n as f64).powf(k_prime);
            for (q, count) in counts.iter().enumerate().skip(1) {
                let share = below(q) - below(q - 1);
                let error = (share * (1.0 - share) / f64::from(draws)).sqrt();
                let seen = count / f64::from(draws);
                let near = (seen - share).abs() < 5.0 * error + 1e-4;
                assert!(near, "{k_prime} {n}: {q} {seen} {share}");
            }
        }
    }

    /// The update of a Mattson stack by its definition: every position from the top decides whether
    /// its object stays or is replaced by the one moving down.
    fn naive(stack: &mut KrrStack, place: usize, k_prime: f64) {
        let mut carried = stack.stack[0];
        for at in 2..place {
            let stays = ((at - 1) as f64 / at as f64).powf(k_prime);
            if stack.prng.unit() > stays {
                carried = std::mem::replace(&mut stack.stack[at - 1], carried);
            }
        }
        stack.stack[place - 1] = carried;
    }

    fn filled(k_prime: f64, seed: u64, objects: u32) -> KrrStack {
        let mut stack = KrrStack::new(k_prime, seed);
        for id in 0..objects {
            stack.stack.push(id);
            stack.positions.push(id + 1);
            stack.sums.push(Size::ONE);
        }
        stack
    }

    /// After either update, each object is equally likely at each position.
    #[test]
    fn the_backward_update_is_the_naive_one() {
        let (depth, k_prime) = (40, 4.0);
        let counts = |update: &dyn Fn(&mut KrrStack), salt: u64| {
            let mut counts = vec![0.0f64; depth * depth];
            for round in 0..40_000 {
                let mut stack = filled(k_prime, salt + round, depth as u32);
                update(&mut stack);
                for (at, &id) in stack.stack.iter().enumerate().skip(1) {
                    counts[at * depth + id as usize] += 1.0;
                }
            }
            counts
        };
        let backward = counts(&|stack| stack.make_room(depth), 0);
        let linear = counts(&|stack| naive(stack, depth, k_prime), 1 << 40);
        for (one, other) in backward.iter().zip(&linear) {
            assert!((one - other).abs() <= 5.0 * f64::sqrt(one + other) + 5.0, "{one} {other}");
        }
    }

    /// For a million requests to 700 000 objects the backward update is some thousand times faster.
    /// The naive update is timed on one request in 5 000, on a copy of the current stack, because
    /// all would take hours. The bound allows for a busy machine.
    #[test]
    fn the_backward_update_is_faster() {
        let (requests, objects, block) = (1_000_000, 700_000, 5_000);
        let mut prng = Prng::new(8);
        let mut stack = KrrStack::new(f64::powf(5.0, EXPONENT), 8);
        let seconds = |update: &mut dyn FnMut()| {
            let start = std::time::Instant::now();
            update();
            start.elapsed().as_secs_f64()
        };
        let (mut fast, mut slow) = (0.0, 0.0);
        for _ in 0..requests / block {
            let ids: Vec<u32> = (0..block).map(|_| prng.below(objects) as u32).collect();
            fast += seconds(&mut || {
                for &id in &ids {
                    stack.access(id, Size::ONE);
                }
            });
            let id = prng.below(objects) as usize;
            let place = match stack.positions.get(id) {
                None | Some(0) => stack.stack.len(),
                Some(&place) => place as usize,
            };
            let before = stack.stack.clone();
            slow += seconds(&mut || naive(&mut stack, place, 9.518));
            stack.stack = before;
        }
        let (fast, slow) = (fast / requests as f64, slow / (requests / block) as f64);
        println!("backward {:.2} µs, naive {:.0} µs: {:.0} ×", fast * 1e6, slow * 1e6, slow / fast);
        assert!(slow > 100.0 * fast, "{slow} s and {fast} s");
    }

    #[test]
    fn steps_are_as_few_as_the_analysis_says() {
        for (k, depth, steps) in [(1.0, 4, 11.0 / 6.0), (1.0, 1_000, 7.5), (5.0, 1_000, 48.4)] {
            let mut stack = KrrStack::new(f64::powf(k, EXPONENT), 2);
            let mut taken = 0;
            let rounds = 20_000;
            for _ in 0..rounds {
                let mut at = depth;
                while at > 1 {
                    at = stack.root.draw(at - 1, &mut stack.prng);
                    taken += 1;
                }
            }
            let mean = f64::from(taken) / f64::from(rounds);
            assert!((mean / steps - 1.0).abs() < 0.02, "K = {k}, depth {depth}: {mean}");
        }
    }

    /// Random operations with deletes, resizes and dropped keys. Every sum, position and hole must
    /// agree with the stack.
    #[test]
    fn nothing_gets_out_of_step() {
        let mut prng = Prng::new(4);
        let mut stack = KrrStack::new(9.5, 3);
        let mut live = BTreeSet::new();
        for step in 0..100_000 {
            let id = prng.below(700) as u32;
            if prng.chance(0.15) && live.remove(&id) {
                stack.remove(id);
            } else {
                let expected = live.contains(&id);
                let distance = stack.access(id, Size::of(prng.below(5_000)));
                assert_eq!(distance.is_some(), expected);
                live.insert(id);
            }
            if step % 25_000 == 24_999 {
                let keep = |id: u32| !id.is_multiple_of(3);
                stack.retain(&keep);
                live.retain(|&id| keep(id));
            }
            if step % 500 == 0 {
                let mut sum = 0;
                let mut holes = BTreeSet::new();
                for (at, &id) in stack.stack.iter().enumerate() {
                    sum += u64::from(stack.sums.get(at));
                    assert_eq!(stack.sums.through(at), sum);
                    if id == HOLE {
                        holes.insert(at as u32 + 1);
                    } else {
                        assert_eq!(stack.positions[id as usize] as usize, at + 1);
                    }
                }
                assert_eq!(holes, stack.holes);
                assert_eq!(stack.stack.len() - holes.len(), live.len());
            }
        }
    }
}
