//! Lines and phrases that several answers contain.

use crate::words::{clock, span, wrap};
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

/// The stretch of `recent` in words: "in the last 10 minutes", or "in the 10 minutes until 12:03".
pub(super) fn lately(report: &Report, recent: &Recent) -> String {
    match recent.seconds {
        0 => "since the start".to_owned(),
        seconds if report.server.quiet_s > 0 => {
            format!("in the {} until {}", span(seconds), last_read(report))
        }
        seconds => format!("in the last {}", span(seconds)),
    }
}

/// The time of the last read of a quiet cache.
fn last_read(report: &Report) -> String {
    let server = &report.server;
    let unix_s = server.now_unix_s.saturating_sub(server.quiet_s);
    clock(unix_s, server.now_unix_s, server.utc_offset_s)
}

/// A sentence about a cache from which nobody reads; `None` for another.
pub fn quiet(report: &Report) -> Option<String> {
    let server = &report.server;
    (server.quiet_s > 0 && report.recent.seconds > 0).then(|| {
        format!(
            "No reads for {}: the figures below are of the last {} with reads, until {}.",
            span(server.quiet_s),
            span(report.recent.seconds),
            last_read(report)
        )
    })
}

/// A command on a line of its own, which stays whole, to be copied.
pub(super) fn typed(command: &str) -> String {
    format!("    {command}")
}

/// An answer that self-tuning alone could give, and the command that turns it on.
pub(super) fn off(lacks: &str) -> Vec<String> {
    let mut lines = wrap(&format!("Self-tuning is off, so {lacks}. To turn it on:"), COLUMNS, 0);
    lines.push(typed("CONFIG SET maxmemory-policy auto recipe auto"));
    lines
}

/// Sentences as lines, after the one about a quiet cache.
pub(super) fn first(report: &Report, sentence: &str) -> Vec<String> {
    let all = quiet(report).into_iter().chain([sentence.to_owned()]);
    all.flat_map(|sentence| wrap(&sentence, COLUMNS, 0)).collect()
}
