//! What changed, when, and whether it helped.

use super::COLUMNS;
use crate::words::{clock, percent, size, wrap};
use crate::{Change, Report};

/// The changes since a moment, the newest last.
pub fn history(report: &Report, since_unix_s: u64) -> Vec<String> {
    let server = &report.server;
    let changes: Vec<_> =
        report.changes.iter().filter(|change| change.unix_s >= since_unix_s).collect();
    let time = |unix_s| clock(unix_s, server.now_unix_s, server.utc_offset_s);
    if changes.is_empty() {
        return vec![format!("No setting and no plan changed since {}.", time(since_unix_s))];
    }
    let mut lines = vec![format!(
        "Settings and plans from {} to now, {}:",
        time(since_unix_s),
        time(server.now_unix_s)
    )];
    for change in changes {
        let when = clock(change.unix_s, server.now_unix_s, server.utc_offset_s);
        let text = format!("{when}  {}.", sentence(change));
        lines.extend(wrap(&text, COLUMNS, when.len() + 2));
    }
    lines
}

fn sentence(change: &Change) -> String {
    let moved = change
        .moved
        .iter()
        .map(|moved| format!("{} {} to {}", moved.tenant, size(moved.before), size(moved.after)));
    let moved: Vec<_> = moved.collect();
    let mut text = change.text.clone();
    if !moved.is_empty() {
        text = format!("{text}: {}", moved.join(", "));
    }
    if let Some(promised) = change.promised.filter(|promised| *promised > 0.0) {
        text = format!("{text}; promised {} less waiting", percent(promised));
    }
    if let (Some(expected), Some(came)) = (change.expected, change.came) {
        text =
            format!("{text}; expected {} of the worst, came {}", percent(expected), percent(came));
    }
    text
}
