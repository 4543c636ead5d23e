//! Workloads of experiments, which recipes, policies and models can play.

use crate::plant::{Bounds, Counts, SimulatedStore, Simulation, SlabPlant, Slabs};
use crate::requests::Requests;
use anyhow::{Context, Result, anyhow, ensure};
use base::{Access, Bytes, Filter, Micros, Op, Size, TenantId};
use curve::{MissRatioCurve, Params, Spec};
use load::open::{Options, open};
use policy::Cache;
use std::collections::HashMap;
use std::path::Path;
use tune::{Recipe, recipe};

/// Requests of some tenants, in memory, in the order of time.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) requests: Vec<Access>,
    /// Bytes of all objects, each at its largest size: the working set.
    pub(super) footprint: Bytes,
    /// Number of distinct objects.
    pub(super) objects: u64,
    tenants: usize,
}

impl Load {
    /// The first `limit` requests of a single trace, at a thousand requests a second: clocks of
    /// recorded traces go in steps, or are synthetic. Every miss costs `penalty`.
    pub(super) fn paced(trace: &str, limit: Option<u64>, penalty: Micros) -> Result<Self> {
        let options = Options { limit, ..Options::default() };
        let mut source = open(trace, &options)?;
        let mut load = Self { requests: vec![], footprint: Bytes(0), objects: 0, tenants: 1 };
        let mut sizes = Sizes::default();
        while let Some(access) = source.next() {
            let time = Micros(load.requests.len() as u64 * 1_000);
            let access = Access { time, tenant: 0, penalty, ..access? };
            sizes.see(&access);
            load.requests.push(access);
        }
        (load.footprint, load.objects) = (sizes.sum(), sizes.0.len() as u64);
        Ok(load)
    }

    /// Reads `traces` (files or generators): each is a tenant, spread over the same span. The cost
    /// of a miss of each tenant is in `penalties`, in microseconds; a tenant without an entry takes
    /// the costs in its trace.
    pub(super) fn open(traces: &[String], penalties: &[u64]) -> Result<Self> {
        Self::first(None, traces, penalties)
    }

    /// Like [`Load::open`], with the first `limit` requests of each trace.
    pub(super) fn first(limit: Option<u64>, traces: &[String], penalties: &[u64]) -> Result<Self> {
        let mut source = Requests::open(traces, &Options { limit, ..Options::default() }, &[])?;
        let mut requests = vec![];
        let mut ends: Vec<Micros> = vec![];
        let mut sizes = Sizes::default();
        while let Some(access) = source.next()? {
            let at = usize::from(access.tenant);
            ends.resize(ends.len().max(at + 1), Micros(1));
            ends[at] = ends[at].max(access.time);
            sizes.see(&access);
            let penalty = penalties.get(at).map_or(access.penalty, |&penalty| Micros(penalty));
            requests.push(Access { penalty, ..access });
        }
        ensure!(!requests.is_empty(), "the traces have no requests");
        let last = ends.iter().max().copied().unwrap_or_default();
        if traces.len() > 1 {
            for access in &mut requests {
                let stretch = last.as_f64() / ends[usize::from(access.tenant)].as_f64();
                access.time = Micros((access.time.as_f64() * stretch) as u64);
            }
            requests.sort_by_key(|access| access.time);
        }
        let (footprint, objects) = (sizes.sum(), sizes.0.len() as u64);
        Ok(Self { requests, footprint, objects, tenants: ends.len() })
    }

    /// Spreads the requests evenly, `pace` apart. A trace of a week beside one of a second would
    /// otherwise make an epoch of each request.
    pub(super) fn pace(&mut self, pace: Micros) {
        for (access, at) in self.requests.iter_mut().zip(0..) {
            access.time = Micros(at * pace.0);
        }
    }

    /// The number of its tenants.
    pub(super) const fn tenants(&self) -> usize {
        self.tenants
    }

    /// A share of the working set, in bytes.
    pub(super) fn share(&self, share: f64) -> Bytes {
        Bytes((self.footprint.as_f64() * share).round() as u64)
    }

    /// Plays the load to a recipe. Returns the simulation at its end.
    pub(super) fn simulate(&self, recipe: &str, memory: Bytes, seed: u64) -> Result<Simulation> {
        let recipe = recipe::parse(recipe).map_err(|error| anyhow!(error))?;
        let bounds: Vec<_> = (0..self.tenants).map(|at| Bounds::none(&at.to_string())).collect();
        let mut simulation = Simulation::new(recipe, memory, &bounds, seed);
        for access in &self.requests {
            simulation.access(access);
        }
        Ok(simulation)
    }

    /// Plays the load to a recipe that divides pages, cut as in `slabs`. The pilot looks at the
    /// store after every `look` of virtual time.
    pub(super) fn fly_slabs(
        &self,
        (recipe, look): (Recipe, Micros),
        slabs: Slabs,
        memory: Bytes,
        seed: u64,
    ) -> Simulation<SlabPlant> {
        let bounds: Vec<_> = (0..self.tenants).map(|at| Bounds::none(&at.to_string())).collect();
        let plant = SlabPlant::new(memory, slabs, &bounds).evicting(recipe.evictors[0], seed);
        let mut simulation = Simulation::over(plant, recipe, seed).every(look);
        for access in &self.requests {
            simulation.access(access);
        }
        simulation
    }

    /// Plays the load to a plain cache in which every tenant has the same share of the memory.
    pub(super) fn split(&self, memory: Bytes, seed: u64) -> Result<Simulation> {
        let recipe = recipe::parse("static").map_err(|error| anyhow!(error))?;
        let max = Some(Bytes(memory.0 / self.tenants.max(1) as u64));
        let bound = |at: usize| Bounds { max, ..Bounds::none(&at.to_string()) };
        let bounds: Vec<_> = (0..self.tenants).map(bound).collect();
        let mut simulation = Simulation::new(recipe, memory, &bounds, seed);
        for access in &self.requests {
            simulation.access(access);
        }
        Ok(simulation)
    }

    /// Counts of all tenants of a simulation together.
    pub(super) fn counts<S: SimulatedStore>(&self, simulation: &Simulation<S>) -> Counts {
        simulation.counts(0..self.tenants as TenantId)
    }

    /// Counts of the load under a policy, in one cache that all tenants share.
    pub(super) fn play(&self, policy: &str, memory: Bytes, seed: u64) -> Result<Counts> {
        let choice = policy::parse(policy).map_err(|error| anyhow!(error))?;
        let mut cache = Cache::new(&choice, memory, seed);
        for access in &self.requests {
            cache.access(access);
        }
        let stats = cache.stats();
        let waited = Micros(stats.miss_penalty_us as u64);
        Ok(Counts { gets: stats.gets, misses: stats.misses, waited, ..Counts::default() })
    }
}

/// A model's curve of requests. The model sees the requests for watched keys. Reads of other keys
/// are only counted, in their place, because models of ages measure time in them.
pub(super) fn draw<'a>(
    spec: &Spec,
    requests: impl Iterator<Item = &'a Access>,
    params: &Params,
) -> MissRatioCurve {
    let watched = Filter::with_rate(params.rate);
    let mut model = (spec.build)(params);
    let mut unseen = 0;
    for access in requests {
        if watched.keeps(access.key) {
            model.skip(std::mem::take(&mut unseen));
            model.access(access);
        } else {
            unseen += u64::from(access.op == Op::Get);
        }
    }
    model.skip(unseen);
    model.curve()
}

/// The largest size of every key.
#[derive(Debug, Default)]
struct Sizes(HashMap<u64, Size>);

impl Sizes {
    fn see(&mut self, access: &Access) {
        let largest = self.0.entry(access.key).or_default();
        *largest = access.size.max(*largest);
    }

    fn sum(&self) -> Bytes {
        Bytes(self.0.values().map(|&size| u64::from(size)).sum())
    }
}

/// The recorded traces in a folder, by name, smallest files first.
pub(super) fn traces(folder: &Path) -> Result<Vec<(String, String)>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("could not read the folder of traces {}", folder.display()))?;
    let mut found = vec![];
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(".csv.zst") {
            let size = path.metadata()?.len();
            found.push((size, stem.to_owned(), path.to_string_lossy().into_owned()));
        }
    }
    found.sort();
    ensure!(!found.is_empty(), "no trace (*.csv.zst) in {}", folder.display());
    Ok(found.into_iter().map(|(_, name, path)| (name, path)).collect())
}
