//! Leaves the division as it is: the baseline of every experiment.

use super::Spec;
use crate::{Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "nothing", by_curves: false, plan };

fn plan(snapshot: &Snapshot) -> Plan {
    let division: Vec<_> = snapshot.pools.iter().map(|pool| (pool.budget, pool.evictor)).collect();
    Plan::of(SPEC.name, snapshot, &division, vec![])
}
