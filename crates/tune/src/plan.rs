//! A plan: a budget and a policy per pool, with the forecast that justifies them.
//!
//! A plan is data. It can be printed, sent as JSON, compared with the outcome, and refused.

use crate::{Evictor, Objective, Snapshot};
use curve::Bytes;
use serde::Serialize;
use std::fmt;

/// A division of the memory with its forecast.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Name of the planner.
    pub planner: &'static str,
    /// The quantity that it minimises.
    pub objective: Objective,
    /// Expected cost without a change.
    pub cost_now: f64,
    /// Expected cost under the plan.
    pub cost: f64,
    /// The share of each pool, in the order of the snapshot.
    pub pools: Vec<Share>,
    /// Notes for a reader: floors that could not be met, pools left alone.
    pub notes: Vec<String>,
}

/// The budget and policy of one pool in a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The pool's name.
    pub name: String,
    /// Its memory under the plan.
    #[serde(serialize_with = "crate::bytes")]
    pub budget: Bytes,
    /// Its policy under the plan.
    pub evictor: Evictor,
    /// Its present memory.
    #[serde(serialize_with = "crate::bytes")]
    pub budget_now: Bytes,
    /// Its present policy.
    pub evictor_now: Evictor,
    /// Reads a second in the forecast.
    pub reads_per_s: f64,
    /// Cost of a miss in the forecast, in microseconds.
    pub penalty_us: f64,
    /// Expected miss ratio under the plan; `None` for a pool without curves.
    pub miss_ratio: Option<f64>,
    /// Expected miss ratio without a change.
    pub miss_ratio_now: Option<f64>,
}

impl Plan {
    /// The plan that gives the pools of `snapshot` this `division`, in order.
    pub fn of(
        planner: &'static str,
        snapshot: &Snapshot,
        division: &[(Bytes, Evictor)],
        notes: Vec<String>,
    ) -> Self {
        let shares = snapshot.pools.iter().zip(division).map(|(pool, &(budget, evictor))| Share {
            name: pool.name.clone(),
            budget,
            evictor,
            budget_now: pool.budget,
            evictor_now: pool.evictor,
            reads_per_s: pool.reads_per_s,
            penalty_us: pool.penalty_us,
            miss_ratio: pool.miss_ratio(budget, evictor).map(|ratio| ratio.0),
            miss_ratio_now: pool.miss_ratio(pool.budget, pool.evictor).map(|ratio| ratio.0),
        });
        Self {
            planner,
            objective: snapshot.objective,
            cost_now: snapshot.total_now(),
            cost: snapshot.total(division.iter().copied()),
            pools: shares.collect(),
            notes,
        }
    }

    /// The share of the present cost that the plan saves; negative if the cost rises.
    pub fn gain(&self) -> f64 {
        if self.cost_now > 0.0 { 1.0 - self.cost / self.cost_now } else { 0.0 }
    }

    /// Budgets and policies, in the order of the pools.
    pub fn division(&self) -> Vec<(Bytes, Evictor)> {
        self.pools.iter().map(|share| (share.budget, share.evictor)).collect()
    }

    /// Mean wait for misses per read under the plan, in microseconds, over all pools with curves.
    pub fn mean_penalty_us(&self) -> f64 {
        mean_penalty_us(self.pools.iter().map(|s| (s.reads_per_s, s.penalty_us, s.miss_ratio)))
    }

    /// Mean wait for misses per read without a change, in microseconds, over all pools with curves.
    pub fn mean_penalty_now_us(&self) -> f64 {
        mean_penalty_us(self.pools.iter().map(|s| (s.reads_per_s, s.penalty_us, s.miss_ratio_now)))
    }
}

/// Mean wait per read over pools of (reads a second, penalty, miss ratio), weighted by reads.
fn mean_penalty_us(pools: impl Iterator<Item = (f64, f64, Option<f64>)>) -> f64 {
    let (mut waited, mut reads) = (0.0, 0.0);
    for (rate, penalty, ratio) in pools {
        if let Some(ratio) = ratio {
            waited += rate * penalty * ratio;
            reads += rate;
        }
    }
    if reads > 0.0 { waited / reads } else { 0.0 }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} for {}: {:.0} -> {:.0} {}, {:.1} % less",
            self.planner,
            self.objective,
            self.cost_now,
            self.cost,
            self.objective.unit(),
            100.0 * self.gain()
        )?;
        writeln!(
            f,
            "{:<16} {:>23} {:>31} {:>17} {:>10} {:>10}",
            "pool", "memory", "policy", "miss ratio", "reads/s", "penalty"
        )?;
        let ratio =
            |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.4}"));
        for share in &self.pools {
            writeln!(
                f,
                "{:<16} {:>10} -> {:>9} {:>14} -> {:>13} {:>7} -> {:>6} {:>10.0} {:>7.0} µs",
                share.name,
                share.budget_now,
                share.budget,
                share.evictor_now,
                share.evictor,
                ratio(share.miss_ratio_now),
                ratio(share.miss_ratio),
                share.reads_per_s,
                share.penalty_us
            )?;
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Candidate, Pool};
    use curve::{MissRatio, MissRatioCurve};

    fn snapshot(waits_ms: [f64; 2]) -> Snapshot {
        let evictor = Evictor::klru(5);
        let pools = waits_ms.map(|wait| Pool {
            name: format!("waits {wait}"),
            candidates: vec![Candidate::new(
                evictor,
                MissRatioCurve::new([(Bytes(10), MissRatio(0.5))]),
            )],
            reads_per_s: 100.0,
            penalty_us: 2.0 * wait,
            weight: 1.0,
            floor: Bytes(0),
            cap: None,
            budget: Bytes(10),
            evictor,
            dearness: 1.0,
            asked: None,
            slab: None,
        });
        Snapshot {
            memory: Bytes(20),
            units_max: 20,
            band: None,
            objective: Objective::Latency,
            switch_margin: 0.0,
            pools: pools.into(),
            goals: vec![],
        }
    }

    /// kRedis prints 7040 and 2844 as average latencies. They are sums over two tenants of their
    /// means, (20 + 1000) + (20 + 6000) and (8 + 1600) + (36 + 1200). At equal rates the mean over
    /// requests is half of that, as it is here.
    #[test]
    fn the_mean_is_over_requests_not_a_sum_over_tenants() {
        for (waits, mean) in [([1020.0, 6020.0], 3520.0), ([1608.0, 1236.0], 1422.0)] {
            let snapshot = snapshot(waits);
            let division: Vec<_> =
                snapshot.pools.iter().map(|pool| (pool.budget, pool.evictor)).collect();
            let plan = Plan::of("nothing", &snapshot, &division, vec![]);
            assert!((plan.mean_penalty_us() - mean).abs() < 1e-9);
            assert_eq!(plan.gain(), 0.0);
        }
    }

    #[test]
    fn a_plan_can_be_read() {
        let snapshot = snapshot([1.0, 2.0]);
        let division = [(Bytes(4), Evictor::klru(5)), (Bytes(16), Evictor::klru(5))];
        let plan = Plan::of("manual", &snapshot, &division, vec!["said so".to_owned()]);
        let json = serde_json::to_value(&plan).unwrap();
        assert_eq!(json["pools"][1]["budget"], 16);
        assert_eq!(json["pools"][0]["evictor"], "klru:k=5");
        assert_eq!(json["objective"], "latency");
        let text = plan.to_string();
        assert!(text.contains("waits 2") && text.contains("16 B") && text.contains("said so"));
    }
}
