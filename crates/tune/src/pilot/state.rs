//! The state of the pilot and of its pools.

use super::patience::Patience;
use super::price::Prices;
use super::replays::Replays;
use super::views::Views;
use crate::causes::Watching;
use crate::known::Known;
use crate::observe::{Observer, class_of};
use crate::record::Epoch;
use crate::slab::Windows;
use crate::trust::Trust;
use crate::watch::Watch;
use crate::{Evictor, Part, Plan, Recipe, Step};
use base::{Bytes, Filter, Micros, TenantId};
use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;

/// The cost of a miss, in microseconds, if no pool has a measured one. Any number will do: only
/// the proportions between pools count, and planning is then by hits.
pub(super) const PENALTY_DEFAULT_US: f64 = 1_000.0;

/// Upper bound of the minimum gain θ, however often plans took back earlier moves.
pub(super) const THRESHOLD_MAX: f64 = 0.32;

/// Steers a plant by a recipe.
#[derive(Debug)]
pub struct Pilot {
    pub(super) recipe: Recipe,
    pub(super) seed: u64,
    /// Whether the pilot only plans and forecasts, and moves no memory.
    pub(super) only_watches: bool,
    pub(super) observer: Observer,
    pub(super) pools: Vec<Steered>,
    pub(super) counts: HashMap<(TenantId, Option<u8>), PoolCounters>,
    pub(super) limit: Bytes,
    /// Start of the epoch and the number of reads until then; `None` before the first reading.
    pub(super) begun: Option<(Micros, u64)>,
    /// Reads of the present epoch that an earlier pilot saw.
    pub(super) carried: u64,
    pub(super) epoch: u64,
    pub(super) threshold: f64,
    /// The division that the walk moves towards.
    pub(super) goal: Option<Vec<(Bytes, Evictor)>>,
    /// The last step that the plant carried out.
    pub(super) sent: Option<Step>,
    /// Change of each pool's budget by the last plan, in bytes.
    pub(super) last_moves: Vec<f64>,
    pub(super) decided: u64,
    pub(super) trust: Trust,
    pub(super) patience: Patience,
    pub(super) plan: Option<Plan>,
    pub(super) history: VecDeque<Epoch>,
    pub(super) samples: u64,
    pub(super) dropped: u64,
    pub(super) looked: Micros,
    /// Knowledge of an earlier pilot, kept until the pools are formed.
    pub(super) recalled: Option<Known>,
    /// Whether the division comes from an earlier run.
    pub(super) is_recalled: bool,
    /// Whether memory was moved outside the pilot's plans.
    pub(super) is_moved: bool,
    /// The pages of slab classes, epoch by epoch.
    pub(super) windows: Windows,
    /// Number of requests until the pools turn over, if known; 0 while a promise is broken.
    pub(super) turnover: Option<u64>,
    /// Weights of the tenants' waiting, while tenants share a pool.
    pub(super) prices: Prices,
    /// A curve of each tenant, while tenants share a pool.
    pub(super) views: Views,
    pub(super) causes: Watching,
    /// The sampled requests of the only pool, played at other sizes and under other policies.
    pub(super) replays: Replays,
}

/// A pool as the pilot sees it.
#[derive(Debug)]
pub(super) struct Steered {
    pub(super) name: String,
    pub(super) tenants: Vec<TenantId>,
    /// The class of its items; `None` for items of every class.
    pub(super) class: Option<u8>,
    /// The sizes in samples that belong to its items, for a class of sizes.
    pub(super) sizes: Option<RangeInclusive<u64>>,
    pub(super) budget: Bytes,
    pub(super) evictor: Evictor,
    pub(super) watch: Option<Watch>,
    /// Reads so far, as of the last look.
    pub(super) gets: Option<u64>,
    pub(super) used: Bytes,
    /// Memory that the pool could use when the epoch began, in bytes.
    pub(super) held: Bytes,
    pub(super) reads_per_s: f64,
    pub(super) ops_per_s: f64,
    pub(super) penalty_us: f64,
    pub(super) switched: u64,
}

/// Counts of a pool's requests, as of an earlier look.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PoolCounters {
    pub(super) gets: u64,
    pub(super) misses: u64,
    pub(super) sets: u64,
}

impl Steered {
    /// The keys to sample.
    pub(super) fn filter(&self) -> Filter {
        self.watch.as_ref().map_or(Filter::NONE, Watch::filter)
    }

    /// The miss ratio to expect in the next epoch. A class of sizes with too few requests for a
    /// curve of its own is forecast by a straight line.
    pub(super) fn forecast(&self, known: &crate::snapshot::Pool) -> Option<f64> {
        let own = self.watch.as_ref()?.forecast(self.evictor, held(self));
        let straight = known.slab.is_some().then(|| known.miss_ratio(held(self), self.evictor));
        own.or(straight.flatten().map(|ratio| ratio.0))
    }

    /// Whether a key of this tenant, penalty and size belongs to the pool.
    pub(super) fn has(&self, tenant: TenantId, penalty: Micros, size: u32) -> bool {
        let of_class = |class| match &self.sizes {
            Some(sizes) => sizes.contains(&size.into()),
            None => class == class_of(penalty),
        };
        self.tenants.contains(&tenant) && self.class.is_none_or(of_class)
    }
}

impl PoolCounters {
    pub(super) const fn of(part: &Part) -> Self {
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
            sent: None,
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
}

/// The memory to forecast with. A pool that has not filled its budget yet misses like a pool of its
/// present use.
pub(super) fn held(pool: &Steered) -> Bytes {
    if pool.used > Bytes(0) { pool.budget.min(pool.used) } else { pool.budget }
}
