//! What an experiment found: cells, their means, and what follows from them.

use crate::report::{Page, Table, sign};
use load::median;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;

/// The answer of an experiment, as it grows.
#[derive(Debug, Default)]
pub(super) struct Findings {
    cells: Vec<Cell>,
    claims: Vec<Claim>,
    /// Cells are rounds of the same, not seeds: their middle is the median.
    is_of_rounds: bool,
}

/// One subject on one workload with one seed.
#[derive(Clone, Debug, Serialize)]
struct Cell {
    /// The subject, named as in the paper.
    name: String,
    workload: String,
    seed: u64,
    #[serde(flatten)]
    figures: Figures,
}

/// A subject over all workloads and seeds.
#[derive(Clone, Debug, Serialize)]
struct Row {
    name: String,
    #[serde(flatten)]
    figures: Figures,
}

/// Names and numbers, in the order they are shown.
#[derive(Clone, Debug, Default)]
struct Figures(Vec<(&'static str, f64)>);

/// What follows, and what the paper found.
#[derive(Clone, Debug, Serialize)]
struct Claim {
    what: String,
    ours: String,
    paper: String,
}

/// The document of an experiment.
#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    name: &'static str,
    seed: u64,
    rows: Vec<Row>,
    cells: &'a [Cell],
    findings: &'a [Claim],
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

impl Findings {
    /// For rounds that differ by what else the machine did: rows are then medians of cells.
    pub(super) fn of_rounds() -> Self {
        Self { is_of_rounds: true, ..Self::default() }
    }

    /// Adds what a subject did on a workload: usually `miss_ratio` and `mean_us` among the figures.
    pub(super) fn cell(
        &mut self,
        name: &str,
        workload: &str,
        seed: u64,
        figures: &[(&'static str, f64)],
    ) {
        self.cells.push(Cell {
            name: name.to_owned(),
            workload: workload.to_owned(),
            seed,
            figures: Figures(figures.to_vec()),
        });
    }

    /// Says what follows, and what the paper found.
    pub(super) fn claim(&mut self, what: &str, ours: impl Into<String>, paper: &str) {
        let (what, paper) = (what.to_owned(), paper.to_owned());
        self.claims.push(Claim { what, ours: ours.into(), paper });
    }

    /// A figure of a subject by that of another in the same round of a workload: median, lowest and
    /// highest of the rounds; nothing where one of them is not there.
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

    /// The mean of a figure over all cells of a subject, or the median where cells are rounds; of
    /// one workload where one is named.
    pub(super) fn mean(&self, name: &str, workload: Option<&str>, figure: &str) -> f64 {
        let values = self.cells.iter().filter(|cell| {
            cell.name == name && workload.is_none_or(|workload| cell.workload == workload)
        });
        let mut values: Vec<_> = values.filter_map(|cell| cell.figures.get(figure)).collect();
        // Over several workloads a median would be that of the one in the middle.
        if self.is_of_rounds && workload.is_some() {
            values.sort_by(f64::total_cmp);
            return median(&values);
        }
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// How much less of a figure a subject has than another, in per cent.
    pub(super) fn less(&self, name: &str, than: &str, figure: &str) -> f64 {
        100.0 * (1.0 - self.mean(name, None, figure) / self.mean(than, None, figure))
    }

    /// The workloads, in the order they came.
    pub(super) fn workloads(&self) -> Vec<String> {
        distinct(self.cells.iter().map(|cell| &cell.workload))
    }

    /// All there is, for JSON.
    pub(super) fn document(&self, name: &'static str, seed: u64) -> Document<'_> {
        Document { name, seed, rows: self.rows(None), cells: &self.cells, findings: &self.claims }
    }

    fn rows(&self, workload: Option<&str>) -> Vec<Row> {
        let of = |cell: &&Cell| workload.is_none_or(|workload| cell.workload == workload);
        let names = distinct(self.cells.iter().filter(of).map(|cell| &cell.name));
        let row = |name: String| {
            let mut figures: Vec<(&'static str, f64)> = vec![];
            let cells = self.cells.iter().filter(of).filter(|cell| cell.name == name);
            for &(figure, _) in cells.flat_map(|cell| &cell.figures.0) {
                if figures.iter().all(|&(known, _)| known != figure) {
                    figures.push((figure, self.mean(&name, workload, figure)));
                }
            }
            let figures = Figures(figures);
            Row { name, figures }
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

/// Shares with four digits, others with two.
fn number(value: f64) -> String {
    if value.abs() < 2.0 { format!("{value:.4}") } else { format!("{value:.2}") }
}

/// A number of at least three digits in as few as do.
fn short(value: f64) -> String {
    match value.abs() {
        size if size < 2.0 => format!("{value:.4}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// What stands above a column of a table of rounds.
fn heading(figure: &str) -> &str {
    match figure {
        "miss_ratio" => "misses",
        "requests_per_s" => "per s",
        "resident_mb" => "MB",
        _ => figure.strip_suffix("_us").unwrap_or(figure),
    }
}

impl Findings {
    fn columns(&self) -> Vec<&'static str> {
        let mut columns: Vec<&str> = vec![];
        for (name, _) in self.cells.iter().flat_map(|cell| &cell.figures.0) {
            if !columns.contains(name) {
                columns.push(name);
            }
        }
        columns
    }

    /// One table, whose last part is of the means over all workloads.
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

    /// All there is, as a page.
    pub(super) fn page(&self, name: &str, about: &str) -> Page {
        let mut page = Page::new(format!("{name}: {about}"));
        for (title, table) in self.tables() {
            page.heading(&title).table(&table);
        }
        if let Some(claims) = self.table_of_claims() {
            page.heading("What follows").table(&claims);
        }
        sign(&mut page);
        page
    }

    /// What was found, in tables with their titles.
    fn tables(&self) -> Vec<(String, Table)> {
        if self.is_of_rounds {
            self.tables_of_rounds()
        } else {
            vec![("Means of all seeds".to_owned(), self.table_of_means())]
        }
    }

    fn table_of_claims(&self) -> Option<Table> {
        let papers = if self.is_of_rounds { "wanted, or the paper's" } else { "the paper's" };
        let mut table = Table::new(["", "ours", papers]);
        for claim in &self.claims {
            table.row([claim.what.clone(), claim.ours.clone(), claim.paper.clone()]);
        }
        (!self.claims.is_empty()).then_some(table)
    }

    /// A table for each workload: what workloads have in common are ratios, which are claims.
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
    /// What was found, and what follows.
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

    /// A machine that is slow in one round slows every row of it: the ratio must not see that.
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
