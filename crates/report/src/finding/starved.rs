//! A tenant misses more than before, and other tenants got its memory.

use super::evidence::{busy, waiting_of};
use super::{Finding, Remedy, Severity};
use crate::claim::{self, Claim, ClaimedFigure};
use crate::sizing::{Need, Sizing};
use crate::words::{clock, percent, size, wait};
use crate::{MemoryGift, Report, Shift, Tenant};

/// The least loss of memory that counts, as a share of the memory before.
const GONE_MIN: f64 = 0.1;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in busy(report) {
        let Some(shift) = &tenant.shift else { continue };
        let Some(winner) = shift.winner.as_ref().and_then(|name| report.tenant(name)) else {
            // The server itself needs the memory, or its limit was lowered: no tenant took it.
            continue;
        };
        let lost = shift.used_before.saturating_sub(shift.used_since);
        if shift.because.is_some() {
            continue;
        }
        let is_less = lost as f64 > GONE_MIN * shift.used_before as f64;
        if shift.since > shift.before && is_less {
            found.push(finding(report, tenant, shift, winner, lost));
        }
    }
}

fn finding(report: &Report, tenant: &Tenant, shift: &Shift, winner: &Tenant, lost: u64) -> Finding {
    let (name, server) = (&tenant.name, &report.server);
    let when = clock(shift.unix_s, server.now_unix_s, server.utc_offset_s);
    let cost_of = |tenant: &Tenant| tenant.penalty_us.filter(|us| *us > 0.0);
    let evidence = match (cost_of(winner), cost_of(tenant)) {
        (Some(theirs), Some(own)) => format!(
            "{} got that memory {} its misses cost {} each, and misses of {name} {}.",
            winner.name,
            if theirs > own { "because" } else { "although" },
            wait(theirs),
            wait(own)
        ),
        (_, None) => format!("The cost of a miss of {name} is not known."),
        (None, _) => format!("The cost of a miss of {} is not known.", winner.name),
    };
    let (todo, sets, claims) = floor(report, tenant, shift.before).unwrap_or_else(|| {
        let none = format!("There are too few samples of {name} to tell how much memory it needs.");
        (none, vec![], vec![])
    });
    Finding {
        severity: Severity::Warning,
        tenant: Some(name.clone()),
        says: format!(
            "has missed {} since {when}, {} before; {} of its memory went to {}.",
            percent(shift.since),
            percent(shift.before),
            gone(report, tenant, winner).unwrap_or_else(|| size(lost)),
            winner.name
        ),
        evidence,
        todo,
        sets,
        worth_ms: waiting_of(tenant, shift.since - shift.before),
        claims,
        ..Finding::default()
    }
}

/// The memory that one tenant gave to another, as the history tells it.
fn gone(report: &Report, from: &Tenant, to: &Tenant) -> Option<String> {
    let (moves, server) = (&report.moves, &report.server);
    let gifts = moves.gifts();
    let is_it = |gift: &&MemoryGift<'_>| gift.from == Some(&from.name) && gift.to == Some(&to.name);
    let when = clock(moves.from_unix_s, server.now_unix_s, server.utc_offset_s);
    gifts.iter().find(is_it).map(|gift| format!("since {when} {}", size(gift.bytes)))
}

/// The floor that restores the old miss ratio, and the waiting that it costs the other tenants.
fn floor(report: &Report, tenant: &Tenant, wanted: f64) -> Option<(String, Remedy, Vec<Claim>)> {
    let Need::Memory { bytes, .. } = Sizing::of(tenant)?.need(wanted) else { return None };
    if bytes >= report.server.divided || bytes <= tenant.used {
        return None;
    }
    let bytes = bytes.div_ceil(1 << 20) << 20;
    let claims = claim::floor(report, tenant, bytes);
    let floor = format!("{}mb", bytes >> 20);
    let back = format!(
        "`min {floor}` in its tenant line brings its miss ratio back to {}",
        percent(wanted)
    );
    let costs = others(&claims)?;
    let text = match costs.change() {
        _ if !costs.is_sound() => format!(
            "{back}; the other tenants would wait at most {} per second longer.",
            wait(1e3 * (costs.high - costs.now).max(0.0))
        ),
        ms => format!(
            "{back}; the other tenants would wait {} per second longer, give or take {}.",
            wait(1e3 * ms),
            wait(1e3 * costs.band())
        ),
    };
    Some((text, vec![("min".to_owned(), floor)], claims))
}

/// The claim about the waiting of the other tenants.
fn others(claims: &[Claim]) -> Option<&Claim> {
    claims.iter().find(|claim| matches!(claim.what, ClaimedFigure::Others { .. }))
}
