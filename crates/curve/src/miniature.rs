//! Miniature simulation: a cache scaled down by the sampling rate, for the sampled keys [1].
//!
//! It is the only way to a curve for policies without a formula, and it works for any policy. A
//! cache of C bytes becomes one of R·C bytes that sees the share R of the keys. Parameters that are
//! counts (K, the pool) stay as they are; parameters that are shares of the capacity scale with it.
//!
//! A model of a single cache whose policy depends only on ages can be remembered: up to
//! `RESIDENTS_MAX` of its residents, and its counts. Other models begin anew.
//!
//! Several sizes and policies run in one pass. A miniature of fewer than some 200 residents is not
//! accurate, nor is one whose largest object exceeds a fiftieth of the capacity.
//!
//! [1] Waldspurger, Saemundsson, Ahmad, Park. Cache Modeling and Optimization using Miniature
//!     Simulations. ATC '17.

use base::{Access, Bytes, Micros, Op};
use policy::Idle;

use crate::track::{GROUPS, Grid, KeySet, Sampler, map_bytes};
use crate::{MissRatioCurve, Model, Params, Remembered, RememberedObject, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "miniature",
    predicts: |params| params.policy.clone().unwrap_or_else(|| params.klru()),
    build: |params| Box::new(Miniature::new(params)),
};

/// Most residents that are remembered, the last used ones: four megabytes of them.
const RESIDENTS_MAX: usize = 1 << 17;

/// Scaled caches with the policy that [`Params`] names, one for each of its sizes.
#[derive(Debug)]
pub struct Miniature {
    grid: Grid,
    sampler: Sampler,
    /// The watched keys, only if their number is limited.
    keys: Option<KeySet>,
    sampled: f64,
    reads: f64,
    saw_others: bool,
    /// The time of the last access.
    now: Micros,
    block: Vec<Access>,
}

impl Miniature {
    fn new(params: &Params) -> Self {
        let sampler = Sampler::new(params);
        let choice = (SPEC.predicts)(params);
        let grid = Grid::new(&choice, &params.sizes, sampler.rate(), params.seed);
        let keys = (params.keys_max < usize::MAX).then(KeySet::default);
        let (sampled, reads) = (0.0, 0.0);
        let (saw_others, now) = (false, Micros(0));
        Self { grid, sampler, keys, sampled, reads, saw_others, now, block: vec![] }
    }

    fn flush(&mut self) {
        self.grid.accesses(&self.block, 1);
        self.block.clear();
    }

    fn note(&mut self, key: u64) {
        let Some(keys) = &mut self.keys else { return };
        keys.insert(key);
        if !self.sampler.is_full(keys.len()) {
            return;
        }
        let factor = self.sampler.lower(keys.iter().copied());
        let sampler = &self.sampler;
        let gone: Vec<u64> = keys.iter().copied().filter(|&key| !sampler.watches(key)).collect();
        for key in &gone {
            keys.remove(key);
        }
        self.flush();
        self.sampled *= factor;
        self.grid.lower(self.sampler.rate(), factor, &gone);
    }
}

impl Model for Miniature {
    fn access(&mut self, access: &Access) {
        self.accesses(std::slice::from_ref(access));
    }

    fn accesses(&mut self, accesses: &[Access]) {
        for access in accesses {
            let get = f64::from(u8::from(access.op == Op::Get));
            self.reads += get;
            if self.sampler.keeps(access) {
                self.now = self.now.max(access.time);
                self.sampled += get;
                self.block.push(*access);
                self.note(access.key);
            } else {
                self.saw_others = true;
            }
        }
        self.flush();
    }

    fn skip(&mut self, gets: u64) {
        self.sampler.is_not_shown_all();
        self.reads += gets as f64;
        self.saw_others |= gets > 0;
    }

    fn curve(&self) -> MissRatioCurve {
        // As for models that count distances, the divisor is the expected number of reads.
        let expected = self.reads * self.sampler.rate() * self.sampler.drawn().keys;
        self.grid.curve(if self.saw_others { expected } else { self.sampled })
    }

    fn bytes(&self) -> Bytes {
        let keys = self.keys.as_ref().map_or(0, |keys| map_bytes::<()>(keys.capacity()));
        let block = self.block.capacity() * size_of::<Access>();
        Bytes((self.grid.bytes() + keys + block + self.sampler.bytes()) as u64)
    }

    fn forget(&mut self, factor: f64) {
        self.reads *= factor;
        self.sampled *= factor;
        self.grid.forget(factor);
    }

    fn resize(&mut self, size: Bytes) {
        self.grid.resize(size, self.sampler.rate());
    }

    fn groups(&self) -> Option<[f64; GROUPS]> {
        self.grid.groups()
    }

    fn waits(&self) -> Option<[f64; GROUPS]> {
        self.grid.waits()
    }

    fn rate(&self) -> f64 {
        self.sampler.rate()
    }

    fn remembered(&self) -> Option<Remembered> {
        // A model that lowers its rate would also have to remember its watched keys.
        if self.keys.is_some() {
            return None;
        }
        let (mut residents, misses) = self.grid.residents(self.now)?;
        residents.truncate(RESIDENTS_MAX);
        let object = |one: Idle| RememberedObject {
            key: one.key,
            size: one.size.as_u32(),
            left_us: one.left.0,
            age: one.age,
        };
        Some(Remembered {
            rate: self.sampler.rate(),
            missed: misses.to_vec(),
            sampled: self.sampled,
            reads: self.reads,
            objects: residents.into_iter().map(object).collect(),
            ..Remembered::default()
        })
    }

    fn remember(&mut self, remembered: &Remembered) -> bool {
        let is_new = self.reads == 0.0 && self.now == Micros(0) && self.keys.is_none();
        if !is_new || !remembered.is_sound() {
            return false;
        }
        self.sampler.resume(remembered.rate);
        let watched = remembered.objects.iter().filter(|one| self.sampler.watches(one.key));
        let resident = |one: &RememberedObject| Idle {
            key: one.key,
            size: one.size.into(),
            left: Micros(one.left_us),
            age: one.age,
        };
        let residents: Vec<Idle> = watched.map(resident).collect();
        (self.sampled, self.reads) = (remembered.sampled, remembered.reads);
        self.saw_others = self.reads > self.sampled;
        self.grid.fill(&residents, &remembered.missed, self.sampler.rate())
    }
}
