//! The pilot: observe, model, plan, apply, once an epoch.
//!
//! What keeps the loop from doing harm is here, and not in the recipes:
//!
//! - **Minimum gain.** A plan must promise to save a share θ of what the plan in force costs under
//!   the same curves. Curves are noisy, and the best of many divisions always looks a little
//!   better than it is.
//! - **Hysteresis.** θ doubles when a plan takes back most of what the one before it moved, and
//!   decays slowly.
//! - **Cooling off.** After a plan, and for each pool after a change of policy, nothing new is
//!   decided for some epochs: the effect takes a turnover of the memory to show.
//! - **A bound on moves.** The division walks towards its plan, at most a share of the memory an
//!   epoch, and no pool loses more than a quarter of its memory at once. The goal of the walk is
//!   the best division overall, not the best within reach: curves have cliffs, and a walk that
//!   looked only at the next step would stop before them.
//! - **One change at a time.** A pool that changes its policy in an epoch keeps its budget in it.
//! - **A forecast that is checked.** Every epoch keeps the miss ratios it expects, and gets those
//!   that were measured beside them one epoch later.
//! - **A way back.** A plan whose forecasts prove wrong, beyond what forecasts were wrong lately,
//!   is given up for the last one that kept its word, and nothing new is tried for a while.
//! - **Not knowing is no reason to act.** A pool with too few samples keeps its share.

use crate::budgets::{fit, members, natural};
use crate::known::{self, Known, KnownPool};
use crate::observe::{Observer, class_of};
pub use crate::record::{Decision, Epoch, PoolEpoch, Status};
use crate::slab::{self, Windows};
use crate::snapshot::{Candidate, Pool, Promise};
use crate::trust::Trust;
use crate::watch::{Watch, samples_per_s};
use crate::{Evictor, Part, Plan, Plant, PoolStep, Reading, Recipe, Snapshot, Step, Tenant};
use crate::{planner, recipe::Pools};
use base::penalty::{CLASSES, of_class};
use base::{Bytes, Filter, Micros, MissRatio, Sample, TenantId};
use curve::MissRatioCurve;
use std::collections::{HashMap, VecDeque};

/// Epochs the pilot remembers.
const HISTORY_MAX: usize = 240;

/// The cost of a miss that nobody measured, anywhere: any number will do, for then only the
/// proportions between pools count, and planning is by hits.
const PENALTY_DEFAULT_US: f64 = 1_000.0;

/// The least memory of a pool, so that it can be watched refilling: one megabyte, or less where
/// that would be much.
const FLOOR: Bytes = Bytes::MIB;

/// Share of its memory that a pool loses in an epoch at most.
const LOSS_MAX: f64 = 0.25;

/// A plan of a recipe must promise at most this much, however often moves were taken back.
const THRESHOLD_MAX: f64 = 0.32;

/// Weight of an epoch's rates against those before.
const RATE_WEIGHT: f64 = 0.5;

/// More samples in a look than this many times what the models may see are an overrun: the load has
/// risen since their rates were chosen, and they are not to wait for the end of the epoch.
const OVERRUN: f64 = 3.0;

/// The time that a look is taken for at least, so that a handful of samples is no overrun.
const LOOK_MIN: Micros = Micros::from_millis(50);

/// Below this share of all reads a pool counts as idle: its memory is free to take.
const IDLE: f64 = 1e-4;

/// A pool that a recipe wants.
#[derive(Debug)]
struct Wanted {
    name: String,
    tenants: Vec<TenantId>,
    class: Option<u8>,
    /// Bytes of a chunk, of a class of sizes.
    chunk: Option<Bytes>,
}

/// Steers a plant by a recipe.
#[derive(Debug)]
pub struct Pilot {
    recipe: Recipe,
    seed: u64,
    observer: Observer,
    pools: Vec<Steered>,
    counts: HashMap<(TenantId, Option<u8>), Counts>,
    limit: Bytes,
    /// When the epoch began and how many reads there had been; `None` before the first reading.
    begun: Option<(Micros, u64)>,
    epoch: u64,
    threshold: f64,
    /// The division in force: what the walk goes to.
    goal: Option<Vec<(Bytes, Evictor)>>,
    /// What the last plan moved: for each pool, in bytes.
    last_moves: Vec<f64>,
    decided: u64,
    trust: Trust,
    plan: Option<Plan>,
    history: VecDeque<Epoch>,
    samples: u64,
    dropped: u64,
    looked: Micros,
    /// What an earlier pilot knew, until the pools are formed.
    recalled: Option<Known>,
    /// The pages of slab classes, epoch by epoch.
    windows: Windows,
    /// Requests that the pools take to turn over, where that is known.
    turnover: Option<u64>,
}

/// A pool as the pilot sees it.
#[derive(Debug)]
struct Steered {
    name: String,
    tenants: Vec<TenantId>,
    /// The class its items are of, or any.
    class: Option<u8>,
    /// Bytes of a chunk, where that is a class of sizes.
    chunk: Option<Bytes>,
    budget: Bytes,
    evictor: Evictor,
    watch: Option<Watch>,
    used: Bytes,
    reads_per_s: f64,
    ops_per_s: f64,
    penalty_us: f64,
    switched: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    gets: u64,
    misses: u64,
    sets: u64,
}

impl Steered {
    /// The keys to sample.
    fn filter(&self) -> Filter {
        self.watch.as_ref().map_or(Filter::NONE, Watch::filter)
    }

    /// Whether a key of this tenant, penalty and size is of the pool.
    fn has(&self, tenant: TenantId, penalty: Micros, size: u32) -> bool {
        let of_class = |class| match self.chunk {
            Some(chunk) => chunk.0 == u64::from(size),
            None => class == class_of(penalty),
        };
        self.tenants.contains(&tenant) && self.class.is_none_or(of_class)
    }
}

impl Counts {
    const fn of(part: &Part) -> Self {
        Self { gets: part.gets, misses: part.misses, sets: part.sets }
    }
}

impl Pilot {
    /// A pilot that follows `recipe`.
    pub fn new(recipe: Recipe, seed: u64) -> Self {
        Self {
            recipe,
            seed,
            observer: Observer::default(),
            pools: vec![],
            counts: HashMap::new(),
            limit: Bytes(0),
            begun: None,
            epoch: 0,
            threshold: recipe.gain_min,
            goal: None,
            last_moves: vec![],
            decided: 0,
            trust: Trust::default(),
            plan: None,
            history: VecDeque::new(),
            samples: 0,
            dropped: 0,
            looked: Micros(0),
            recalled: None,
            windows: Windows::default(),
            turnover: None,
        }
    }

    /// The recipe in force.
    pub const fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Follows another recipe from the next tick on. What is cached stays.
    pub fn set_recipe(&mut self, recipe: Recipe) {
        *self = Self { epoch: self.epoch, ..Self::new(recipe, self.seed) };
    }

    /// What it knows, for a pilot after it.
    pub fn known(&self) -> Known {
        let pool = |(at, pool): (usize, &Steered)| {
            let goal = self.goal.as_ref().and_then(|goal| goal.get(at));
            let known = KnownPool {
                name: pool.name.clone(),
                budget: pool.budget.0,
                evictor: pool.evictor.to_string(),
                goal: goal.map(|(budget, evictor)| (budget.0, evictor.to_string())),
                reads_per_s: pool.reads_per_s,
                ops_per_s: pool.ops_per_s,
                penalty_us: pool.penalty_us,
                ..KnownPool::default()
            };
            pool.watch.as_ref().map_or(known.clone(), |watch| watch.known(known))
        };
        Known {
            recipe: self.recipe.name.to_owned(),
            memory: self.limit.0,
            epoch: self.epoch,
            threshold: self.threshold,
            pools: self.pools.iter().enumerate().map(pool).collect(),
        }
    }

    /// Goes on, from the next tick, where an earlier pilot with the same recipe ended.
    pub fn recall(&mut self, known: Known) {
        if known.recipe == self.recipe.name {
            self.pools.clear();
            self.limit = Bytes(known.memory);
            self.epoch = self.epoch.max(known.epoch);
            self.threshold = known.threshold.clamp(self.recipe.gain_min, THRESHOLD_MAX);
            self.recalled = Some(known);
        }
    }

    /// One look at the plant, and at the end of an epoch a step. To be called several times an
    /// epoch, so that the plant's queue of samples stays short. True if an epoch ended.
    pub fn tick(&mut self, plant: &mut dyn Plant) -> bool {
        let mut reading = plant.read();
        if self.form_pools(&reading) {
            let step = self.step();
            plant.apply(&step);
        }
        if self.brake(&reading) {
            let step = self.step();
            plant.apply(&step);
        }
        self.learn(&mut reading);
        let gets = reading.tenants.iter().map(|tenant| tenant.gets).sum::<u64>();
        let (begun, gets_before) = *self.begun.get_or_insert((reading.now, gets));
        let is_over = match self.recipe.interval {
            0 => reading.now.saturating_sub(begun) >= self.recipe.epoch,
            interval => {
                // As often as the pools turn over, but not sixteen times as often as asked.
                let reads = self.turnover.map_or(interval, |t| t.clamp(interval / 16, interval));
                gets.saturating_sub(gets_before) >= reads
            }
        };
        if !is_over || reading.limit == Bytes(0) {
            return false;
        }
        self.begun = Some((reading.now, gets));
        self.epoch += 1;
        let steered = self.end_epoch(&reading, reading.now.saturating_sub(begun));
        if steered {
            let step = self.step();
            plant.apply(&step);
        }
        true
    }

    /// The division in force, by names of pools.
    pub fn division(&self) -> Vec<(String, Bytes)> {
        self.pools.iter().map(|pool| (pool.name.clone(), pool.budget)).collect()
    }

    /// Returns at once to a division of before, because the load for which it was made is known to
    /// come back; what comes of it is judged like a plan.
    pub fn expect(&mut self, division: &[(String, Bytes)], plant: &mut dyn Plant) {
        let of = |pool: &Steered| division.iter().find(|(name, _)| *name == pool.name);
        let wanted: Vec<_> =
            self.pools.iter().map(|pool| of(pool).map_or(pool.budget, |(_, was)| *was)).collect();
        let bounds = vec![(Bytes(0), None); wanted.len()];
        for (pool, budget) in self.pools.iter_mut().zip(fit(&wanted, &bounds, self.limit)) {
            pool.budget = budget;
        }
        self.goal = None;
        self.decided = self.epoch;
        plant.apply(&self.step());
    }

    /// The curves of the pool of a tenant, one for each policy the recipe knows: empty where too
    /// little was seen.
    pub fn curves(&self, tenant: TenantId) -> &[Candidate] {
        let pool = self.pools.iter().find(|pool| pool.tenants.contains(&tenant));
        pool.and_then(|pool| pool.watch.as_ref()).map_or(&[], Watch::curves)
    }

    /// The last epochs, oldest first.
    pub const fn history(&self) -> &VecDeque<Epoch> {
        &self.history
    }

    /// All there is to show.
    pub fn status(&self) -> Status {
        let watches = self.pools.iter().filter_map(|pool| pool.watch.as_ref());
        Status {
            recipe: self.recipe.to_string(),
            epoch: self.epoch,
            memory: self.limit,
            rate: self.pools.iter().map(|pool| pool.filter().rate()).fold(0.0, f64::max),
            samples: self.samples,
            dropped: self.dropped,
            model_bytes: watches.map(Watch::bytes).sum(),
            plan: self.plan.clone(),
            history: self.history.iter().cloned().collect(),
        }
    }

    /// Lowers the rates of pools that sample far more than they may. True if any was lowered.
    fn brake(&mut self, reading: &Reading) -> bool {
        let look = reading.now.saturating_sub(self.looked).max(LOOK_MIN).as_f64() / 1e6;
        self.looked = reading.now;
        let widest = self.pools.iter().map(|pool| pool.filter().rate()).fold(0.0, f64::max);
        let is_shared = self.recipe.pools == Pools::Class;
        let ops = |pool: &Steered| {
            let is_of = |s: &&Sample| is_shared || pool.has(s.tenant, s.penalty, s.size);
            let rate = if is_shared { widest } else { pool.filter().rate() };
            let samples = reading.samples.iter().filter(is_of);
            samples.count() as f64 / rate.max(f64::MIN_POSITIVE) / look
        };
        if reading.samples.len() as f64 <= OVERRUN * samples_per_s(0.0) * look {
            return false;
        }
        let ops: Vec<_> = self.pools.iter().map(ops).collect();
        let active = ops.iter().filter(|&&ops| ops > 0.0).count();
        let samples = if is_shared {
            samples_per_s(ops.first().copied().unwrap_or_default())
        } else {
            samples_per_s(ops.iter().sum()) / active.max(1) as f64
        };
        let mut lowered = false;
        for (pool, ops) in self.pools.iter_mut().zip(ops) {
            lowered |= pool.watch.as_mut().is_some_and(|watch| watch.overrun(ops, samples));
        }
        lowered
    }

    fn learn(&mut self, reading: &mut Reading) {
        // Shards are drained one after the other; a stable sort joins them and keeps the order
        // that each key has.
        reading.samples.sort_by_key(|sample| sample.time);
        self.samples += reading.samples.len() as u64;
        self.dropped = reading.dropped;
        let Self { observer, pools, recipe, .. } = self;
        observer.by_class = recipe.pools == Pools::Class;
        let mut show = |access: base::Access| {
            let of = |pool: &&mut Steered| pool.has(access.tenant, access.penalty, access.size);
            let pool = pools.iter_mut().find(of);
            if let Some(watch) = pool.and_then(|pool| pool.watch.as_mut()) {
                watch.access(&access);
            }
        };
        for sample in &reading.samples {
            observer.see(sample, &mut show);
        }
        observer.settle(reading.now, &mut show);
    }

    /// Makes the pools that the recipe wants of the tenants there are. True if anything changed.
    fn form_pools(&mut self, reading: &Reading) -> bool {
        let wanted = self.wanted(reading);
        let is_there = |wanted: &Wanted, pool: &Steered| {
            wanted.tenants == pool.tenants && wanted.class == pool.class
        };
        if wanted.len() == self.pools.len()
            && wanted.iter().zip(&self.pools).all(|(wanted, pool)| is_there(wanted, pool))
        {
            return self.limit != reading.limit && self.resize(reading);
        }
        let mut old = std::mem::take(&mut self.pools);
        let model = self.recipe.model.map(|name| {
            curve::find(name).unwrap_or_else(|error| panic!("{}: {error}", self.recipe.name))
        });
        let count = wanted.len();
        for wanted in wanted {
            let known = old.iter().position(|pool| is_there(&wanted, pool));
            let Wanted { name, tenants, class, chunk } = wanted;
            let fresh = || Steered {
                name: name.clone(),
                tenants: tenants.clone(),
                class,
                chunk,
                budget: natural(reading, &tenants, class),
                evictor: self.recipe.evictors[0],
                watch: model.map(|spec| {
                    let budget = natural(reading, &tenants, class);
                    Watch::new(spec, &self.recipe, count, budget, self.seed)
                }),
                used: Bytes(0),
                reads_per_s: 0.0,
                ops_per_s: 0.0,
                penalty_us: PENALTY_DEFAULT_US,
                switched: 0,
            };
            let mut pool = known.map_or_else(fresh, |at| old.swap_remove(at));
            pool.name = name;
            self.pools.push(pool);
        }
        self.goal = self.recalled.take().and_then(|known| self.take_over(&known));
        for pool in &self.pools {
            for tenant in members(reading, &pool.tenants) {
                let part = tenant.part(pool.class);
                self.counts.entry((tenant.id, pool.class)).or_insert_with(|| Counts::of(&part));
            }
        }
        self.last_moves = vec![];
        self.trust = Trust::default();
        self.resize(reading)
    }

    /// Gives each pool what was known of it. The division that was to be, if it names all of them.
    fn take_over(&mut self, known: &Known) -> Option<Vec<(Bytes, Evictor)>> {
        let mut goals = vec![];
        for pool in &mut self.pools {
            let Some(old) = known.pools.iter().find(|old| old.name == pool.name) else {
                goals.push(None);
                continue;
            };
            let evictor = |name: &str| known::find(self.recipe.evictors, name);
            pool.budget = Bytes(old.budget);
            pool.evictor = evictor(&old.evictor).unwrap_or(pool.evictor);
            (pool.reads_per_s, pool.ops_per_s) = (old.reads_per_s, old.ops_per_s);
            pool.penalty_us = old.penalty_us;
            if let Some(watch) = &mut pool.watch {
                watch.recall(old);
            }
            let goal = old.goal.as_ref();
            goals.push(goal.and_then(|(budget, name)| Some((Bytes(*budget), evictor(name)?))));
        }
        goals.into_iter().collect()
    }

    /// The pools that the recipe wants. A class that was met once keeps its pool; the unknown has
    /// one from the start.
    fn wanted(&self, reading: &Reading) -> Vec<Wanted> {
        let everybody = || reading.tenants.iter().map(|tenant| tenant.id).collect::<Vec<_>>();
        match self.recipe.pools {
            Pools::Whole => {
                let name = "all".to_owned();
                vec![Wanted { name, tenants: everybody(), class: None, chunk: None }]
            }
            Pools::Tenant => {
                let single = |tenant: &Tenant| Wanted {
                    name: tenant.name.clone(),
                    tenants: vec![tenant.id],
                    class: None,
                    chunk: None,
                };
                reading.tenants.iter().map(single).collect()
            }
            Pools::Class => {
                let met = |class: &u8| {
                    *class == 0
                        || self.pools.iter().any(|pool| pool.class == Some(*class))
                        || reading.tenants.iter().any(|tenant| {
                            let part = tenant.part(Some(*class));
                            part.gets > 0 || part.used > Bytes(0)
                        })
                };
                let pool = |class| Wanted {
                    name: class_name(class),
                    tenants: everybody(),
                    class: Some(class),
                    chunk: None,
                };
                (0..=CLASSES).filter(met).map(pool).collect()
            }
            Pools::Slab => {
                let name = |tenant: TenantId| reading.tenants.iter().find(|t| t.id == tenant);
                let pool = |slab: &crate::SlabClass| Wanted {
                    name: format!("{} {}", name(slab.tenant).map_or("", |t| &t.name), slab.chunk),
                    tenants: vec![slab.tenant],
                    class: Some(slab.class),
                    chunk: Some(slab.chunk),
                };
                reading.slabs.iter().map(pool).collect()
            }
        }
    }

    /// Takes note of another limit. Budgets and goal keep their proportions.
    fn resize(&mut self, reading: &Reading) -> bool {
        let old = std::mem::replace(&mut self.limit, reading.limit);
        if old == Bytes(0) {
            self.goal = None;
            for pool in &mut self.pools {
                pool.budget = natural(reading, &pool.tenants, pool.class);
            }
        }
        let bounds: Vec<_> = self.pools.iter().map(|pool| self.bounds(reading, pool)).collect();
        let had: Vec<_> = self.pools.iter().map(|pool| pool.budget).collect();
        for (pool, budget) in self.pools.iter_mut().zip(fit(&had, &bounds, self.limit)) {
            pool.budget = budget;
        }
        for (budget, _) in self.goal.iter_mut().flatten() {
            *budget = Bytes((budget.as_f64() / old.as_f64() * self.limit.as_f64()) as u64);
        }
        if old > Bytes(0) {
            self.trust.scale(self.limit.as_f64() / old.as_f64());
        }
        true
    }

    /// What a pool must and may have.
    fn bounds(&self, reading: &Reading, pool: &Steered) -> (Bytes, Option<Bytes>) {
        let members = || members(reading, &pool.tenants);
        // What a tenant must and may have is a matter of all its classes; the plant sees to it.
        let is_whole = pool.class.is_none();
        if let Some(class) = pool.class.filter(|_| pool.chunk.is_some()) {
            // An item needs a page to be in.
            let slab = pool.tenants.first().and_then(|&tenant| self.windows.slab(tenant, class));
            return (slab.map_or(Bytes(0), |slab| slab.page), None);
        }
        let cap = members().map(|t| t.max.filter(|_| is_whole)).sum::<Option<Bytes>>();
        let own: Bytes = members().filter(|_| is_whole).map(|tenant| tenant.min).sum();
        let least = FLOOR.min(Bytes(reading.limit.0 / (20 * self.pools.len().max(1) as u64)));
        (cap.map_or(own.max(least), |cap| own.max(least.min(cap))), cap)
    }

    fn step(&mut self) -> Step {
        for pool in &mut self.pools {
            if let Some(watch) = &mut pool.watch {
                watch.resize(pool.budget);
            }
        }
        let pools = self.pools.iter().map(|pool| PoolStep {
            tenants: pool.tenants.clone(),
            class: pool.class,
            budget: pool.budget,
            evictor: pool.evictor,
            filter: if self.limit == Bytes(0) { Filter::NONE } else { pool.filter() },
        });
        Step { pools: pools.collect() }
    }

    /// Measures, plans, decides and walks. True if the plant has to be told.
    fn end_epoch(&mut self, reading: &Reading, length: Micros) -> bool {
        let before = self.step();
        self.measure(reading, length);
        self.windows.epoch(reading);
        if self.goal.is_none() && self.recipe.pools == Pools::Slab {
            // Until there is a plan, pages belong to whoever took them.
            for pool in &mut self.pools {
                pool.budget = natural(reading, &pool.tenants, pool.class);
            }
        }
        let snapshot = self.snapshot(reading);
        let planner = planner::find(self.recipe.planner)
            .unwrap_or_else(|error| panic!("{}: {error}", self.recipe.name));
        let plan = (planner.plan)(&snapshot);
        self.judge();
        let page = snapshot.pools.iter().find_map(|pool| Some(pool.slab.as_ref()?.page));
        self.turnover = page.filter(|_| self.recipe.turnover).and_then(|page| {
            let moved = self.recipe.move_max * self.limit.as_f64() / page.as_f64();
            slab::turnover(&snapshot.pools, moved as u64)
        });
        let (decision, gain, threshold) = self.decide(&snapshot, &plan, planner.by_curves);
        let moved = self.walk(planner.by_curves);
        self.plan = Some(plan);
        let pools = self.pools.iter().zip(&snapshot.pools).map(|(pool, known)| PoolEpoch {
            name: pool.name.clone(),
            budget: pool.budget,
            evictor: pool.evictor,
            used: pool.used,
            reads_per_s: pool.reads_per_s,
            penalty_us: pool.penalty_us,
            forecast: known.miss_ratio(held(pool), pool.evictor).map(|ratio| ratio.0),
            outcome: None,
        });
        let pools = pools.collect();
        let at_s = reading.now.as_f64() / 1e6;
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(Epoch {
            epoch: self.epoch,
            at_s,
            decision,
            gain,
            threshold,
            moved,
            forecast: None,
            outcome: None,
            band: None,
            pools,
        });
        self.step() != before
    }

    /// Holds the forecasts of the epoch before against what came.
    fn judge(&mut self) {
        let present = self.pools.iter().map(|pool| (pool.budget, pool.evictor)).collect();
        self.trust.begin(present);
        let Some(last) = self.history.back_mut() else { return };
        if let Some(verdict) = self.trust.judge(&last.pools, self.goal.as_ref()) {
            last.forecast = Some(verdict.forecast);
            last.outcome = Some(verdict.outcome);
            last.band = Some(verdict.band);
        }
    }

    /// Takes rates, outcomes and curves.
    fn measure(&mut self, reading: &Reading, length: Micros) {
        let seconds = length.as_f64().max(1.0) / 1e6;
        let last = self.history.back_mut();
        let mut outcomes = last.map(|epoch| epoch.pools.iter_mut()).into_iter().flatten();
        let mut counts = vec![];
        for pool in &mut self.pools {
            let (mut now, mut used) = (Counts::default(), Bytes(0));
            for tenant in members(reading, &pool.tenants) {
                let part = tenant.part(pool.class);
                let seen = Counts::of(&part);
                let old = self.counts.insert((tenant.id, pool.class), seen).unwrap_or(seen);
                now.gets += seen.gets.saturating_sub(old.gets);
                now.misses += seen.misses.saturating_sub(old.misses);
                now.sets += seen.sets.saturating_sub(old.sets);
                used += part.used;
            }
            let smooth = |old: f64, new: f64| {
                if old > 0.0 { old + RATE_WEIGHT * (new - old) } else { new }
            };
            let fills = now.sets.min(now.misses);
            pool.reads_per_s = smooth(pool.reads_per_s, now.gets as f64 / seconds);
            pool.ops_per_s = smooth(pool.ops_per_s, (now.gets + now.sets - fills) as f64 / seconds);
            pool.used = used;
            if let Some(outcome) = outcomes.next().filter(|outcome| outcome.name == pool.name) {
                let measured = MissRatio::of(now.misses as f64, now.gets as f64).0;
                outcome.outcome = (now.gets > 0).then_some(measured);
            }
            counts.push(now);
        }
        let ops_per_s = self.pools.iter().map(|pool| pool.ops_per_s).sum();
        let active = self.pools.iter().filter(|pool| pool.ops_per_s > 0.0).count();
        // The class of a key is not known before it is sampled, so all classes have one rate: were
        // a rare one to have a higher, the others' requests would be sampled with it.
        let is_shared = self.recipe.pools == Pools::Class;
        let shares = if is_shared { 1 } else { active.max(1) };
        let samples = samples_per_s(ops_per_s) / shares as f64;
        for (pool, counts) in self.pools.iter_mut().zip(counts) {
            if counts.gets + counts.sets == 0 {
                continue;
            }
            if let Some(watch) = &mut pool.watch {
                let ops_per_s = if is_shared { ops_per_s } else { pool.ops_per_s };
                watch.epoch(counts.gets, ops_per_s, samples, self.recipe.keep);
            }
        }
        self.measure_penalties(reading);
    }

    /// The mean penalty of each pool by its reads; where none was measured, that of the others.
    fn measure_penalties(&mut self, reading: &Reading) {
        let mean = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (weight, value) in pairs {
                sum += weight * value;
                weights += weight;
            }
            (weights > 0.0).then_some(sum / weights)
        };
        let known = |pool: &Steered| {
            let parts = members(reading, &pool.tenants).map(|tenant| tenant.part(pool.class));
            let measured =
                parts.filter_map(|part| Some((part.gets.max(1) as f64, part.penalty?.as_f64())));
            mean(&mut measured.collect::<Vec<_>>().into_iter())
        };
        let penalties: Vec<_> = self.pools.iter().map(known).collect();
        let rates = self.pools.iter().map(|pool| pool.reads_per_s.max(1e-9));
        let others = mean(&mut rates.zip(&penalties).filter_map(|(rate, p)| Some((rate, (*p)?))));
        for (pool, penalty) in self.pools.iter_mut().zip(penalties) {
            // What a class costs is known from its name, before anything was measured.
            let told = pool.class.filter(|&class| class > 0).map(of_class);
            let known = penalty.or(told.map(Micros::as_f64)).or(others);
            pool.penalty_us = known.unwrap_or(PENALTY_DEFAULT_US);
        }
    }

    fn snapshot(&self, reading: &Reading) -> Snapshot {
        let reads: f64 = self.pools.iter().map(|pool| pool.reads_per_s).sum();
        let pools = self.pools.iter().map(|pool| {
            let (floor, cap) = self.bounds(reading, pool);
            let mut candidates = pool.watch.as_ref().map_or(vec![], |w| w.curves().to_vec());
            let slab = pool
                .class
                .filter(|_| pool.chunk.is_some())
                .and_then(|class| self.windows.slab(pool.tenants[0], class));
            if let Some(curve) = slab
                .as_ref()
                .filter(|_| candidates.is_empty())
                .and_then(|slab| slab.straight().filter(|_| pool.watch.is_some()))
            {
                candidates = vec![Candidate::new(pool.evictor, curve)];
            }
            // Of the unmeasured hardly anything stays: what they do not use they do not need.
            let is_empty = pool.class == Some(0)
                && pool.chunk.is_none()
                && candidates.is_empty()
                && pool.used.0 < pool.budget.0 / 2;
            if pool.watch.is_some() && (pool.reads_per_s <= IDLE * reads || is_empty) {
                // Whoever asks for nothing misses nothing: no memory would help.
                let curve = MissRatioCurve::new([]);
                candidates = vec![Candidate::new(pool.evictor, curve)];
            }
            let weights = members(reading, &pool.tenants).map(|tenant| tenant.weight);
            Pool {
                name: pool.name.clone(),
                candidates,
                reads_per_s: pool.reads_per_s,
                penalty_us: pool.penalty_us,
                weight: weights.sum::<f64>() / pool.tenants.len().max(1) as f64,
                floor,
                cap,
                budget: pool.budget,
                evictor: pool.evictor,
                asked: None,
                slab,
            }
        });
        let pools: Vec<_> = pools.collect();
        let page = pools.iter().find_map(|pool: &Pool| Some(pool.slab.as_ref()?.page));
        let units = |page: Bytes| (reading.limit.0 / (page.0 * self.recipe.grain).max(1)) as usize;
        Snapshot {
            memory: reading.limit,
            units_max: page.map_or_else(
                || planner::dp::units_for(self.pools.len()),
                |page| units(page).clamp(1, slab::UNITS_MAX),
            ),
            band: None,
            objective: self.recipe.objective,
            switch_margin: self.recipe.switch_margin,
            pools,
            goals: self.promises(reading),
        }
    }

    /// What was promised to the owners of pools.
    fn promises(&self, reading: &Reading) -> Vec<Promise> {
        let promise = |goal: &crate::plant::Goal| {
            let name = members(reading, &[goal.tenant]).next()?.name.clone();
            let own = |at: &usize| self.pools[*at].tenants == [goal.tenant];
            let pools: Vec<_> = (0..self.pools.len()).filter(own).collect();
            let (target, priority) = (goal.target, goal.priority);
            (!pools.is_empty()).then_some(Promise { name, pools, target, priority })
        };
        reading.goals.iter().filter_map(promise).collect()
    }

    /// Whether the plan comes into force, what it promises and what it had to.
    fn decide(
        &mut self,
        snapshot: &Snapshot,
        plan: &Plan,
        by_curves: bool,
    ) -> (Decision, f64, f64) {
        let threshold = self.threshold;
        if by_curves && snapshot.pools.iter().all(|pool| pool.candidates.is_empty()) {
            return (Decision::Learning, 0.0, threshold);
        }
        let present: Vec<_> = self.pools.iter().map(|pool| (pool.budget, pool.evictor)).collect();
        if self.recipe.gain_min > 0.0 {
            if let Some(good) = self.trust.fall_back(self.epoch) {
                self.goal = Some(good);
                self.decided = self.epoch;
                self.last_moves.clear();
                self.threshold = (threshold * 2.0).min(THRESHOLD_MAX);
                return (Decision::FellBack, 0.0, threshold);
            }
            if self.trust.rests(self.epoch) {
                return (Decision::Cooling, 0.0, threshold);
            }
        }
        let in_force = self.goal.clone().unwrap_or_else(|| present.clone());
        let cost = snapshot.total(in_force.iter().copied());
        let gain = if cost > 0.0 { 1.0 - plan.cost / cost } else { 0.0 };
        // A promise is kept whatever it costs, and what it no longer needs is given back.
        let is_judged = by_curves && snapshot.goals.is_empty();
        if is_judged && gain < threshold || plan.division() == in_force {
            self.threshold = (threshold * 0.9).max(self.recipe.gain_min);
            return (Decision::Kept, gain, threshold);
        }
        let cooling = u64::from(self.recipe.cooling_epochs);
        if is_judged && self.decided > 0 && self.epoch - self.decided < cooling {
            return (Decision::Cooling, gain, threshold);
        }
        let moves: Vec<_> = plan
            .pools
            .iter()
            .zip(&present)
            .map(|(share, (budget, _))| share.budget.as_f64() - budget.as_f64())
            .collect();
        let taken_back: f64 = moves
            .iter()
            .zip(&self.last_moves)
            .filter(|(new, old)| new.signum() != old.signum())
            .map(|(new, old)| new.abs().min(old.abs()))
            .sum();
        let all: f64 = self.last_moves.iter().map(|old| old.abs()).sum();
        self.goal = Some(plan.division());
        self.decided = self.epoch;
        self.trust.adopt();
        self.last_moves = moves;
        if all > 0.0 && taken_back > 0.5 * all {
            self.threshold = (threshold * 2.0).min(THRESHOLD_MAX);
            return (Decision::Reversed, gain, threshold);
        }
        (Decision::Adopted, gain, threshold)
    }

    /// One bounded step from the present division towards the goal. Returns the bytes that pools
    /// gained.
    fn walk(&mut self, by_curves: bool) -> Bytes {
        let Some(goal) = &self.goal else { return Bytes(0) };
        if !by_curves && self.recipe.pools == Pools::Slab {
            // It moves what it means to, a page at a time.
            let mut gained = Bytes(0);
            for (pool, &(budget, _)) in self.pools.iter_mut().zip(goal) {
                gained += budget.saturating_sub(pool.budget);
                pool.budget = budget;
            }
            return gained;
        }
        let cooling = u64::from(self.recipe.cooling_epochs);
        let mut wants = vec![0.0; self.pools.len()];
        for ((pool, want), &(budget, evictor)) in self.pools.iter_mut().zip(&mut wants).zip(goal) {
            let cooled = pool.switched == 0 || self.epoch - pool.switched >= cooling;
            if pool.evictor != evictor && cooled {
                pool.evictor = evictor;
                pool.switched = self.epoch;
                continue;
            }
            *want = budget.as_f64() - pool.budget.as_f64();
            // The last bit goes at once, or the walk would never end.
            let loss = LOSS_MAX * pool.budget.as_f64() + self.limit.as_f64() / 256.0;
            *want = want.max(-loss.min(pool.budget.as_f64()));
        }
        let given: f64 = wants.iter().map(|want| (-want).max(0.0)).sum();
        let asked: f64 = wants.iter().map(|want| want.max(0.0)).sum();
        let held: Bytes = self.pools.iter().map(|pool| pool.budget).sum();
        let spare = self.limit.saturating_sub(held).as_f64();
        let most = self.recipe.move_max * self.limit.as_f64();
        let moved = asked.min(given + spare).min(most);
        if moved < 1.0 {
            return Bytes(0);
        }
        // What is spare is used before anything is taken.
        let taken = (moved - spare).max(0.0).min(given);
        let mut gained = Bytes(0);
        for (pool, want) in self.pools.iter_mut().zip(wants) {
            if want < 0.0 {
                let loss = Bytes((-want * taken / given).ceil() as u64);
                pool.budget = pool.budget.saturating_sub(loss);
            } else if want > 0.0 {
                let gain = Bytes((want * moved / asked) as u64);
                pool.budget += gain;
                gained += gain;
            }
        }
        gained
    }
}

/// The memory to forecast with: a pool that has not filled its budget yet misses as it is.
fn held(pool: &Steered) -> Bytes {
    if pool.used > Bytes(0) { pool.budget.min(pool.used) } else { pool.budget }
}

/// A class by what its cheapest misses cost.
fn class_name(class: u8) -> String {
    match class {
        0 => "unmeasured".to_owned(),
        1 => "below 10 µs".to_owned(),
        class => format!("from {}", Micros(10 * ((1 << (class - 1)) - 1))),
    }
}
