//! Fixed shares for the tenants: the curves of each tenant, and the division with the least
//! waiting.

use super::load::Load;
use anyhow::anyhow;
use base::{Access, Bytes, Filter, Op, TenantId};
use curve::{Model, Params};
use tune::snapshot::{Candidate, Pool};
use tune::{Evictor, Plan, PoolStep, Snapshot, Step, planner, recipe};

/// Maximum number of keys of a tenant that its models watch.
const KEYS_MAX: usize = 1 << 14;
/// The recipe that divides among tenants.
const RECIPE: &str = "kredis";

/// The plan that divides `memory` among the tenants.
pub(super) fn divide(load: &Load, memory: Bytes, seed: u64) -> anyhow::Result<Plan> {
    Ok(Curves::of(load, seed)?.plan(load, memory))
}

/// Miss ratio curves of each tenant, one for each policy of the recipe.
pub(super) struct Curves {
    candidates: Vec<Vec<Candidate>>,
    reads: Vec<u64>,
    plan: fn(&Snapshot) -> Plan,
    evictor: Evictor,
}

impl Curves {
    pub(super) fn of(load: &Load, seed: u64) -> anyhow::Result<Self> {
        let recipe = recipe::parse(RECIPE).map_err(|error| anyhow!(error))?;
        let spec = curve::find(recipe.model.unwrap_or("krr")).map_err(|error| anyhow!(error))?;
        let planner = planner::find(recipe.planner).map_err(|error| anyhow!(error))?;
        let tenants = load.names.len();
        let mut by_tenant: Vec<Vec<Access>> = vec![vec![]; tenants];
        for access in &load.accesses {
            by_tenant[usize::from(access.tenant)].push(*access);
        }
        let candidates = by_tenant.iter().map(|accesses| {
            let candidate = |evictor: &Evictor| {
                let (k, pool) = (u32::from(evictor.k), evictor.pool);
                let params = Params { k, pool, keys_max: KEYS_MAX, seed, ..Params::default() };
                let mut model: Box<dyn Model> = (spec.build)(&params);
                model.accesses(accesses);
                Candidate::new(*evictor, model.curve())
            };
            recipe.evictors.iter().map(candidate).collect()
        });
        let reads = |accesses: &Vec<Access>| {
            accesses.iter().filter(|access| access.op == Op::Get).count() as u64
        };
        Ok(Self {
            candidates: candidates.collect(),
            reads: by_tenant.iter().map(reads).collect(),
            plan: planner.plan,
            evictor: recipe.evictors[0],
        })
    }

    /// The division of `memory` among the whole load, planned at the scale of the part that is
    /// played.
    pub(super) fn plan(&self, load: &Load, memory: Bytes) -> Plan {
        let played = Bytes((memory.as_f64() * load.share) as u64);
        let tenants = load.names.len();
        let pools = (0..tenants).map(|at| Pool {
            name: load.names[at].clone(),
            candidates: self.candidates[at].clone(),
            reads_per_s: self.reads[at] as f64 / load.seconds,
            penalty_us: load.penalties[at],
            weight: 1.0,
            budget: Bytes(played.0 / tenants as u64),
            evictor: self.evictor,
            ..Pool::default()
        });
        let snapshot = Snapshot {
            memory: played,
            units_max: planner::dp::units_for(tenants),
            band: None,
            objective: tune::Objective::Latency,
            switch_margin: 0.0,
            pools: pools.collect(),
            goals: vec![],
        };
        let mut plan = (self.plan)(&snapshot);
        for share in &mut plan.pools {
            share.budget = Bytes((share.budget.as_f64() / load.share) as u64);
        }
        plan
    }
}

/// The step that sets the division, with each budget times `share`.
pub(super) fn step(plan: &Plan, share: f64) -> Step {
    let pool = |(at, (budget, evictor)): (usize, (Bytes, Evictor))| PoolStep {
        tenants: vec![at as TenantId],
        class: None,
        budget: Bytes((budget.as_f64() * share) as u64),
        evictor,
        filter: Filter::NONE,
    };
    Step { pools: plan.division().into_iter().enumerate().map(pool).collect(), prices: vec![] }
}
