//! Data for a planner: the requests of each pool of a recipe, as its models see them.

use super::partition::Partition;
use anyhow::anyhow;
use base::{Access, Bytes, Micros, Op};
use curve::{Model, Params};
use tune::snapshot::{Candidate, Pool, Snapshot};
use tune::{Evictor, Recipe, planner};

/// Maximum number of keys of a pool that its models watch: twice as many as a mean error below half
/// a per cent needs.
const KEYS_MAX: usize = 1 << 14;

/// Accesses shown to the models at a time, so that the data of one model stays in the processor's
/// cache.
const BLOCK: usize = 1 << 14;

/// Models and counts of all pools of a recipe.
#[derive(Debug)]
pub(crate) struct Learned {
    recipe: Recipe,
    memory: Bytes,
    seed: u64,
    pub(crate) partition: Partition,
    pools: Vec<LearnedPool>,
}

/// Models and counts of one pool.
#[derive(Debug, Default)]
struct LearnedPool {
    reads: u64,
    waited: f64,
    models: Vec<Box<dyn Model>>,
    block: Vec<Access>,
}

impl LearnedPool {
    fn show(&mut self, access: Access) {
        self.block.push(access);
        if self.block.len() == BLOCK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.models.iter_mut().for_each(|model| model.accesses(&self.block));
        self.block.clear();
    }
}

impl Learned {
    /// Models that have seen nothing yet, for `tenants` that share `memory`.
    pub(crate) fn new(recipe: &Recipe, memory: Bytes, tenants: usize, seed: u64) -> Self {
        let partition = Partition::new(recipe.pools, memory, tenants);
        Self { recipe: *recipe, memory, seed, partition, pools: vec![] }
    }

    /// Takes a request, which states the cost of its miss.
    ///
    /// # Errors
    /// The recipe names a model that does not exist.
    pub(crate) fn see(&mut self, access: &Access) -> anyhow::Result<()> {
        let placed = self.partition.place(access);
        while self.pools.len() <= placed.pool {
            let models = self.models()?;
            self.pools.push(LearnedPool { models, ..LearnedPool::default() });
        }
        if let Some(left) = placed.left {
            self.pools[left].show(Access { op: Op::Delete, ..*access });
        }
        let pool = &mut self.pools[placed.pool];
        if access.op == Op::Get {
            pool.reads += 1;
            pool.waited += access.penalty.as_f64();
        }
        pool.show(Access { size: placed.size.unwrap_or_default(), ..*access });
        if placed.size.is_none() {
            // An item that no page holds misses at every size.
            pool.show(Access { op: Op::Delete, ..*access });
        }
        Ok(())
    }

    fn models(&self) -> anyhow::Result<Vec<Box<dyn Model>>> {
        let Some(name) = self.recipe.model else { return Ok(vec![]) };
        let spec = curve::find(name).map_err(|error| anyhow!(error))?;
        let build = |evictor: &Evictor| {
            (spec.build)(&Params {
                k: u32::from(evictor.k),
                pool: evictor.pool,
                keys_max: KEYS_MAX,
                seed: self.seed,
                ..Params::default()
            })
        };
        Ok(self.recipe.evictors.iter().map(build).collect())
    }

    /// The snapshot for a planner, of requests within `span`: pools with equal shares.
    pub(crate) fn snapshot(&mut self, names: &[String], span: Micros) -> Snapshot {
        let seconds = span.as_f64().max(1.0) / 1e6;
        let equal = Bytes(self.memory.0 / self.pools.len().max(1) as u64);
        let partition = &self.partition;
        let pools = self.pools.iter_mut().enumerate().map(|(at, pool)| {
            pool.flush();
            let curves = self.recipe.evictors.iter().zip(&pool.models);
            let candidates = curves.map(|(&evictor, model)| Candidate::new(evictor, model.curve()));
            let slab = partition.cut(at).map(|(page, chunk)| tune::slab::Slab {
                page,
                chunk,
                pages: equal.0 / page.0,
                ..tune::slab::Slab::default()
            });
            Pool {
                name: partition.name(at, names),
                candidates: candidates.collect(),
                reads_per_s: pool.reads as f64 / seconds,
                penalty_us: pool.waited / pool.reads.max(1) as f64,
                // A class needs a page for its first item.
                floor: slab.as_ref().map_or(Bytes(0), |slab| slab.page),
                budget: equal,
                evictor: self.recipe.evictors[0],
                slab,
                ..Pool::default()
            }
        });
        let pools: Vec<_> = pools.collect();
        let pages = partition.slabs().map(|slabs| (self.memory.0 / u64::from(slabs.page)) as usize);
        Snapshot {
            memory: self.memory,
            units_max: pages.map_or_else(
                || planner::dp::units_for(pools.len()),
                |pages| pages.clamp(1, tune::slab::UNITS_MAX),
            ),
            band: None,
            objective: self.recipe.objective,
            switch_margin: 0.0,
            pools,
            goals: vec![],
        }
    }
}
