//! A tenant misses more than before, and its memory went to others.

use super::{Finding, Report, Severity, waiting_of};
use crate::sizing::{Need, Sizing, divide};
use crate::words::{clock, percent, size, wait};
use crate::{Shift, Tenant};

/// Memory that must be gone, as a share of what there was.
const GONE_MIN: f64 = 0.1;

/// What a floor costs the others is worth a warning from this share of all waiting on.
const COST_MIN: f64 = 0.01;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in super::busy(report) {
        let Some(shift) = &tenant.shift else { continue };
        let lost = shift.used_before.saturating_sub(shift.used_since);
        let is_less = lost as f64 > GONE_MIN * shift.used_before as f64;
        if shift.since > shift.before && is_less {
            found.push(finding(report, tenant, shift, lost));
        }
    }
}

fn finding(report: &Report, tenant: &Tenant, shift: &Shift, lost: u64) -> Finding {
    let (name, server) = (&tenant.name, &report.server);
    let when = clock(shift.unix_s, server.now_unix_s, server.utc_offset_s);
    let winner = shift.winner.as_ref().and_then(|name| report.tenant(name));
    let whom = winner.map_or_else(String::new, |winner| format!(" went to {}", winner.name));
    let gone = if whom.is_empty() { " were lost" } else { "" };
    let costs = |tenant: &Tenant| tenant.penalty_us.filter(|us| *us > 0.0);
    let evidence = match (winner, winner.and_then(costs), costs(tenant)) {
        (Some(winner), Some(theirs), Some(own)) => format!(
            "{}a miss of {} costs {}, one of {name} {}.",
            if theirs > own { "It did because " } else { "It did although " },
            winner.name,
            wait(theirs),
            wait(own)
        ),
        _ => format!("What misses of {name} cost is not known."),
    };
    let todo = remedy(report, tenant, shift.before)
        .unwrap_or_else(|| format!("Too little is known of {name} to say how much it needs."));
    Finding {
        severity: Severity::Warning,
        tenant: Some(name.clone()),
        says: format!(
            "misses {}. It had {} until {when}, when {}{whom}{gone}.",
            percent(shift.since),
            percent(shift.before),
            size(lost)
        ),
        evidence,
        todo,
        worth_ms: waiting_of(tenant, shift.since - shift.before),
        ..Finding::default()
    }
}

/// The floor that brings the old miss ratio back, and what that costs the others.
fn remedy(report: &Report, tenant: &Tenant, wanted: f64) -> Option<String> {
    let Need::Memory { bytes, .. } = Sizing::of(tenant)?.need(wanted) else { return None };
    let memory = report.server.divided;
    if bytes >= memory {
        return None;
    }
    let at = report.tenants.iter().position(|one| one.name == tenant.name)?;
    let mut with_floor = report.clone();
    with_floor.tenants[at].min = bytes;
    let cost = divide(&with_floor, memory).wait_ms - divide(report, memory).wait_ms;
    let is_dear = cost > COST_MIN * report.recent.wait_ms_per_s();
    let floor = bytes.div_ceil(1 << 20);
    let back = format!("`min {floor}mb` in its tenant line brings it back to {}", percent(wanted));
    Some(if is_dear {
        format!(
            "{back}, but then all tenants together wait {} more in every second: rather raise \
             maxmemory.",
            wait(1e3 * cost)
        )
    } else {
        format!("{back}, at next to no cost to the others.")
    })
}
