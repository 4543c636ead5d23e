//! Gives each pool the memory that an operator asked for, within its bounds. The others share the
//! rest in their present proportion. If the requests exceed the memory, all are cut in proportion.

use super::Spec;
use crate::{Plan, Snapshot};
use curve::Bytes;

/// The registry entry.
pub const SPEC: Spec = Spec { name: "manual", by_curves: false, plan };

fn plan(snapshot: &Snapshot) -> Plan {
    let asked: Vec<Option<f64>> = snapshot
        .pools
        .iter()
        .map(|pool| {
            let asked = pool.asked?.max(pool.floor);
            Some(pool.cap.map_or(asked, |cap| asked.min(cap)).as_f64())
        })
        .collect();
    let sum: f64 = asked.iter().flatten().sum();
    let scale = if sum > 0.0 { (snapshot.memory.as_f64() / sum).min(1.0) } else { 1.0 };
    let rest = (snapshot.memory.as_f64() - sum * scale).max(0.0);
    let others = || snapshot.pools.iter().filter(|pool| pool.asked.is_none());
    let had: f64 = others().map(|pool| pool.budget.as_f64()).sum();
    let share_of_rest = |budget: Bytes| {
        if had > 0.0 { budget.as_f64() / had } else { 1.0 / others().count() as f64 }
    };
    let division: Vec<_> = snapshot
        .pools
        .iter()
        .zip(&asked)
        .map(|(pool, asked)| {
            let budget = asked.map_or(rest * share_of_rest(pool.budget), |asked| asked * scale);
            (Bytes(budget as u64), pool.evictor)
        })
        .collect();
    let mut notes = vec![];
    if scale < 1.0 {
        notes.push(format!(
            "the manual plan asks for {}, more than the {} of memory",
            Bytes(sum as u64),
            snapshot.memory
        ));
    }
    Plan::of(SPEC.name, snapshot, &division, notes)
}
