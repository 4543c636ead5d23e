//! The answer as tables, for people.

use super::answer::{PlanOutput, ReplayOutput, ReplayOutputs, Share};
use crate::report::{Axis, Chart, Format, Mark, Page, Series, Table, sign};
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

fn misses(outcomes: &ReplayOutputs) -> [String; 3] {
    [outcomes.planned, outcomes.equal, outcomes.shared].map(|outcome| ratio(outcome.miss_ratio))
}

const SHARE: [&str; 4] = ["penalty", "planned", "policy", "forecast"];
const MISSES: [&str; 3] = ["simulated", "equal shares", "shared"];

fn uses(outcomes: &ReplayOutputs) -> String {
    outcomes.shared.bytes.map_or("-".to_owned(), |bytes| Bytes(bytes).to_string())
}

impl PlanOutput {
    fn head(&self) -> String {
        format!(
            "{} for {} tenants, recipe {}, least {}; {} requests",
            Bytes(self.memory),
            self.tenants.len(),
            self.recipe,
            self.objective,
            self.requests
        )
    }

    /// Tables of the pools where they are not the tenants, of the tenants, and of all together.
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![];
        if !self.pools.is_empty() {
            let mut table =
                Table::new(["pool", "reads"].iter().chain(&SHARE).chain(&MISSES).copied());
            for pool in &self.pools {
                let head = [pool.name.clone(), pool.reads.to_string()];
                table.row(head.into_iter().chain(share(&pool.share)).chain(misses(&pool.outcomes)));
            }
            tables.push(table);
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
        tables.push(table);
        let overall = &self.overall;
        let mut table = Table::new(["", "miss ratio", "mean wait for misses"]);
        let mut row = |name: &str, outcome: ReplayOutput| {
            let wait = format!("{:.1} µs", outcome.mean_us);
            table.row([name.to_owned(), ratio(outcome.miss_ratio), wait]);
        };
        row("shared, no division", overall.outcomes.shared);
        row("equal shares", overall.outcomes.equal);
        row("planned", overall.outcomes.planned);
        tables.push(table);
        tables
    }

    /// Lines below the tables.
    fn notes(&self) -> Vec<String> {
        let forecast = self.overall.forecast_mean_us;
        let mut notes = vec![format!("the plan's own forecast: {forecast:.1} µs")];
        notes.extend(self.plan.notes.iter().map(ToString::to_string));
        notes
    }

    /// A page: the curve of each pool with its planned size, and the tables.
    pub(super) fn page(&self) -> Page {
        let mut page = Page::new("A division of memory");
        sign(&mut page);
        page.paragraph(&self.head()).chart(&Chart {
            title: "Miss ratio of each pool, up to all the memory".into(),
            x: Axis::new("memory", Format::Bytes),
            y: Axis::new("reads that miss", Format::Percent),
            series: self
                .curves
                .iter()
                .map(|(name, points)| Series::new(name, points.clone()))
                .collect(),
            marks: self
                .plan
                .pools
                .iter()
                .map(|pool| Mark {
                    x: pool.budget.as_f64(),
                    sign: pool.name.chars().take(1).collect(),
                    text: format!("{}: {}", pool.name, pool.budget),
                    href: None,
                })
                .collect(),
            ..Chart::default()
        });
        for table in self.tables() {
            page.table(&table);
        }
        for note in self.notes() {
            page.paragraph(&note);
        }
        page
    }
}

impl fmt::Display for PlanOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.head())?;
        let tables: Vec<_> = self.tables().iter().map(ToString::to_string).collect();
        writeln!(f, "{}", tables.join("\n\n"))?;
        self.notes().iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}
