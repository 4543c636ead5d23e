//! What changed, when, and whether it helped.

use super::COLUMNS;
use crate::words::{clock, percent, size, wrap};
use crate::{Change, Report, Shift};

/// The changes since a moment, the newest last.
pub fn history(report: &Report, since_unix_s: u64) -> Vec<String> {
    let server = &report.server;
    let changes = report.changes.iter().map(|change| (change.unix_s, sentence(change)));
    let shifts = report.tenants.iter().filter_map(|tenant| {
        let shift = tenant.shift.as_ref()?;
        Some((shift.unix_s, shifted(&tenant.name, shift)))
    });
    let mut events: Vec<_> =
        changes.chain(shifts).filter(|(unix_s, _)| *unix_s >= since_unix_s).collect();
    events.sort_by_key(|(unix_s, _)| *unix_s);
    let time = |unix_s| clock(unix_s, server.now_unix_s, server.utc_offset_s);
    if events.is_empty() {
        return vec![format!("Nothing changed since {}.", time(since_unix_s))];
    }
    let mut lines = vec![format!("What changed until now, {}:", time(server.now_unix_s))];
    for (unix_s, text) in events {
        let when = clock(unix_s, server.now_unix_s, server.utc_offset_s);
        lines.extend(wrap(&format!("{when}  {text}."), COLUMNS, when.len() + 2));
    }
    lines
}

/// A tenant that misses more, or less, from a moment on.
fn shifted(name: &str, shift: &Shift) -> String {
    let mut text = format!(
        "{name} misses {} since then, {} before",
        percent(shift.since),
        percent(shift.before)
    );
    let (had, has) = (shift.used_before, shift.used_since);
    if had.abs_diff(has) > had.max(has) / 10 {
        text = format!("{text}, with {} where it had {}", size(has), size(had));
    }
    match &shift.winner {
        Some(winner) if has < had => format!("{text}: {winner} took most of it"),
        _ => text,
    }
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
