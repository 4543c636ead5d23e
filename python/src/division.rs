//! Plans that divide memory among tenants.

use crate::curves::Curve;
use crate::simulation::Size;
use crate::wrong;
use base::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use tune::snapshot::{Candidate, Pool};
use tune::{Objective, Snapshot, planner};

/// Most units of equal size into which a plan divides the memory.
const UNITS: usize = 1_000;

/// The memory of each tenant, and the expected miss ratios.
#[pyclass(frozen, get_all, module = "larder")]
pub(crate) struct Plan {
    /// Bytes of memory by tenant.
    bytes: HashMap<String, u64>,
    /// Expected miss ratios by tenant.
    miss_ratios: HashMap<String, f64>,
    /// Expected cost, in the unit of the objective: seconds waited per second for `latency`,
    /// misses per second for `hits` and `misses`.
    cost: f64,
    notes: Vec<String>,
}

#[pymethods]
impl Plan {
    fn __repr__(&self) -> String {
        format!("<larder.Plan of {} tenants>", self.bytes.len())
    }
}

/// Divides memory among tenants. `curves` has the miss ratio curve of each tenant, by name.
#[pyfunction]
#[pyo3(signature = (
    curves, memory, reads=None, penalties=None, floors=None, objective="latency", planner="dp"
))]
pub(crate) fn plan(
    py: Python<'_>,
    curves: &Bound<'_, PyDict>,
    memory: Size,
    reads: Option<HashMap<String, f64>>,
    penalties: Option<HashMap<String, f64>>,
    floors: Option<HashMap<String, u64>>,
    objective: &str,
    planner: &str,
) -> PyResult<Plan> {
    let memory = memory.whole()?;
    let of = |map: &Option<HashMap<String, f64>>, name: &str| {
        map.as_ref().map_or(1.0, |map| map.get(name).copied().unwrap_or(1.0))
    };
    let mut pools = vec![];
    for (name, curve) in curves.iter() {
        let (name, curve): (String, PyRef<'_, Curve>) = (name.extract()?, curve.extract()?);
        let evictor = Pool::default().evictor;
        pools.push(Pool {
            reads_per_s: of(&reads, &name),
            penalty_us: 1e6 * of(&penalties, &name),
            floor: Bytes(floors.as_ref().and_then(|map| map.get(&name)).copied().unwrap_or(0)),
            candidates: vec![Candidate::new(evictor, curve.curve.clone())],
            name,
            ..Pool::default()
        });
    }
    if pools.is_empty() {
        return Err(wrong("no tenants: give at least one, with its curve"));
    }
    let goal = Objective::parse(objective).map_err(wrong)?;
    let each = Bytes(memory.0 / pools.len() as u64);
    pools.iter_mut().for_each(|pool| pool.budget = each);
    let snapshot = Snapshot {
        memory,
        units_max: UNITS,
        band: None,
        objective: goal,
        switch_margin: 0.0,
        pools,
        goals: vec![],
    };
    let spec = planner::find(planner).map_err(wrong)?;
    let plan = py.detach(|| (spec.plan)(&snapshot));
    let ratio = |share: &tune::Share| Some((share.name.clone(), share.miss_ratio?));
    Ok(Plan {
        bytes: plan.pools.iter().map(|share| (share.name.clone(), share.budget.0)).collect(),
        miss_ratios: plan.pools.iter().filter_map(ratio).collect(),
        // The planner counts waiting in microseconds.
        cost: if goal == Objective::Latency { plan.cost / 1e6 } else { plan.cost },
        notes: plan.notes,
    })
}
