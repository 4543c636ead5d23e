//! Lines and phrases that several answers contain.

use crate::words::{span, wrap};
use crate::{Recent, Report};

/// Columns of a line.
pub(super) const COLUMNS: usize = 80;

/// Appends sentences beside the name of a tenant, or beside another heading.
pub(super) fn paragraph(lines: &mut Vec<String>, head: &str, width: usize, sentences: &[String]) {
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
pub(super) fn name_width(report: &Report) -> usize {
    let longest = report.tenants.iter().map(|tenant| tenant.name.chars().count()).max();
    longest.unwrap_or_default().clamp(5, 16)
}

/// The stretch of `recent` in words: "in the last 10 minutes".
pub(super) fn lately(recent: &Recent) -> String {
    match recent.seconds {
        0 => "since the start".to_owned(),
        seconds => format!("in the last {}", span(seconds)),
    }
}
