//! A Larder: its report holds everything that the screen shows.

use super::look::{Look, Source, TenantRow, TextPage};
use crate::capture_command::redis::Control;
use crate::report::json;
use ::report::finding::{self, Finding};
use ::report::words::clock;
use ::report::{Report, say};
use anyhow::Context;
use base::Cause;

/// Maximum number of events, and of findings, on the screen.
const EVENTS: usize = 20;
const FINDINGS: usize = 3;

pub(super) struct Larder(pub(super) Control);

impl Source for Larder {
    fn look(&mut self) -> anyhow::Result<Look> {
        let text = self.0.text(&["LARDER", "REPORT", "JSON"])?;
        let report = json::told(&text);
        let report: Report = report
            .context("this Larder is of another version, whose report this version cannot read")?;
        Ok(look(&report))
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
            why: say::why(report, tenant),
            causes: Cause::ALL.iter().filter_map(share).collect(),
            advice: own.map(|one| advice(report, one)).collect(),
            hot_keys: tenant.hot_keys.iter().map(|hot| (hot.key.clone(), hot.share)).collect(),
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
        says: say::summary(report),
        used: server.used,
        limit: server.divided,
        rows: report.tenants.iter().map(row).collect(),
        events: changes.chain(first).collect(),
        lacks: None,
        texts: vec![
            text('a', "advice", say::advise(report, None)),
            text('c', "changes", say::history(report, 0)),
            text('p', "policies", say::policies(report)),
        ],
    }
}

/// A finding with what to do, in a line.
fn advice(report: &Report, one: &Finding) -> String {
    let whose = one.tenant.as_ref().map_or_else(String::new, |name| format!("{name} "));
    let command = finding::remedy(report, one).map(|remedy| finding::command(&remedy));
    let typed = command.filter(|command| *command != one.todo);
    let typed = typed.map_or_else(String::new, |command| format!(" Type: {command}"));
    format!("{whose}{} {}{typed}", one.says, one.todo)
}
