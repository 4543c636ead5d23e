//! The effect of another memory limit: the waiting of all, and the misses of each tenant.

use super::lines::{COLUMNS, first, lately, name_width, off};
use crate::claim::{self, Claim, ClaimedFigure};
use crate::sizing::divide;
use crate::words::{percent, plus_or_minus, size as bytes, wait, wrap};
use crate::{Report, Tenant};

/// The text for one `maxmemory`: first the total, then a table of the tenants.
pub fn size(report: &Report, maxmemory: u64) -> Vec<String> {
    let server = &report.server;
    let claims = claim::of_maxmemory(report, maxmemory);
    let all = claims.iter().find(|claim| claim.what == ClaimedFigure::Waiting);
    let Some(all) = all.filter(|_| server.maxmemory > 0) else {
        if !report.is_steered() {
            return off("there are no forecasts");
        }
        let text = match server.maxmemory {
            0 => "There is no memory limit to compare with: CONFIG SET maxmemory.",
            _ => {
                "Too few reads were sampled since the last change: the answer needs some thousand."
            }
        };
        return wrap(text, COLUMNS, 0);
    };
    let (ms, now) = (all.change(), all.now.max(f64::MIN_POSITIVE));
    let (much, band) = (wait(1e3 * ms.abs()), wait(1e3 * all.band()));
    let verdict = match ms {
        _ if !all.is_sound() => {
            let most = wait(1e3 * (all.high - all.now).max(all.now - all.low).max(0.0));
            format!(
                "about as long as with {}: at most {most} more or less",
                bytes(server.maxmemory)
            )
        }
        less if less < 0.0 => {
            format!(
                "{much} less per second ({} of the total), give or take {band}",
                percent(-ms / now)
            )
        }
        _ => format!(
            "{much} more per second ({} of the total), give or take {band}",
            percent(ms / now)
        ),
    };
    let text = format!(
        "With {} clients would wait {} per second for misses: {verdict}.",
        bytes(maxmemory),
        wait(1e3 * all.value)
    );
    let mut lines = first(report, &text);
    let shares = divide(report, claim::divided(report, maxmemory)).shares;
    let width = name_width(report);
    lines.push(format!(
        "  {:<width$} {:>9} {:>9} {:>8} {:>13} {:>8} {:>8}",
        "tenant", "holds", "would", "misses", "would", "waits/s", "would"
    ));
    for (tenant, share) in report.tenants.iter().zip(&shares) {
        lines.push(row(tenant, *share, &claims, width));
    }
    let text = format!(
        "This is based on replays of the requests {}, with full memory. The bands hold in 19 of 20 \
         cases.",
        lately(report, &report.recent)
    );
    lines.extend(wrap(&text, COLUMNS, 0));
    lines
}

fn row(tenant: &Tenant, share: u64, claims: &[Claim], width: usize) -> String {
    let misses = ClaimedFigure::Misses { tenant: tenant.name.clone() };
    let Some(claim) = claims.iter().find(|claim| claim.what == misses) else {
        return format!("  {:<width$} {:>9}  too few samples", tenant.name, bytes(tenant.used));
    };
    let wait_ms = tenant.recent.wait_ms_per_s();
    let would_ms = if claim.now > 0.0 { wait_ms * claim.value / claim.now } else { wait_ms };
    let ratio = format!("{} {}", percent(claim.value), plus_or_minus(claim.band()));
    format!(
        "  {:<width$} {:>9} {:>9} {:>8} {ratio:>13} {:>8} {:>8}",
        tenant.name,
        bytes(tenant.used),
        bytes(share),
        percent(claim.now),
        wait(1e3 * wait_ms),
        wait(1e3 * would_ms)
    )
}
