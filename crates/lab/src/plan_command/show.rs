//! The answer as tables, for people.

use super::answer::{Answer, Outcome, Outcomes, Share};
use crate::report::Table;
use base::{Bytes, Micros};
use std::fmt;

fn ratio(ratio: f64) -> String {
    format!("{ratio:.4}")
}

fn share(share: &Share) -> [String; 4] {
    [
        Micros(share.penalty_us as u64).to_string(),
        Bytes(share.budget).to_string(),
        share.evictor.to_string(),
        share.forecast.map_or("-".to_owned(), ratio),
    ]
}

fn misses(outcomes: &Outcomes) -> [String; 3] {
    [outcomes.planned, outcomes.equal, outcomes.shared].map(|outcome| ratio(outcome.miss_ratio))
}

const SHARE: [&str; 4] = ["penalty", "planned", "policy", "forecast"];
const MISSES: [&str; 3] = ["simulated", "equal shares", "shared"];

fn uses(outcomes: &Outcomes) -> String {
    outcomes.shared.bytes.map_or("-".to_owned(), |bytes| Bytes(bytes).to_string())
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} for {} tenants, recipe {}, least {}; {} requests\n",
            Bytes(self.memory),
            self.tenants.len(),
            self.recipe,
            self.objective,
            self.requests
        )?;
        if !self.pools.is_empty() {
            let mut table =
                Table::new(["pool", "reads"].iter().chain(&SHARE).chain(&MISSES).copied());
            for pool in &self.pools {
                let head = [pool.name.clone(), pool.reads.to_string()];
                table.row(head.into_iter().chain(share(&pool.share)).chain(misses(&pool.outcomes)));
            }
            writeln!(f, "{table}\n")?;
        }
        let shares = if self.pools.is_empty() { &SHARE[..] } else { &[] };
        let head = ["tenant", "reads", "touches"];
        let mut table =
            Table::new(head.iter().chain(shares).chain(&MISSES).chain(&["uses"]).copied());
        for tenant in &self.tenants {
            let head = [
                tenant.name.clone(),
                tenant.reads.to_string(),
                Bytes(tenant.footprint).to_string(),
            ];
            let own = tenant.share.as_ref().filter(|_| !shares.is_empty()).map(share);
            let cells = head.into_iter().chain(own.into_iter().flatten());
            table.row(cells.chain(misses(&tenant.outcomes)).chain([uses(&tenant.outcomes)]));
        }
        writeln!(f, "{table}\n")?;
        let overall = &self.overall;
        let mut table = Table::new(["", "miss ratio", "mean wait for misses"]);
        let mut row = |name: &str, outcome: Outcome| {
            let wait = format!("{:.1} µs", outcome.mean_us);
            table.row([name.to_owned(), ratio(outcome.miss_ratio), wait]);
        };
        row("shared, no division", overall.outcomes.shared);
        row("equal shares", overall.outcomes.equal);
        row("planned", overall.outcomes.planned);
        writeln!(f, "{table}")?;
        writeln!(f, "the plan's own forecast: {:.1} µs", overall.forecast_mean_us)?;
        for note in &self.plan.notes {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }
}
