//! The simulator itself, at a grid of sizes. It is the oracle for every policy, but each size costs
//! a cache and a whole run.

use base::{Access, Bytes, Op};

use crate::track::Grid;
use crate::{MissRatioCurve, Model, Params, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "exact",
    predicts: |params| params.policy.clone().unwrap_or_else(|| params.klru()),
    build: |params| Box::new(Exact::new(params)),
};

/// Caches with the policy that [`Params`] names, one for each of its sizes.
#[derive(Debug)]
pub struct Exact {
    grid: Grid,
    reads: f64,
    threads: usize,
}

impl Exact {
    fn new(params: &Params) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let choice = (SPEC.predicts)(params);
        let grid = Grid::new(&choice, &params.sizes, 1.0, params.seed);
        Self { grid, reads: 0.0, threads }
    }
}

impl Model for Exact {
    fn access(&mut self, access: &Access) {
        self.accesses(std::slice::from_ref(access));
    }

    fn accesses(&mut self, accesses: &[Access]) {
        self.reads += accesses.iter().filter(|access| access.op == Op::Get).count() as f64;
        self.grid.accesses(accesses, self.threads);
    }

    fn curve(&self) -> MissRatioCurve {
        self.grid.curve(self.reads)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.grid.bytes() as u64)
    }

    fn forget(&mut self, factor: f64) {
        self.reads *= factor;
        self.grid.forget(factor);
    }
}
