//! A Larder: its report holds everything that the screen shows.

use super::look::{Look, Source, TenantRow};
use crate::capture_command::redis::Control;
use crate::report::json;
use ::report::words::clock;
use ::report::{Report, say};
use anyhow::Context;

/// Maximum number of events on the screen.
const EVENTS: usize = 20;

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
    let row = |tenant: &::report::Tenant| TenantRow {
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
    };
    let from = report.changes.len().saturating_sub(EVENTS);
    let event = |change: &::report::Change| {
        let when = clock(change.unix_s, server.now_unix_s, server.utc_offset_s);
        format!("{when}  {}", change.text)
    };
    let found = ::report::finding::all(report);
    let advice = found.into_iter().take(3).map(|one| {
        let whose = one.tenant.map_or_else(String::new, |name| format!("{name} "));
        format!("advice {whose}{}", one.says)
    });
    let changes = report.changes[from..].iter().map(event);
    Look {
        server: format!("larder {}, recipe {}", server.version, server.recipe),
        says: say::summary(report),
        used: server.used,
        limit: server.divided,
        rows: report.tenants.iter().map(row).collect(),
        events: changes.chain(advice).collect(),
        lacks: None,
    }
}
