//! The pilot: observe, model, plan, apply, once an epoch.
//!
//! The safeguards of the loop are here, and not in the recipes:
//!
//! - **Minimum gain.** A plan must promise to save a share θ of the cost of the plan in force under
//!   the same curves. Curves are noisy, and the best of many divisions always looks a little
//!   better than it is. A plan that takes only memory without use to its holders needs a fifth
//!   of θ.
//! - **Hysteresis.** θ doubles when a plan reverses most moves of the plan before it, and
//!   decays slowly.
//! - **Cooling off.** After a plan, and for each pool after a change of policy, nothing new is
//!   decided for some epochs: the effect takes a turnover of the memory to show.
//! - **A bound on moves.** The division walks towards its plan, at most a share of the memory an
//!   epoch, and no pool loses more than a quarter of its memory at once. The goal of the walk is
//!   the best division overall, not the best within reach: curves have cliffs, and a walk that
//!   looked only at the next step would stop before them.
//! - **One change at a time.** A pool that changes its policy in an epoch keeps its budget in it.
//! - **Calibrated curves.** The misses of a pool at its present size are counted, and its curves
//!   are shifted to pass through the measured miss ratio (`calibration.rs`).
//! - **Checked forecasts.** Every epoch records the miss ratios it expects. One epoch later the
//!   measured ratios are recorded beside them.
//! - **Rollback.** If the forecasts of a plan are wrong by more than recent forecasts were, the
//!   pilot returns to the last plan with correct forecasts. It then tries nothing new for a while.
//! - **No action without knowledge.** A pool with too few samples keeps its share. A pool that was
//!   never read and holds nothing lends its share at once, until it is read.

mod decide;
mod handover;
mod measure;
mod patience;
mod pools;
mod price;
mod replays;
mod snapshot;
mod views;

use crate::budgets::fit;
pub use crate::causes::SIZES;
use crate::causes::Watching;
use crate::known::Known;
use crate::observe::{Observer, class_of};
use crate::planner;
pub use crate::record::{Decision, Epoch, PoolEpoch, Status};
use crate::slab::{self, Windows};
use crate::snapshot::Candidate;
use crate::trust::Trust;
use crate::watch::Watch;
use crate::{Evictor, Part, Plan, Plant, PoolStep, Reading, Recipe, Step};
use base::{Bytes, Causes, Filter, Micros, TenantId};
use patience::Patience;
use price::Prices;
use replays::Replays;
pub use replays::{Replayed, Trial};
use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;
use views::Views;

/// Epochs the pilot remembers.
const HISTORY_MAX: usize = 240;

/// The cost of a miss, in microseconds, if no pool has a measured one. Any number will do: only
/// the proportions between pools count, and planning is then by hits.
const PENALTY_DEFAULT_US: f64 = 1_000.0;

/// Upper bound of the minimum gain θ, however often plans took back earlier moves.
const THRESHOLD_MAX: f64 = 0.32;

/// Steers a plant by a recipe.
#[derive(Debug)]
pub struct Pilot {
    recipe: Recipe,
    seed: u64,
    /// Whether the pilot only plans and forecasts, and moves no memory.
    only_watches: bool,
    observer: Observer,
    pools: Vec<Steered>,
    counts: HashMap<(TenantId, Option<u8>), Counts>,
    limit: Bytes,
    /// Start of the epoch and the number of reads until then; `None` before the first reading.
    begun: Option<(Micros, u64)>,
    /// Reads of the present epoch that an earlier pilot saw.
    carried: u64,
    epoch: u64,
    threshold: f64,
    /// The division that the walk moves towards.
    goal: Option<Vec<(Bytes, Evictor)>>,
    /// Change of each pool's budget by the last plan, in bytes.
    last_moves: Vec<f64>,
    decided: u64,
    trust: Trust,
    patience: Patience,
    plan: Option<Plan>,
    history: VecDeque<Epoch>,
    samples: u64,
    dropped: u64,
    looked: Micros,
    /// Knowledge of an earlier pilot, kept until the pools are formed.
    recalled: Option<Known>,
    /// Whether the division comes from an earlier run.
    is_recalled: bool,
    /// Whether memory was moved outside the pilot's plans.
    is_moved: bool,
    /// The pages of slab classes, epoch by epoch.
    windows: Windows,
    /// Number of requests until the pools turn over, if known; 0 while a promise is broken.
    turnover: Option<u64>,
    /// Weights of the tenants' waiting, while tenants share a pool.
    prices: Prices,
    /// A curve of each tenant, while tenants share a pool.
    views: Views,
    causes: Watching,
    /// The sampled requests of the only pool, played at other sizes and under other policies.
    replays: Replays,
}

/// A pool as the pilot sees it.
#[derive(Debug)]
struct Steered {
    name: String,
    tenants: Vec<TenantId>,
    /// The class of its items; `None` for items of every class.
    class: Option<u8>,
    /// The sizes in samples that belong to its items, for a class of sizes.
    sizes: Option<RangeInclusive<u64>>,
    budget: Bytes,
    evictor: Evictor,
    watch: Option<Watch>,
    /// Reads so far, as of the last look.
    gets: Option<u64>,
    used: Bytes,
    /// Memory that the pool could use when the epoch began, in bytes.
    held: Bytes,
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

    /// The miss ratio to expect in the next epoch. A class of sizes with too few requests for a
    /// curve of its own is forecast by a straight line.
    fn forecast(&self, known: &crate::snapshot::Pool) -> Option<f64> {
        let own = self.watch.as_ref()?.forecast(self.evictor, held(self));
        let straight = known.slab.is_some().then(|| known.miss_ratio(held(self), self.evictor));
        own.or(straight.flatten().map(|ratio| ratio.0))
    }

    /// Whether a key of this tenant, penalty and size belongs to the pool.
    fn has(&self, tenant: TenantId, penalty: Micros, size: u32) -> bool {
        let of_class = |class| match &self.sizes {
            Some(sizes) => sizes.contains(&size.into()),
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
            only_watches: false,
            observer: Observer::default(),
            pools: vec![],
            counts: HashMap::new(),
            limit: Bytes(0),
            begun: None,
            carried: 0,
            epoch: 0,
            threshold: recipe.gain_min,
            goal: None,
            last_moves: vec![],
            decided: 0,
            trust: Trust::default(),
            patience: Patience::default(),
            plan: None,
            history: VecDeque::new(),
            samples: 0,
            dropped: 0,
            looked: Micros(0),
            recalled: None,
            is_recalled: false,
            is_moved: false,
            windows: Windows::default(),
            turnover: None,
            prices: Prices::default(),
            views: Views::default(),
            causes: Watching::default(),
            replays: Replays::default(),
        }
    }

    /// Makes the pilot plan and forecast without changing the plant. Forecasts are then for the
    /// actual division.
    #[must_use]
    pub const fn only_watching(mut self) -> Self {
        self.only_watches = true;
        self
    }

    /// Switches between only planning and forecasting (`true`) and moving memory (`false`).
    pub const fn only_watch(&mut self, only_watches: bool) {
        self.only_watches = only_watches;
    }

    /// The recipe in force.
    pub const fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Follows another recipe from the next tick on. Cached items stay.
    pub fn set_recipe(&mut self, recipe: Recipe) {
        let only_watches = self.only_watches;
        *self = Self { epoch: self.epoch, only_watches, ..Self::new(recipe, self.seed) };
    }

    /// Looks at the plant once, and applies a step at the end of an epoch. Returns true if an epoch
    /// ended. Call it several times an epoch, so that the plant's queue of samples stays short.
    pub fn tick(&mut self, plant: &mut dyn Plant) -> bool {
        let mut reading = plant.read();
        self.views.form(&self.recipe, &reading, self.seed);
        if self.form_pools(&reading) {
            let step = self.step();
            plant.apply(&step);
        }
        if std::mem::take(&mut self.is_moved) {
            self.take_natural(&reading);
            (self.goal, self.last_moves, self.trust) = (None, vec![], Trust::default());
            self.decided = self.epoch;
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
                // An epoch lasts until the pools turn over, but at least a sixteenth of the
                // interval and at most all of it. The first plan determines the turnover, so the
                // first epoch is short.
                let early = interval / 16;
                let is_first = self.recipe.turnover && self.epoch == 0;
                let unknown = if is_first { early } else { interval };
                let reads = self.turnover.map_or(unknown, |t| t.clamp(early, interval));
                gets.saturating_sub(gets_before) + self.carried >= reads
            }
        };
        if !is_over || reading.limit == Bytes(0) {
            return false;
        }
        (self.begun, self.carried) = (Some((reading.now, gets)), 0);
        self.epoch += 1;
        let steered = self.end_epoch(&reading, reading.now.saturating_sub(begun));
        if steered {
            let step = self.step();
            plant.apply(&step);
        }
        true
    }

    /// The present budget of each pool, with the pool's name.
    pub fn division(&self) -> Vec<(String, Bytes)> {
        self.pools.iter().map(|pool| (pool.name.clone(), pool.budget)).collect()
    }

    /// Returns at once to an earlier division, because the load for which it was made is expected
    /// again. Its outcome is judged like the outcome of a plan.
    pub fn restore(&mut self, division: &[(String, Bytes)], plant: &mut dyn Plant) {
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

    /// Adopts the actual division at the next tick. Call it after memory was moved outside the
    /// plan: the plan and its forecasts no longer hold.
    pub const fn follow(&mut self) {
        self.is_moved = true;
    }

    /// The curves of a tenant, or of its pool if the recipe draws no curves for people: one for
    /// each policy of the recipe. Empty if there are too few samples, or if each class of the
    /// tenant's sizes has its own curves.
    pub fn curves(&self, tenant: TenantId) -> &[Candidate] {
        if self.recipe.curves.is_some() {
            return self.views.curves(tenant).unwrap_or_default();
        }
        let own = |pool: &&Steered| pool.tenants.contains(&tenant) && pool.sizes.is_none();
        let pool = self.pools.iter().find(own);
        pool.and_then(|pool| pool.watch.as_ref()).map_or(&[], Watch::curves)
    }

    /// The names of the pools that have their own curves, with these curves.
    pub fn own_curves(&self) -> impl Iterator<Item = (&str, &[Candidate])> {
        self.pools.iter().filter_map(|pool| Some((&*pool.name, pool.watch.as_ref()?.curves())))
    }

    /// Misses of a tenant so far, by cause, estimated for all keys from the sampled keys.
    pub fn causes(&self, tenant: TenantId) -> Causes {
        self.causes.misses(tenant)
    }

    /// Number of sampled misses behind [`Pilot::causes`] of a tenant.
    pub fn sampled_misses(&self, tenant: TenantId) -> u64 {
        self.causes.counted(tenant)
    }

    /// Share of the sampled reads of expired keys that would be saved if items lived twice as long.
    /// `None` if there were no such reads.
    pub fn twice_the_ttl(&self, tenant: TenantId) -> Option<f64> {
        self.causes.twice_the_ttl(tenant)
    }

    /// Sampled hits of a tenant by size: at `n`, sizes from 2ⁿ bytes to below twice that.
    pub fn hits_by_size(&self, tenant: TenantId) -> [u32; SIZES] {
        self.causes.hits_by_size(tenant)
    }

    /// Plays the samples since a moment at other sizes and under other policies, a little at each
    /// call. It works for recipes that keep one pool and draw curves for people. Call it after each
    /// look: a set of plays begins once a minute and takes some seconds of looks. Returns true if
    /// this call completed a set.
    pub fn play(&mut self, since: Micros) -> bool {
        let [pool] = &self.pools[..] else { return false };
        if self.recipe.curves.is_none() {
            return false;
        }
        // The plays include one K-LRU, which is the nearest to a K-LRU with any K.
        let is_klru = pool.evictor.policy == Evictor::klru(0).policy;
        let evictor = if is_klru { Evictor::klru_pool(5) } else { pool.evictor };
        self.replays.play(evictor, self.prices.in_force(), since)
    }

    /// The last completed set of plays.
    pub const fn replayed(&self) -> Option<&Arc<Replayed>> {
        self.replays.shown()
    }

    /// The last epochs, oldest first.
    pub const fn history(&self) -> &VecDeque<Epoch> {
        &self.history
    }

    /// A snapshot of the pilot's state for reports and metrics.
    pub fn status(&self) -> Status {
        let watches = self.pools.iter().filter_map(|pool| pool.watch.as_ref());
        Status {
            recipe: self.recipe.to_string(),
            epoch: self.epoch,
            memory: self.limit,
            rate: self.pools.iter().map(|pool| pool.filter().rate()).fold(0.0, f64::max),
            samples: self.samples,
            dropped: self.dropped,
            model_bytes: watches.map(Watch::bytes).sum::<Bytes>()
                + self.views.bytes()
                + self.replays.bytes(),
            observer_bytes: self.observer.bytes() + self.causes.bytes(),
            prices: self.prices.in_force().to_vec(),
            plan: self.plan.clone(),
            history: self.history.iter().cloned().collect(),
        }
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
        Step { pools: pools.collect(), prices: self.prices.in_force().to_vec() }
    }

    /// Measures, plans, decides and walks. Returns true if the plant needs a new step.
    fn end_epoch(&mut self, reading: &Reading, length: Micros) -> bool {
        let before = self.step();
        self.measure(reading, length);
        self.set_prices(reading);
        self.views.epoch(self.recipe.keep);
        self.lend_idle(reading);
        self.windows.epoch(reading);
        if self.is_first_come() || self.only_watches {
            self.take_natural(reading);
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
        if snapshot.goals.iter().any(|promise| slab::is_broken(promise, &snapshot.pools)) {
            // A broken promise needs the next plan at once, without waiting for the effect of the
            // last one.
            self.turnover = self.turnover.map(|_| 0);
        }
        let (decision, gain, threshold) = self.decide(&snapshot, &plan, planner.by_curves);
        let moved = self.walk(planner.by_curves);
        self.plan = Some(plan);
        let pools = self.pools.iter().zip(&snapshot.pools).map(|(pool, known)| PoolEpoch {
            name: pool.name.clone(),
            budget: pool.budget,
            evictor: pool.evictor,
            used: pool.used,
            pages: known.slab.as_ref().map(|slab| slab.pages),
            reads_per_s: pool.reads_per_s,
            penalty_us: pool.penalty_us,
            forecast: pool.forecast(known),
            outcome: None,
        });
        let pools = pools.collect();
        for pool in &mut self.pools {
            pool.held = held(pool);
        }
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

    /// Compares the forecasts of the epoch before with the actual miss ratios.
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
}

/// The memory to forecast with. A pool that has not filled its budget yet misses like a pool of its
/// present use.
fn held(pool: &Steered) -> Bytes {
    if pool.used > Bytes(0) { pool.budget.min(pool.used) } else { pool.budget }
}
