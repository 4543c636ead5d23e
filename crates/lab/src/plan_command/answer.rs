//! The answer of the command: one JSON document, or tables.

use super::partition::Partition;
use super::replayed::Replayed;
use crate::plant::Counts;
use crate::survey::Survey;
use base::{Bytes, TenantId};
use serde::Serialize;
use tune::snapshot::{Pool, best};
use tune::{Evictor, Objective, Plan, Recipe, Snapshot};

/// A plan, with simulations of it, of equal shares and of one shared cache.
#[derive(Debug, Serialize)]
pub(super) struct PlanOutput {
    pub(super) memory: u64,
    pub(super) recipe: String,
    pub(super) objective: Objective,
    pub(super) requests: u64,
    pub(super) seconds: f64,
    pub(super) tenants: Vec<TenantAnswer>,
    /// The pools that are divided, where these are not the tenants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) pools: Vec<PoolAnswer>,
    /// Over all tenants.
    pub(super) overall: Overall,
    pub(super) plan: Plan,
    /// Miss ratio of each pool at sizes up to the memory.
    #[serde(skip)]
    pub(super) curves: Vec<(String, Vec<(f64, f64)>)>,
}

#[derive(Debug, Serialize)]
pub(super) struct TenantAnswer {
    pub(super) name: String,
    pub(super) reads: u64,
    /// Bytes of all objects, estimated from a sample of the keys.
    pub(super) footprint: u64,
    /// Planned share of the tenant's pool, where it has one.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) share: Option<Share>,
    #[serde(flatten)]
    pub(super) outcomes: ReplayOutputs,
}

#[derive(Debug, Serialize)]
pub(super) struct PoolAnswer {
    pub(super) name: String,
    pub(super) reads: u64,
    #[serde(flatten)]
    pub(super) share: Share,
    #[serde(flatten)]
    pub(super) outcomes: ReplayOutputs,
}

/// Planned memory and policy of a pool.
#[derive(Debug, Serialize)]
pub(super) struct Share {
    pub(super) penalty_us: f64,
    pub(super) budget: u64,
    pub(super) evictor: Evictor,
    /// Miss ratio that the plan expects.
    pub(super) forecast: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(super) struct ReplayOutputs {
    /// Simulated result of the plan.
    pub(super) planned: ReplayOutput,
    /// Simulated result of equal shares.
    pub(super) equal: ReplayOutput,
    /// Simulated result of one shared cache without any division.
    pub(super) shared: ReplayOutput,
}

/// Result of a tenant, of a pool, or of all, in a simulated cache.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct ReplayOutput {
    pub(super) miss_ratio: f64,
    /// Mean time waited for a miss, over all reads.
    pub(super) mean_us: f64,
    /// Memory in use at the end, for a tenant or for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Overall {
    pub(super) forecast_mean_us: f64,
    #[serde(flatten)]
    pub(super) outcomes: ReplayOutputs,
}

impl ReplayOutput {
    fn of(counts: Counts, bytes: Option<u64>) -> Self {
        Self { miss_ratio: counts.miss_ratio(), mean_us: counts.mean_us(), bytes }
    }
}

impl ReplayOutputs {
    fn of(stores: &[Replayed; 3], outcome: impl Fn(&Replayed) -> ReplayOutput) -> Self {
        let [planned, equal, shared] = stores;
        Self { planned: outcome(planned), equal: outcome(equal), shared: outcome(shared) }
    }
}

impl PlanOutput {
    /// The answer for a plan, from the stores that simulated it, equal shares, and no division.
    pub(super) fn new(
        recipe: &Recipe,
        survey: &Survey,
        partition: &Partition,
        (snapshot, plan): (&Snapshot, Plan),
        stores: &[Replayed; 3],
    ) -> Self {
        let share = |at: usize| {
            let share = &plan.pools[at];
            Share {
                penalty_us: share.penalty_us,
                budget: share.budget.0,
                evictor: share.evictor,
                forecast: share.miss_ratio,
            }
        };
        let of_tenant = |tenant: TenantId| {
            (0..plan.pools.len())
                .find(|&at| partition.is_whole() && partition.tenant(at) == Some(tenant))
        };
        let tenant = |(at, name): (usize, &String)| {
            let id = at as TenantId;
            TenantAnswer {
                name: name.clone(),
                reads: survey.reads[at],
                footprint: survey.footprints[at].bytes().0,
                share: of_tenant(id).map(share),
                outcomes: ReplayOutputs::of(stores, |store| {
                    ReplayOutput::of(store.tenant(id), Some(store.used_by(id).0))
                }),
            }
        };
        let pool = |at: usize| PoolAnswer {
            name: plan.pools[at].name.clone(),
            reads: stores[0].pool(at).gets,
            share: share(at),
            outcomes: ReplayOutputs::of(stores, |store| ReplayOutput::of(store.pool(at), None)),
        };
        let pools = if partition.is_whole() { 0 } else { plan.pools.len() };
        let all = |store: &Replayed| ReplayOutput::of(store.all(), Some(store.used().0));
        Self {
            memory: snapshot.memory.0,
            recipe: recipe.to_string(),
            objective: recipe.objective,
            requests: survey.requests,
            seconds: survey.end.as_f64() / 1e6,
            tenants: survey.names.iter().enumerate().map(tenant).collect(),
            pools: (0..pools).map(pool).collect(),
            overall: Overall {
                forecast_mean_us: plan.mean_penalty_us(),
                outcomes: ReplayOutputs::of(stores, all),
            },
            plan,
            curves: snapshot.pools.iter().map(|pool| curve(pool, snapshot.memory)).collect(),
        }
    }
}

/// The miss ratio under the best policy at each size.
fn curve(pool: &Pool, memory: Bytes) -> (String, Vec<(f64, f64)>) {
    const POINTS: u64 = 64;
    let sizes = (0..=POINTS).map(|step| Bytes(memory.0 / POINTS * step));
    let point = |size: Bytes| Some((size.as_f64(), best(&pool.candidates, size)?.0));
    (pool.name.clone(), sizes.filter_map(point).collect())
}
