//! The fields of a recipe, their common values, and what follows from them.

use super::Pools;
use crate::{Evictor, Objective};
use base::Micros;

/// A configuration of the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// The name used in configuration and reports.
    pub name: &'static str,
    /// The division into pools.
    pub pools: Pools,
    /// Name of the model that watches each pool, one per policy in `evictors`; `None` switches the
    /// tap off.
    pub model: Option<&'static str>,
    /// Name of the model that draws a curve of each tenant for people, if tenants share a pool.
    pub curves: Option<&'static str>,
    /// The possible policies of a pool; it begins with the first.
    pub evictors: &'static [Evictor],
    /// Name of the planner that divides the memory.
    pub planner: &'static str,
    /// The objective that a plan minimises.
    pub objective: Objective,
    /// Time between plans.
    pub epoch: Micros,
    /// Reads between plans; zero for plans by time.
    pub interval: u64,
    /// Whether the turnover of the pools sets the time between plans, with `interval` as its
    /// maximum: see [`crate::slab::turnover`].
    pub turnover: bool,
    /// Pages in a unit of a plan, if memory is divided in pages.
    pub grain: u64,
    /// Share of the keys to watch; without a value, as many as there is time for.
    pub rate: Option<f64>,
    /// The least share of the present cost that a plan must promise to save. Below about a percent
    /// the noise of the curves alone promises that much. Without a bound the planner itself judges
    /// noise.
    pub gain_min: f64,
    /// The least share of the cost that another policy must save to replace the present one.
    pub switch_margin: f64,
    /// The most memory that moves in an epoch, as a share of the limit. Moved memory arrives before
    /// the receiver can fill it, so large steps lose hits on both sides.
    pub move_max: f64,
    /// Whether the plant is observed only at intervals. The models then take long to see all items
    /// of a class of sizes, and until then a straight line replaces their curve.
    pub seen_in_parts: bool,
    /// Epochs before a pool may change its policy again: the effect of a change takes a turnover.
    pub cooling_epochs: u32,
    /// Number of epochs in a row in which another policy must be better than the first before it
    /// replaces it.
    pub patience_epochs: u32,
    /// Weight that earlier counts of the models keep at each epoch. Nearer to one the curves are
    /// smoother and later; at zero each epoch is independent.
    pub keep: f64,
}

impl Recipe {
    /// Whether the recipe observes the cache at all. Without a model it leaves the cache plain,
    /// unless it uses the counts of slab classes.
    pub fn steers(&self) -> bool {
        self.model.is_some() || self.pools.needs_pages()
    }

    /// Whether pages go to the class whose victims have the highest worth.
    pub fn balances_ranks(&self) -> bool {
        self.planner == crate::planner::rank_balance::SPEC.name
    }

    /// Whether it gives each tenant a pool of its own.
    pub fn divides_by_tenant(&self) -> bool {
        self.pools == Pools::Tenant
    }

    /// Whether tenants that share its pool have prices: the price of a tenant's waiting is then a
    /// factor of the rank.
    pub fn has_prices(&self) -> bool {
        self.pools.is_single() && self.evictors[0].is_priced()
    }

    /// Whether it keeps promises to tenants, by the price of their waiting or by memory.
    pub fn keeps_promises(&self) -> bool {
        self.has_prices() || self.planner == crate::planner::qos::SPEC.name
    }

    /// The common values of recipes, so that each names only its differences.
    pub(super) const COMMON: Self = Self {
        name: "",
        pools: Pools::Whole,
        model: None,
        curves: None,
        evictors: &[Evictor::klru_pool(5)],
        planner: "nothing",
        objective: Objective::Latency,
        epoch: Micros::from_secs(1),
        interval: 0,
        turnover: false,
        grain: 1,
        rate: None,
        gain_min: 0.01,
        switch_margin: 0.01,
        move_max: 0.125,
        seen_in_parts: false,
        cooling_epochs: 3,
        patience_epochs: 0,
        keep: 0.85,
    };
}
