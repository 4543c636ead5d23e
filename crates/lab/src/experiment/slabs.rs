//! Slab caches in experiments: workloads kept small in memory, competing planners, and the bound by
//! exact curves.
//!
//! Everything is scaled: a run with scale s has an s-th of the keys, of the requests and of the
//! memory, and pages of an s-th of a megabyte. So there are as many pages as in the paper, each
//! class has the same share of them, and a plan that moves 50 pages moves the same share.

use super::Findings;
use crate::plant::{Bounds, Counts, SimulatedStore, Simulation, SlabPlant, Slabs};
use anyhow::{Result, anyhow};
use base::{Access, Bytes, Micros, Op, Size, TenantId};
use curve::Model;
use curve::footprint::Footprint;
use std::collections::BTreeMap;
use trace::{Charge, Source};
use tune::snapshot::{Candidate, Pool};
use tune::{Evictor, Goal, Objective, Recipe, Snapshot, planner, recipe};

/// memcached's header of an item, with its version.
const HEADER: u32 = 56;

/// Virtual time between two requests: slow enough for the pilot to watch as many keys as it wants.
const STEP: Micros = Micros::from_millis(1);

/// Virtual time between two looks of the pilot.
const LOOK: Micros = Micros::from_millis(500);

/// Share of the keys that models watch.
const RATE: f64 = 0.25;

/// Reads between two plans of planners that move one page each time. Within LAMA's interval, they
/// move as many pages as LAMA may.
pub(super) const PACE: u64 = 2_500;

/// LAMA's longest time between two plans, in reads of a run that is not scaled.
pub(super) const INTERVAL: u64 = 1_000_000;

/// Name of a row, its planner, and the reads between two plans, at scale one eighth.
pub(super) type Subject = (&'static str, &'static str, u64);

/// The planners of the paper, and later ones. memcached's automover looks once a second, and
/// formerly looked every ten seconds; ETC has 52 715 requests a second.
pub(super) const RIVALS: [Subject; 7] = [
    ("memcached", "memcached", 1_000_000),
    ("automove", "automove", 6_600),
    ("automove-former", "automove_former", 66_000),
    ("psa", "psa", PACE),
    ("facebook", "facebook", PACE),
    ("twemcache", "twemcache", PACE),
    ("cachelib", "cachelib", PACE),
];

/// A request, in sixteen bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    key: u64,
    size: u32,
    tenant: u16,
    is_write: bool,
}

/// Requests in memory, with the form of the slabs and the scale of the run.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) requests: Vec<Request>,
    pub(super) slabs: Slabs,
    pub(super) scale: u64,
}

impl Load {
    /// A load without requests.
    pub(super) fn new(scale: u64) -> Self {
        let page = (1u64 << 20) / scale;
        let slabs = Slabs { page: page as u32, ..Slabs::default() };
        Self { requests: vec![], slabs, scale }
    }

    /// Facebook's ETC pool: seven million keys and fifty million requests, scaled.
    pub(super) fn etc(scale: u64, seed: u64) -> Result<Self> {
        let mut load = Self::new(scale);
        let (keys, requests) = (7_000_000 / scale, 50_000_000 / scale);
        let mut source = open(&format!("etc:keys={keys}:requests={requests}:{ETC}:seed={seed}"))?;
        while let Some(access) = source.next() {
            load.push(0, &access?);
        }
        Ok(load)
    }

    /// Adds a request of a tenant.
    pub(super) fn push(&mut self, tenant: TenantId, access: &Access) {
        let size = access.key_size + access.value_size as u32 + HEADER;
        let is_write = access.op == Op::Set;
        self.requests.push(Request { key: access.key, size, tenant, is_write });
    }

    /// Scaled memory that stands for this many megabytes.
    pub(super) fn memory(&self, megabytes: u64) -> Bytes {
        Bytes((megabytes << 20) / self.scale)
    }

    fn access(&self, at: usize) -> Access {
        let Request { key, size, tenant, is_write } = self.requests[at];
        let op = if is_write { Op::Set } else { Op::Get };
        Access { tenant, op, time: Micros(at as u64 * STEP.0), ..Access::get(key, size) }
    }

    fn tenants(&self) -> usize {
        self.requests.iter().map(|request| usize::from(request.tenant)).max().unwrap_or(0) + 1
    }

    /// Plays the load to a recipe. Returns the counts of tenant 0 at each of `marks`, which are
    /// rising shares of the requests, and the simulation.
    pub(super) fn simulate(
        &self,
        recipe: Recipe,
        memory: Bytes,
        (marks, goals): (&[f64], Vec<Goal>),
        seed: u64,
    ) -> (Vec<Counts>, Simulation<SlabPlant>) {
        let names = ["all".to_owned(), "others".to_owned()];
        let bounds: Vec<_> = names[..self.tenants()].iter().map(|n| Bounds::none(n)).collect();
        let mut plant = SlabPlant::new(memory, self.slabs, &bounds);
        plant.promise(goals);
        let mut simulation = Simulation::over(plant, recipe, seed).every(LOOK);
        let counts = self.play(&mut simulation, marks, |size| size);
        (counts, simulation)
    }

    /// Plays all requests, with `charge` applied to the size of each. Returns the counts of tenant
    /// 0 at each of `marks`.
    fn play<S: SimulatedStore>(
        &self,
        simulation: &mut Simulation<S>,
        marks: &[f64],
        charge: impl Fn(Size) -> Size,
    ) -> Vec<Counts> {
        let mut at = 0;
        let until = |mark: &f64| {
            let until = (mark * self.requests.len() as f64).round() as usize;
            for at in std::mem::replace(&mut at, until)..until {
                let access = self.access(at);
                simulation.access(&Access { size: charge(access.size), ..access });
            }
            simulation.plant.counts(0)
        };
        marks.iter().map(until).collect()
    }

    /// Plays the load to `auto`, without pages: every item is charged the bytes that it takes of a
    /// page, and all items share the memory.
    pub(super) fn fly_auto(
        &self,
        memory: Bytes,
        (marks, goals): (&[f64], Vec<Goal>),
        seed: u64,
    ) -> Result<(Vec<Counts>, Simulation)> {
        let recipe = recipe::parse("auto").map_err(|error| anyhow!(error))?;
        let bounds: Vec<_> = (0..self.tenants()).map(|at| Bounds::none(&at.to_string())).collect();
        let mut simulation = Simulation::new(recipe, memory, &bounds, seed);
        simulation.plant.promise(goals);
        let counts = self.play(&mut simulation, marks, self.slabs.charge());
        Ok((counts, simulation))
    }

    /// Counts of tenant 0 under `auto`, between two marks.
    pub(super) fn auto_between(&self, memory: Bytes, marks: [f64; 2], seed: u64) -> Result<Counts> {
        let (counts, _) = self.fly_auto(memory, (&marks, vec![]), seed)?;
        Ok(counts[1].since(counts[0]))
    }

    /// Counts of tenant 0 under a recipe, between two marks.
    pub(super) fn between(
        &self,
        recipe: Recipe,
        memory: Bytes,
        marks: [f64; 2],
        seed: u64,
    ) -> Counts {
        let (counts, _) = self.simulate(recipe, memory, (&marks, vec![]), seed);
        counts[1].since(counts[0])
    }

    /// The exact curves of each class between two marks. The requests before fill the caches.
    pub(super) fn bound(&self, marks: [f64; 2]) -> Result<Bound> {
        let (chunks, shares) = (self.slabs.chunks(), self.slabs.shares());
        let spec = curve::find("olken").map_err(|error| anyhow!(error))?;
        let [from, until] = marks.map(|mark| (mark * self.requests.len() as f64).round() as usize);
        let mut classes: BTreeMap<usize, ExactClass> = BTreeMap::new();
        for at in 0..until {
            let access = self.access(at);
            let class = chunks.partition_point(|&chunk| chunk < access.size.as_u32());
            let Some(&share) = shares.get(class) else { continue };
            let class = classes.entry(class).or_insert_with(|| ExactClass {
                model: (spec.build)(&curve::Params::default()),
                reads: 0,
            });
            if at >= from && class.reads == 0 && access.op == Op::Get {
                class.model.forget(0.0);
            }
            class.reads += u64::from(at >= from && access.op == Op::Get);
            class.model.access(&Access { size: share.into(), ..access });
        }
        let large = |request: &&Request| {
            !request.is_write && chunks.last().is_some_and(|&chunk| chunk < request.size)
        };
        let too_large = self.requests[from..until].iter().filter(large).count() as u64;
        Ok(Bound { classes, page: Bytes(u64::from(self.slabs.page)), too_large })
    }
}

/// The footprints of all classes, on one clock.
#[derive(Debug)]
pub(super) struct Footprints {
    classes: Vec<(Footprint, u64)>,
    page: Bytes,
    reads: u64,
}

impl Load {
    /// The footprints of the whole run.
    pub(super) fn footprints(&self) -> Footprints {
        let (chunks, shares) = (self.slabs.chunks(), self.slabs.shares());
        let params = curve::Params::default();
        let mut classes: Vec<_> = chunks.iter().map(|_| (Footprint::new(&params), 0)).collect();
        let mut last = vec![0; chunks.len()];
        let mut reads = 0;
        for at in 0..self.requests.len() {
            let access = self.access(at);
            reads += u64::from(access.op == Op::Get);
            let class = chunks.partition_point(|&chunk| chunk < access.size.as_u32());
            let Some(&share) = shares.get(class) else { continue };
            // The requests of other classes are passed in one step: each class would take as long
            // as all.
            let (footprint, own) = &mut classes[class];
            footprint.pass(at as u64 - last[class]);
            last[class] = at as u64 + 1;
            *own += u64::from(access.op == Op::Get);
            footprint.access(&Access { size: share.into(), ..access });
        }
        for ((footprint, _), last) in classes.iter_mut().zip(last) {
            footprint.pass(self.requests.len() as u64 - last);
        }
        Footprints { classes, page: Bytes(u64::from(self.slabs.page)), reads }
    }
}

impl Footprints {
    /// The predicted miss ratio of a memcached of `memory`, and the predicted pages of its classes.
    pub(super) fn natural(&self, memory: Bytes) -> (f64, Vec<f64>) {
        let alone: Vec<_> = self.classes.iter().map(|(footprint, _)| footprint.clone()).collect();
        let parts = Footprint::natural(&alone, memory, self.page);
        let known: u64 = self.classes.iter().map(|(_, reads)| reads).sum();
        // Reads of items that are too large for every class miss.
        let mut misses = (self.reads - known) as f64;
        for ((footprint, reads), part) in self.classes.iter().zip(&parts) {
            misses += *reads as f64 * footprint.curve().at(*part).0;
        }
        let pages = parts.iter().map(|part| part.as_f64() / self.page.as_f64());
        (misses / self.reads.max(1) as f64, pages.collect())
    }
}

#[derive(Debug)]
struct ExactClass {
    model: Box<dyn Model>,
    reads: u64,
}

/// Exact curves of the classes, which bound every fixed division.
#[derive(Debug)]
pub(super) struct Bound {
    classes: BTreeMap<usize, ExactClass>,
    page: Bytes,
    /// Reads of items that no class holds.
    too_large: u64,
}

impl Bound {
    /// The least miss ratio of any fixed division of `memory`.
    pub(super) fn miss_ratio(&self, memory: Bytes) -> Result<f64> {
        let pool = |class: &ExactClass| Pool {
            candidates: vec![Candidate::new(Evictor::LRU, class.model.curve())],
            reads_per_s: class.reads as f64,
            evictor: Evictor::LRU,
            slab: Some(tune::slab::Slab { page: self.page, ..Default::default() }),
            ..Pool::default()
        };
        let snapshot = Snapshot {
            memory,
            units_max: 0,
            band: None,
            objective: Objective::Misses,
            switch_margin: 0.0,
            pools: self.classes.values().map(pool).collect(),
            goals: vec![],
        };
        let planner = planner::find("bound").map_err(|error| anyhow!(error))?;
        let misses = (planner.plan)(&snapshot).cost + self.too_large as f64;
        let reads: u64 = self.classes.values().map(|class| class.reads).sum();
        Ok(misses / (reads + self.too_large).max(1) as f64)
    }
}

/// Skew of the popularity, which is our choice: see the generator.
const ETC: &str = "skew=0.6";

/// Opens a generator, with sizes of values as it draws them.
pub(super) fn open(text: &str) -> Result<Box<dyn Source>> {
    let options = trace::ReadOptions { charge: Charge::Value, ..trace::ReadOptions::default() };
    Ok(trace::synth::open(text, &options)?)
}

/// A recipe whose planner goes by counts, without models.
pub(super) fn rival((_, planner, reads): Subject, scale: u64) -> Result<Recipe> {
    let lama = recipe::parse("lama").map_err(|error| anyhow!(error))?;
    let interval = (reads * 8 / scale).max(200);
    let planner = planner::find(planner).map_err(|error| anyhow!(error))?.name;
    Ok(Recipe { model: None, planner, interval, turnover: false, move_max: 1.0, ..lama })
}

/// LAMA with these settings beside its own, for a run of this scale.
pub(super) fn lama(settings: &str, scale: u64) -> Result<Recipe> {
    let recipe = recipe::parse(&format!("lama{settings}")).map_err(|error| anyhow!(error))?;
    let interval = recipe.interval / scale;
    Ok(Recipe { interval, rate: recipe.rate.or(Some(RATE)), ..recipe })
}

/// Adds a cell of a miss ratio, with the mean wait where a miss takes a millisecond.
pub(super) fn note(findings: &mut Findings, row: &str, workload: &str, seed: u64, ratio: f64) {
    findings.cell(row, workload, seed, &[("miss_ratio", ratio), ("mean_us", 1_000.0 * ratio)]);
}

/// Name of a memory size, as a workload.
pub(super) fn size_name(megabytes: u64) -> String {
    format!("{megabytes} MB")
}
