//! A Larder: its report holds everything that the screen shows.

use super::look::{Look, Source, TenantRow, TextPage, Trend};
use crate::capture_command::redis::Control;
use crate::report::json;
use ::report::finding::{self, Finding};
use ::report::sizing::Sizing;
use ::report::words::clock;
use ::report::{Point, Report, say};
use anyhow::Context;
use base::Cause;
use serde::Deserialize;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Maximum number of events, and of findings, on the screen.
const EVENTS: usize = 20;
const FINDINGS: usize = 3;

/// The stretch of the past that is read, and the time between two readings of it.
const BACK: &str = "5m";
const EVERY: Duration = Duration::from_secs(2);

pub(super) struct Larder {
    server: Control,
    /// The past of each tenant, and when it was read.
    past: HashMap<String, Trend>,
    read: Option<Instant>,
}

/// The part of LARDER HISTORY that the screen shows.
#[derive(Debug, Deserialize)]
struct Series {
    tenants: HashMap<String, Vec<Point>>,
}

impl Larder {
    pub(super) fn new(server: Control) -> Self {
        Self { server, past: HashMap::new(), read: None }
    }

    /// Reads the past of each tenant, unless it was read just now. A user without the right to it
    /// has no past.
    fn read_past(&mut self) {
        if self.read.is_some_and(|read| read.elapsed() < EVERY) {
            return;
        }
        self.read = Some(Instant::now());
        let text = self.server.text(&["LARDER", "HISTORY", BACK, "JSON"]);
        let series = text.ok().and_then(|text| json::told::<Series>(&text).ok());
        if let Some(series) = series {
            let all = series.tenants.into_iter();
            self.past = all.map(|(name, points)| (name, past(&points))).collect();
        }
    }
}

/// The misses and the waiting at each point.
fn past(points: &[Point]) -> Trend {
    let mut steps: Vec<u32> =
        points.windows(2).map(|pair| pair[1].unix_s.saturating_sub(pair[0].unix_s)).collect();
    steps.sort_unstable();
    let seconds = f64::from(steps.get(steps.len() / 2).copied().unwrap_or(1).max(1));
    // The last point may not be over yet.
    let points = &points[..points.len().saturating_sub(usize::from(seconds > 1.0))];
    Trend {
        misses: points.iter().map(|point| point.miss_ratio().unwrap_or_default()).collect(),
        waits: points.iter().map(|point| f64::from(point.wait_ms) / seconds).collect(),
        seconds,
    }
}

impl Source for Larder {
    fn look(&mut self) -> anyhow::Result<Look> {
        self.read_past();
        let text = self.server.text(&["LARDER", "REPORT", "JSON"])?;
        let report = json::told(&text);
        let report: Report = report
            .context("this Larder is of another version, whose report this version cannot read")?;
        let mut look = look(&report);
        for row in &mut look.rows {
            row.past = self.past.get(&row.name).cloned();
        }
        Ok(look)
    }
}

/// The look that shows a report.
pub(super) fn look(report: &Report) -> Look {
    let server = &report.server;
    let found = finding::all(report);
    let row = |tenant: &::report::Tenant| {
        let share =
            |cause: &Cause| Some((say::word(*cause).to_owned(), tenant.recent.missed_for(*cause)?));
        let own = found.iter().filter(|one| one.tenant.as_deref() == Some(&*tenant.name));
        TenantRow {
            name: tenant.name.clone(),
            used: Some(tenant.used),
            min: tenant.min,
            max: tenant.max,
            given: tenant.budget,
            items: Some(tenant.items),
            reads_per_s: Some(tenant.recent.reads_per_s()),
            miss_ratio: tenant.recent.miss_ratio(),
            wait_ms_per_s: Some(tenant.recent.wait_ms_per_s()),
            penalty_us: tenant.penalty_us,
            why: say::why(report, tenant).into_iter().chain(sized(report, tenant)).collect(),
            causes: Cause::ALL.iter().filter_map(share).collect(),
            advice: own.map(|one| advice(report, one)).collect(),
            hot_keys: tenant.hot_keys.iter().map(|hot| (hot.key.clone(), hot.share)).collect(),
            past: None,
        }
    };
    let from = report.changes.len().saturating_sub(EVENTS);
    let event = |change: &::report::Change| {
        let when = clock(change.unix_s, server.now_unix_s, server.utc_offset_s);
        let told = say::measured(change).map_or_else(String::new, |told| format!(". {told}"));
        format!("{when}  {}{told}", change.text)
    };
    let first = found.iter().take(FINDINGS).map(|one| format!("advice {}", advice(report, one)));
    let changes = report.changes[from..].iter().map(event);
    let text = |key, title, lines| TextPage { key, title, lines };
    Look {
        server: format!("larder {}, recipe {}", server.version, server.recipe),
        says: format!("{}\n{}", say::decision(report, &found).health, say::summary(report)),
        used: server.used,
        limit: server.divided,
        rows: report.tenants.iter().map(row).collect(),
        events: changes.chain(first).collect(),
        lacks: None,
        texts: vec![
            text('a', "advice", say::advise(report, None)),
            text('c', "changes", say::history(report, &report.moves, 0)),
            text('p', "policies", say::policies(report)),
        ],
    }
}

/// The memory for less misses: for a miss ratio that it can reach, as an example. Where there is no
/// forecast, the reason.
fn sized(report: &Report, tenant: &::report::Tenant) -> Vec<String> {
    let Some(sizing) = Sizing::with_band(tenant).filter(|_| !tenant.is_silent()) else {
        return say::memory(report, tenant, 0.0);
    };
    let (name, wanted) = (&tenant.name, sizing.suggested());
    let mut lines = vec![format!(
        "How much memory for which misses? An example; LARDER MEMORY {name} 10% asks for another:"
    )];
    lines.extend(say::memory(report, tenant, wanted));
    lines
}

/// A finding with what to do. A command stands on a line of its own.
fn advice(report: &Report, one: &Finding) -> String {
    let whose = one.tenant.as_ref().map_or_else(String::new, |name| format!("{name} "));
    let Some(command) = say::command_of(report, one) else {
        return format!("{whose}{} {}", one.says, one.todo);
    };
    let todo = if command == one.todo { String::new() } else { format!(" {}", one.todo) };
    format!("{whose}{}{todo}\ntype   {command}", one.says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_rates() {
        let point =
            |unix_s| Point { unix_s, reads: 10, misses: 5, wait_ms: 20.0, ..Point::default() };
        let seconds = past(&[point(1), point(2), point(3)]);
        assert_eq!((seconds.waits, seconds.seconds), (vec![20.0; 3], 1.0));
        let coarse = past(&[point(10), point(20), point(23)]);
        assert_eq!(
            (coarse.misses, coarse.waits, coarse.seconds),
            (vec![0.5; 2], vec![2.0; 2], 10.0)
        );
    }
}
