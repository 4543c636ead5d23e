//! Reports in sentences: the answer first, then its evidence, then the command to type.
//!
//! Each question has one file. Every line keeps to 80 columns.

mod advise;
mod curve;
mod history;
mod memory;
mod nodes;
mod policies;
mod size;
mod tenants;
#[cfg(test)]
mod tests;
mod why;

pub use advise::{advise, summary};
pub use curve::curve;
pub use history::{claimed, history, lately as pilot, measured};
pub use memory::memory;
pub use nodes::nodes;
pub use policies::policies;
pub use size::size;
pub use tenants::tenants;
pub use why::{why, word};

use crate::words::wrap;
use crate::{Recent, Report};

/// Columns of a line.
const COLUMNS: usize = 80;

/// Appends sentences beside the name of a tenant, or beside another heading.
fn paragraph(lines: &mut Vec<String>, head: &str, width: usize, sentences: &[String]) {
    let mut head = format!("  {head:<width$}  ");
    for sentence in sentences.iter().filter(|sentence| !sentence.is_empty()) {
        let indent = head.chars().count();
        let first = std::mem::replace(&mut head, " ".repeat(indent));
        let wrapped = wrap(sentence, COLUMNS.saturating_sub(indent).max(40), 0);
        for (at, line) in wrapped.into_iter().enumerate() {
            let margin = if at == 0 { first.clone() } else { " ".repeat(indent) };
            lines.push((margin + &line).trim_end().to_owned());
        }
    }
}

/// Columns for the names of the tenants, from 5 to 16. A longer name is not cut; it moves its line
/// to the right.
fn name_width(report: &Report) -> usize {
    let longest = report.tenants.iter().map(|tenant| tenant.name.chars().count()).max();
    longest.unwrap_or_default().clamp(5, 16)
}

/// The stretch of `recent` in words: "in the last 10 minutes".
fn lately(recent: &Recent) -> String {
    format!("in the last {}", crate::words::span(recent.seconds))
}
