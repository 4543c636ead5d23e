//! What an experiment found: cells, their means, and what follows from them.

use crate::report::Table;
use serde::{Serialize, Serializer};
use std::fmt;

/// The answer of an experiment, as it grows.
#[derive(Debug, Default)]
pub(super) struct Findings {
    cells: Vec<Cell>,
    claims: Vec<Claim>,
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

    /// The mean of a figure over all cells of a subject; of one workload where one is named.
    pub(super) fn mean(&self, name: &str, workload: Option<&str>, figure: &str) -> f64 {
        let values = self.cells.iter().filter(|cell| {
            cell.name == name && workload.is_none_or(|workload| cell.workload == workload)
        });
        let values: Vec<_> = values.filter_map(|cell| cell.figures.get(figure)).collect();
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

impl fmt::Display for Findings {
    /// A table of each workload, one of the means, and what follows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns: Vec<&str> = vec![];
        for (name, _) in self.cells.iter().flat_map(|cell| &cell.figures.0) {
            if !columns.contains(name) {
                columns.push(name);
            }
        }
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
        writeln!(f, "{table}\n")?;
        if self.claims.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(["", "ours", "the paper's"]);
        for claim in &self.claims {
            table.row([claim.what.clone(), claim.ours.clone(), claim.paper.clone()]);
        }
        writeln!(f, "{table}")
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
