//! Simulated caches at several sizes, all fed with the same accesses.

use base::{Access, Bytes, Micros, MissRatio, Op};
use policy::{Cache, Choice, Idle, Outcome};

use crate::MissRatioCurve;

/// Number of groups of keys whose misses are counted separately.
pub const GROUPS: usize = 8;

/// Memory of a resident in a simulated cache: its entry in the map, in the table of residents and
/// in the state of the policy.
const RESIDENT_BYTES: usize = 96;

#[derive(Debug)]
struct Cell {
    /// The unscaled size.
    size: Bytes,
    cache: Cache,
    /// Misses by group of keys.
    misses: [f64; GROUPS],
    /// Cost of these misses, in microseconds.
    waits: [f64; GROUPS],
}

impl Cell {
    fn misses(&self) -> f64 {
        self.misses.iter().sum()
    }

    fn scale(&mut self, factor: f64) {
        let counts = self.misses.iter_mut().chain(&mut self.waits);
        counts.for_each(|count| *count *= factor);
    }
}

#[derive(Debug)]
pub(crate) struct Grid {
    cells: Vec<Cell>,
}

impl Grid {
    /// Caches of the given sizes, scaled by `rate`.
    pub(crate) fn new(choice: &Choice, sizes: &[Bytes], rate: f64, seed: u64) -> Self {
        let cell = |&size: &Bytes| {
            let cache = Cache::new(choice, scaled(size, rate), seed);
            Cell { size, cache, misses: [0.0; GROUPS], waits: [0.0; GROUPS] }
        };
        Self { cells: sizes.iter().map(cell).collect() }
    }

    /// Shows `accesses` to one cache after the other, because the memory that a cache touches is
    /// then close together. With several `threads`, caches run in parallel.
    pub(crate) fn accesses(&mut self, accesses: &[Access], threads: usize) {
        let run = |cell: &mut Cell| {
            for access in accesses {
                if cell.cache.access(access) == Outcome::Miss {
                    // The low bits of a hash are independent of sampling.
                    let group = access.key as usize % GROUPS;
                    cell.misses[group] += 1.0;
                    cell.waits[group] += access.penalty.as_f64();
                }
            }
        };
        if threads < 2 || accesses.len() < 1_000 {
            self.cells.iter_mut().for_each(run);
            return;
        }
        std::thread::scope(|scope| {
            let mut shares: Vec<Vec<&mut Cell>> = (0..threads).map(|_| vec![]).collect();
            // Neighbours in size take about the same time, so they are dealt out like cards.
            for (at, cell) in self.cells.iter_mut().enumerate() {
                shares[at % threads].push(cell);
            }
            for share in shares {
                scope.spawn(move || share.into_iter().for_each(run));
            }
        });
    }

    /// The rate fell: caches shrink, and earlier misses weigh less.
    pub(crate) fn lower(&mut self, rate: f64, factor: f64, gone: &[u64]) {
        for cell in &mut self.cells {
            for &key in gone {
                cell.cache.access(&Access { op: Op::Delete, ..Access::get(key, 0) });
            }
            cell.cache.resize(scaled(cell.size, rate));
            cell.scale(factor);
        }
    }

    pub(crate) fn forget(&mut self, factor: f64) {
        for cell in &mut self.cells {
            cell.scale(factor);
        }
    }

    /// Gives a single cache another size.
    pub(crate) fn resize(&mut self, size: Bytes, rate: f64) {
        if let [cell] = &mut self.cells[..] {
            cell.size = size;
            cell.cache.resize(scaled(size, rate));
        }
    }

    /// The residents of a single cache, and its misses by group of keys.
    pub(crate) fn residents(&self, time: Micros) -> Option<(Vec<Idle>, [f64; GROUPS])> {
        let [cell] = &self.cells[..] else { return None };
        Some((cell.cache.idle(time)?, cell.misses))
    }

    /// Continues from these residents and misses. Returns whether there is a single cache to do so.
    pub(crate) fn fill(&mut self, residents: &[Idle], misses: &[f64], rate: f64) -> bool {
        let [cell] = &mut self.cells[..] else { return false };
        cell.cache.resize(scaled(cell.size, rate));
        cell.cache.fill(residents);
        cell.misses.iter_mut().zip(misses).for_each(|(own, told)| *own = *told);
        true
    }

    /// Misses of the first cache by group of keys.
    pub(crate) fn groups(&self) -> Option<[f64; GROUPS]> {
        self.cells.first().map(|cell| cell.misses)
    }

    /// Cost of the misses of the first cache by group of keys, in microseconds.
    pub(crate) fn waits(&self) -> Option<[f64; GROUPS]> {
        self.cells.first().map(|cell| cell.waits)
    }

    /// The curve through the sizes, if `reads` reads are expected.
    pub(crate) fn curve(&self, reads: f64) -> MissRatioCurve {
        MissRatioCurve::new(
            self.cells.iter().map(|cell| (cell.size, MissRatio::of(cell.misses(), reads))),
        )
    }

    /// Estimated memory of the residents of all caches.
    pub(crate) fn bytes(&self) -> usize {
        self.cells.iter().map(|cell| cell.cache.len() * RESIDENT_BYTES).sum()
    }
}

fn scaled(size: Bytes, rate: f64) -> Bytes {
    Bytes((size.as_f64() * rate).round() as u64)
}
