//! The pilot: observe, model, plan, apply, once an epoch.
//!
//! What keeps the loop from doing harm is here, and not in the recipes:
//!
//! - **Minimum gain.** A plan must promise to save a share θ of what the plan in force costs under
//!   the same curves. Curves are noisy, and the best of many divisions always looks a little
//!   better than it is. Of a plan that takes only what its holders have no use for, a fifth is
//!   asked.
//! - **Hysteresis.** θ doubles when a plan takes back most of what the one before it moved, and
//!   decays slowly.
//! - **Cooling off.** After a plan, and for each pool after a change of policy, nothing new is
//!   decided for some epochs: the effect takes a turnover of the memory to show.
//! - **A bound on moves.** The division walks towards its plan, at most a share of the memory an
//!   epoch, and no pool loses more than a quarter of its memory at once. The goal of the walk is
//!   the best division overall, not the best within reach: curves have cliffs, and a walk that
//!   looked only at the next step would stop before them.
//! - **One change at a time.** A pool that changes its policy in an epoch keeps its budget in it.
//! - **Curves through what was measured.** What a pool misses at the size it has is counted; its
//!   curves are shifted to go through it (`calibration.rs`).
//! - **A forecast that is checked.** Every epoch keeps the miss ratios it expects, and gets those
//!   that were measured beside them one epoch later.
//! - **A way back.** A plan whose forecasts prove wrong, beyond what forecasts were wrong lately,
//!   is given up for the last one that kept its word, and nothing new is tried for a while.
//! - **Not knowing is no reason to act.** A pool with too few samples keeps its share. One that was
//!   never read and holds nothing lends it, at once, until it is.

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
pub use pools::class_name;
use price::Prices;
use replays::Replays;
pub use replays::{Replayed, Trial};
use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;
use views::Views;

/// Epochs the pilot remembers.
const HISTORY_MAX: usize = 240;

/// The cost of a miss that nobody measured, anywhere: any number will do, for then only the
/// proportions between pools count, and planning is by hits.
const PENALTY_DEFAULT_US: f64 = 1_000.0;

/// A plan of a recipe must promise at most this much, however often moves were taken back.
const THRESHOLD_MAX: f64 = 0.32;

/// Steers a plant by a recipe.
#[derive(Debug)]
pub struct Pilot {
    recipe: Recipe,
    seed: u64,
    /// Whether it plans and promises, and moves nothing.
    only_watches: bool,
    observer: Observer,
    pools: Vec<Steered>,
    counts: HashMap<(TenantId, Option<u8>), Counts>,
    limit: Bytes,
    /// When the epoch began and how many reads there had been; `None` before the first reading.
    begun: Option<(Micros, u64)>,
    /// Reads that an earlier pilot saw of the epoch.
    carried: u64,
    epoch: u64,
    threshold: f64,
    /// The division in force: what the walk goes to.
    goal: Option<Vec<(Bytes, Evictor)>>,
    /// What the last plan moved: for each pool, in bytes.
    last_moves: Vec<f64>,
    decided: u64,
    trust: Trust,
    patience: Patience,
    plan: Option<Plan>,
    history: VecDeque<Epoch>,
    samples: u64,
    dropped: u64,
    looked: Micros,
    /// What an earlier pilot knew, until the pools are formed.
    recalled: Option<Known>,
    /// The division is one of an earlier run.
    is_recalled: bool,
    /// Memory was moved by somebody else.
    is_moved: bool,
    /// The pages of slab classes, epoch by epoch.
    windows: Windows,
    /// Requests that the pools take to turn over, where that is known; none where a promise is
    /// broken.
    turnover: Option<u64>,
    /// What the waiting of tenants counts, where they share a pool.
    prices: Prices,
    /// A curve of each tenant, where they share a pool.
    views: Views,
    causes: Watching,
    /// The sampled requests of the one pool there is, to be played at other sizes and under other
    /// policies.
    replays: Replays,
}

/// A pool as the pilot sees it.
#[derive(Debug)]
struct Steered {
    name: String,
    tenants: Vec<TenantId>,
    /// The class its items are of, or any.
    class: Option<u8>,
    /// What samples of its items say for a size, where that is a class of sizes.
    sizes: Option<RangeInclusive<u64>>,
    budget: Bytes,
    evictor: Evictor,
    watch: Option<Watch>,
    /// Reads so far, as of the last look.
    gets: Option<u64>,
    used: Bytes,
    /// What it could use when the epoch began.
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

    /// The miss ratio to expect in the next epoch. Of a class of sizes with too few requests for a
    /// curve of its own, that of a straight line.
    fn forecast(&self, known: &crate::snapshot::Pool) -> Option<f64> {
        let own = self.watch.as_ref()?.forecast(self.evictor, held(self));
        let straight = known.slab.is_some().then(|| known.miss_ratio(held(self), self.evictor));
        own.or(straight.flatten().map(|ratio| ratio.0))
    }

    /// Whether a key of this tenant, penalty and size is of the pool.
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

    /// The same, which plans and promises, and leaves the plant as it is: forecasts are of the
    /// division that is there.
    #[must_use]
    pub const fn only_watching(mut self) -> Self {
        self.only_watches = true;
        self
    }

    /// Only plans and promises from now on, or moves memory again.
    pub const fn only_watch(&mut self, only_watches: bool) {
        self.only_watches = only_watches;
    }

    /// The recipe in force.
    pub const fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Follows another recipe from the next tick on. What is cached stays.
    pub fn set_recipe(&mut self, recipe: Recipe) {
        let only_watches = self.only_watches;
        *self = Self { epoch: self.epoch, only_watches, ..Self::new(recipe, self.seed) };
    }

    /// One look at the plant, and at the end of an epoch a step. To be called several times an
    /// epoch, so that the plant's queue of samples stays short. True if an epoch ended.
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
                // As often as the pools turn over, but not sixteen times as often as asked. How
                // often that is the first plan shows, which therefore comes early.
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

    /// The division in force, by names of pools.
    pub fn division(&self) -> Vec<(String, Bytes)> {
        self.pools.iter().map(|pool| (pool.name.clone(), pool.budget)).collect()
    }

    /// Returns at once to a division of before, because the load for which it was made is known to
    /// come back; what comes of it is judged like a plan.
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

    /// Takes the division as it is from the next tick on: memory was moved beside the plan, and
    /// neither what was planned nor what was promised holds any more.
    pub const fn follow(&mut self) {
        self.is_moved = true;
    }

    /// The curves of the pool of a tenant, one for each policy the recipe knows: empty where too
    /// little was seen, or where each class of its sizes has its own.
    pub fn curves(&self, tenant: TenantId) -> &[Candidate] {
        if self.recipe.curves.is_some() {
            return self.views.curves(tenant).unwrap_or_default();
        }
        let own = |pool: &&Steered| pool.tenants.contains(&tenant) && pool.sizes.is_none();
        let pool = self.pools.iter().find(own);
        pool.and_then(|pool| pool.watch.as_ref()).map_or(&[], Watch::curves)
    }

    /// The curves of pools that have their own, with their names.
    pub fn own_curves(&self) -> impl Iterator<Item = (&str, &[Candidate])> {
        self.pools.iter().filter_map(|pool| Some((&*pool.name, pool.watch.as_ref()?.curves())))
    }

    /// Misses of a tenant so far, by cause, as those of sampled keys stand for all.
    pub fn causes(&self, tenant: TenantId) -> Causes {
        self.causes.misses(tenant)
    }

    /// Misses of sampled keys of a tenant that its causes rest on.
    pub fn sampled_misses(&self, tenant: TenantId) -> u64 {
        self.causes.counted(tenant)
    }

    /// Of the sampled reads of expired keys, those that a life of twice the length would have
    /// answered.
    pub fn twice_the_ttl(&self, tenant: TenantId) -> Option<f64> {
        self.causes.twice_the_ttl(tenant)
    }

    /// Sampled hits of a tenant by size: at `n`, of sizes from 2ⁿ bytes to below twice that.
    pub fn hits_by_size(&self, tenant: TenantId) -> [u32; SIZES] {
        self.causes.hits_by_size(tenant)
    }

    /// Plays what was sampled since a moment, a little at each call, at other sizes and under other
    /// policies, where the recipe keeps one pool and draws curves for people. To be called after
    /// each look; a set of plays takes some seconds of looks, and is begun once a minute. True if
    /// one is whole.
    pub fn play(&mut self, since: Micros) -> bool {
        let [pool] = &self.pools[..] else { return false };
        if self.recipe.curves.is_none() {
            return false;
        }
        // Whatever its K, it is nearest to the K-LRU that is played.
        let is_klru = pool.evictor.policy == Evictor::klru(0).policy;
        let evictor = if is_klru { Evictor::klru_pool(5) } else { pool.evictor };
        self.replays.play(evictor, self.prices.in_force(), since)
    }

    /// The last whole set of plays.
    pub const fn replayed(&self) -> Option<&Arc<Replayed>> {
        self.replays.shown()
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

    /// Measures, plans, decides and walks. True if the plant has to be told.
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
            // So much is missing that no more need be seen of the last plan to make the next.
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
}

/// The memory to forecast with: a pool that has not filled its budget yet misses as it is.
fn held(pool: &Steered) -> Bytes {
    if pool.used > Bytes(0) { pool.budget.min(pool.used) } else { pool.budget }
}
