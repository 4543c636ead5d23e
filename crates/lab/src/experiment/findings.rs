//! Results of an experiment: cells, their means, and the claims that follow from them.

use crate::report::{Page, Table, sign};
use load::median;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// The results of an experiment, as they grow.
#[derive(Debug, Default)]
pub(super) struct Findings {
    cells: Vec<Cell>,
    claims: Vec<Claim>,
    /// Whether cells are rounds of the same run instead of seeds; their middle is then the median.
    is_of_rounds: bool,
}

/// Figures of one subject on one workload with one seed.
#[derive(Clone, Debug, Serialize)]
struct Cell {
    /// The subject, named as in the paper.
    name: String,
    workload: String,
    seed: u64,
    #[serde(flatten)]
    figures: Figures,
}

/// Figures of a subject over all its cells, or over those of one workload.
#[derive(Clone, Debug, Serialize)]
struct FindingRow {
    name: String,
    #[serde(flatten)]
    figures: Figures,
}

/// Names and numbers, in the order they are shown.
#[derive(Clone, Debug, Default)]
struct Figures(Vec<(Cow<'static, str>, f64)>);

/// A claim that follows from the cells, beside the paper's figure.
#[derive(Clone, Debug, Serialize)]
struct Claim {
    what: String,
    ours: String,
    paper: String,
}

/// The JSON document of an experiment.
#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    name: &'static str,
    seed: u64,
    rows: Vec<FindingRow>,
    cells: &'a [Cell],
    findings: &'a [Claim],
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Findings {
    /// Results in rounds that differ by the other work of the machine. Rows are then medians of
    /// cells.
    pub(super) fn of_rounds() -> Self {
        Self { is_of_rounds: true, ..Self::default() }
    }

    /// Adds the figures of a subject on a workload, usually with `miss_ratio` and `mean_us` among
    /// them.
    pub(super) fn cell<N: Clone + Into<Cow<'static, str>>>(
        &mut self,
        name: &str,
        workload: &str,
        seed: u64,
        figures: &[(N, f64)],
    ) {
        self.cells.push(Cell {
            name: name.to_owned(),
            workload: workload.to_owned(),
            seed,
            figures: Figures(
                figures.iter().map(|(name, value)| (name.clone().into(), *value)).collect(),
            ),
        });
    }

    /// Adds a claim, beside the paper's figure.
    pub(super) fn claim(&mut self, what: &str, ours: impl Into<String>, paper: &str) {
        let (what, paper) = (what.to_owned(), paper.to_owned());
        self.claims.push(Claim { what, ours: ours.into(), paper });
    }

    /// Ratio of a subject's figure to that of another subject, in the same round of a workload:
    /// median, lowest and highest of the rounds. `None` where either has no such figure.
    pub(super) fn ratio(
        &self,
        name: &str,
        than: &str,
        workload: &str,
        figure: &str,
    ) -> Option<[f64; 3]> {
        let of = |name: &str, round: u64| {
            let mut cells = self.cells.iter();
            let cell = cells.find(|cell| {
                cell.name == name && cell.workload == workload && cell.seed == round
            })?;
            cell.figures.get(figure)
        };
        let rounds =
            self.cells.iter().filter(|cell| cell.name == name && cell.workload == workload);
        let ratio = |cell: &Cell| Some(of(name, cell.seed)? / of(than, cell.seed)?);
        let mut ratios: Vec<f64> = rounds.filter_map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        Some([median(&ratios), *ratios.first()?, *ratios.last()?])
    }

    /// The mean of a figure over all cells of a subject, or over those of one workload. For one
    /// workload whose cells are rounds, it is the median.
    pub(super) fn mean(&self, name: &str, workload: Option<&str>, figure: &str) -> f64 {
        let values = self.cells.iter().filter(|cell| {
            cell.name == name && workload.is_none_or(|workload| cell.workload == workload)
        });
        let mut values: Vec<_> = values.filter_map(|cell| cell.figures.get(figure)).collect();
        // A median over several workloads would only show the workload in the middle.
        if self.is_of_rounds && workload.is_some() {
            values.sort_by(f64::total_cmp);
            return median(&values);
        }
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// By how many per cent a subject's figure is below that of another subject.
    pub(super) fn less(&self, name: &str, than: &str, figure: &str) -> f64 {
        100.0 * (1.0 - self.mean(name, None, figure) / self.mean(than, None, figure))
    }

    /// The workloads, in the order of their first cells.
    pub(super) fn workloads(&self) -> Vec<String> {
        distinct(self.cells.iter().map(|cell| &cell.workload))
    }

    /// All results, for JSON.
    pub(super) fn document(&self, name: &'static str, seed: u64) -> Document<'_> {
        Document { name, seed, rows: self.rows(None), cells: &self.cells, findings: &self.claims }
    }

    fn rows(&self, workload: Option<&str>) -> Vec<FindingRow> {
        let of = |cell: &&Cell| workload.is_none_or(|workload| cell.workload == workload);
        let names = distinct(self.cells.iter().filter(of).map(|cell| &cell.name));
        let row = |name: String| {
            let mut figures: Vec<(Cow<'static, str>, f64)> = vec![];
            let cells = self.cells.iter().filter(of).filter(|cell| cell.name == name);
            for (figure, _) in cells.flat_map(|cell| &cell.figures.0) {
                if figures.iter().all(|(known, _)| known != figure) {
                    figures.push((figure.clone(), self.mean(&name, workload, figure)));
                }
            }
            let figures = Figures(figures);
            FindingRow { name, figures }
        };
        names.into_iter().map(row).collect()
    }
}

impl Figures {
    fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    for name in names {
        if !found.contains(name) {
            found.push(name.clone());
        }
    }
    found
}

/// A number with four decimals below 2, as for shares, and with two decimals otherwise.
fn number(value: f64) -> String {
    if value.abs() < 2.0 { format!("{value:.4}") } else { format!("{value:.2}") }
}

/// A number in few digits: the larger it is, the fewer decimals it has.
fn short(value: f64) -> String {
    match value.abs() {
        size if size < 2.0 => format!("{value:.4}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Heading of a figure's column in a table of rounds.
fn heading(figure: &str) -> &str {
    match figure {
        "miss_ratio" => "misses",
        "requests_per_s" => "per s",
        "resident_mb" => "MB",
        _ => figure.strip_suffix("_us").unwrap_or(figure),
    }
}

impl Findings {
    fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = vec![];
        for (name, _) in self.cells.iter().flat_map(|cell| &cell.figures.0) {
            if !columns.contains(&name.as_ref()) {
                columns.push(name);
            }
        }
        columns
    }

    /// One table; its last part holds the means over all workloads.
    fn table_of_means(&self) -> Table {
        let columns = self.columns();
        let workloads = self.workloads();
        let single = workloads.len() < 2;
        let mut table = Table::new(["workload", ""].into_iter().chain(columns.iter().copied()));
        let parts = workloads.iter().filter(|_| !single).map(|name| (name.as_str(), Some(&**name)));
        for (title, workload) in parts.chain([("all", None)]) {
            for row in self.rows(workload) {
                let value = |&column: &&str| row.figures.get(column).map_or(String::new(), number);
                let values: Vec<_> = columns.iter().map(value).collect();
                table.row([title.to_owned(), row.name.clone()].into_iter().chain(values));
            }
        }
        table
    }

    /// All results, as a page.
    pub(super) fn page(&self, name: &str, about: &str) -> Page {
        let mut page = Page::new(format!("{name}: {about}"));
        for (title, table) in self.tables() {
            page.heading(&title).table(&table);
        }
        if let Some(claims) = self.table_of_claims() {
            page.heading("Claims").table(&claims);
        }
        sign(&mut page);
        page
    }

    /// Tables of the cells, each with its title.
    fn tables(&self) -> Vec<(String, Table)> {
        if self.is_of_rounds {
            self.tables_of_rounds()
        } else {
            vec![("Means of all seeds".to_owned(), self.table_of_means())]
        }
    }

    fn table_of_claims(&self) -> Option<Table> {
        let papers = if self.is_of_rounds { "target, or the paper's" } else { "the paper's" };
        let mut table = Table::new(["", "ours", papers]);
        for claim in &self.claims {
            table.row([claim.what.clone(), claim.ours.clone(), claim.paper.clone()]);
        }
        (!self.claims.is_empty()).then_some(table)
    }

    /// A table for each workload. Workloads have only ratios in common, and ratios are claims.
    fn tables_of_rounds(&self) -> Vec<(String, Table)> {
        let columns = self.columns();
        let mut tables = vec![];
        for workload in self.workloads() {
            let rounds = self.cells.iter().filter(|cell| cell.workload == workload);
            let rounds: BTreeSet<_> = rounds.map(|cell| cell.seed).collect();
            let of = match rounds.len() {
                1 => "one round".to_owned(),
                rounds => format!("medians of {rounds} rounds"),
            };
            let headings = columns.iter().map(|column| heading(column));
            let mut table = Table::new(std::iter::once("").chain(headings));
            for row in self.rows(Some(&workload)) {
                let value = |&column: &&str| row.figures.get(column).map_or(String::new(), short);
                table.row(std::iter::once(row.name.clone()).chain(columns.iter().map(value)));
            }
            tables.push((format!("{workload}, {of}, times in µs"), table));
        }
        tables
    }
}

impl fmt::Display for Findings {
    /// Writes the tables of the cells, and then the claims.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, table) in self.tables() {
            if self.is_of_rounds {
                writeln!(f, "{title}")?;
            }
            writeln!(f, "{table}\n")?;
        }
        match self.table_of_claims() {
            Some(claims) => writeln!(f, "{claims}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Findings {
        let mut findings = Findings::default();
        for (name, workload, seed, wait) in [
            ("static", "a", 1, 100.0),
            ("kredis", "a", 1, 60.0),
            ("static", "b", 1, 300.0),
            ("kredis", "b", 1, 240.0),
        ] {
            findings.cell(name, workload, seed, &[("miss_ratio", 0.5), ("mean_us", wait)]);
        }
        findings
    }

    #[test]
    fn rows_are_means_of_cells() {
        let mut findings = findings();
        assert_eq!(findings.mean("kredis", None, "mean_us"), 150.0);
        assert_eq!(findings.mean("kredis", Some("a"), "mean_us"), 60.0);
        assert_eq!(findings.less("kredis", "static", "mean_us"), 25.0);
        findings.claim("less", "25 %", "17 %");
        let json = serde_json::to_value(findings.document("test", 7)).unwrap();
        assert_eq!((json["name"].as_str(), json["seed"].as_u64()), (Some("test"), Some(7)));
        assert_eq!(json["rows"][1]["name"], "kredis");
        assert_eq!(json["rows"][1]["mean_us"], 150.0);
        assert_eq!(json["cells"].as_array().unwrap().len(), 4);
        assert_eq!(json["cells"][3]["workload"], "b");
    }

    /// A machine that is slow in one round slows every row of that round. The ratio must not
    /// change.
    #[test]
    fn ratios_are_of_one_round() {
        let mut findings = Findings::of_rounds();
        for (round, slow) in [(1, 1.0), (2, 10.0), (3, 1.0)] {
            findings.cell("redis", "w", round, &[("mean_us", 100.0 * slow)]);
            findings.cell("auto", "w", round, &[("mean_us", 50.0 * slow)]);
        }
        assert_eq!(findings.ratio("auto", "redis", "w", "mean_us"), Some([0.5; 3]));
        assert_eq!(findings.mean("redis", Some("w"), "mean_us"), 100.0);
        assert_eq!(findings.ratio("auto", "valkey", "w", "mean_us"), None);
    }

    #[test]
    fn the_table_shows_parts_means_and_papers() {
        let mut findings = findings();
        findings.claim("less", "25 %", "17 %");
        let text = findings.to_string();
        for word in ["all", "240.00", "150.00", "the paper's", "17 %"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}
