//! The effect of another memory limit: the waiting of all, and the misses of each tenant.

use super::lines::{COLUMNS, first, lately, name_width, off};
use super::sampled::ask_again;
use crate::claim::{self, Claim, ClaimedFigure};
use crate::sizing::divide;
use crate::words::{percent, plus_or_minus, size as bytes, wait, wrap};
use crate::{Report, Tenant};

/// The text for one `maxmemory`: first the total, then a table of the tenants.
pub fn size(report: &Report, maxmemory: u64) -> Vec<String> {
    let server = &report.server;
    if maxmemory == server.maxmemory && maxmemory > 0 && report.recent.reads > 0 {
        return present(report);
    }
    let claims = claim::of_maxmemory(report, maxmemory);
    let all = claims.iter().find(|claim| claim.what == ClaimedFigure::Waiting);
    let Some(all) = all.filter(|_| server.maxmemory > 0) else {
        if !report.is_steered() {
            return off("there are no forecasts");
        }
        let text = if server.maxmemory == 0 {
            "There is no memory limit to compare with: CONFIG SET maxmemory.".to_owned()
        } else {
            let text = "Too few reads were sampled since the last change to tell.";
            format!("{text} {}", ask_again(report, None))
        };
        return wrap(&text, COLUMNS, 0);
    };
    let (settling, unsettled) = unsettled(report);
    let (ms, now) = (all.change(), (all.now + settling).max(f64::MIN_POSITIVE));
    let (much, band) = (wait(1e3 * ms.abs()), wait(1e3 * all.band()));
    let verdict = match ms {
        _ if ms.abs() + all.band() < 0.05 => {
            format!("as long as with {}", bytes(server.maxmemory))
        }
        _ if !all.is_sound() => {
            let word = if ms > 0.0 { "more" } else { "less" };
            format!(
                "{much} {word} than with {}, give or take {band}, so it is not known whether \
                 longer or shorter",
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
        "With {} clients would wait {} per second for misses: {verdict}.{unsettled}",
        bytes(maxmemory),
        wait(1e3 * (all.value + settling))
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
    let lately = lately(report, &report.recent);
    let text = format!(
        "misses, waits/s: measured {lately}. would: by replays of a sample of these requests, as \
         if the cache had had that much memory all the time; the bands hold in 19 of 20 cases."
    );
    lines.extend(wrap(&text, COLUMNS, 0));
    lines
}

/// While memory is not divided as the present reads would divide it: how much longer clients would
/// wait if it were, in milliseconds a second, and a sentence about it, because other sizes are
/// compared with that waiting. Otherwise zero, and no text.
pub fn unsettled(report: &Report) -> (f64, String) {
    let Some(settled) = claim::settled(report) else { return (0.0, String::new()) };
    let measured = report.recent.wait_ms_per_s();
    let says = format!(
        " By the same replays clients would wait {} with {}, once memory is divided for the reads \
         of now; at present they wait {}.",
        wait(1e3 * settled),
        bytes(report.server.maxmemory),
        wait(1e3 * measured)
    );
    (settled - measured, says)
}

/// The present memory: nothing is a forecast.
fn present(report: &Report) -> Vec<String> {
    let text = format!(
        "{} is the present maxmemory: clients wait {} per second for misses, as measured {}. Ask \
         for another size, such as LARDER SIZE +25%.",
        bytes(report.server.maxmemory),
        wait(1e3 * report.recent.wait_ms_per_s()),
        lately(report, &report.recent)
    );
    let mut lines = first(report, &text);
    let width = name_width(report);
    lines.push(format!("  {:<width$} {:>9} {:>8} {:>8}", "tenant", "holds", "misses", "waits/s"));
    lines.extend(report.tenants.iter().map(|tenant| {
        let recent = &tenant.recent;
        format!(
            "  {:<width$} {:>9} {:>8} {:>8}",
            tenant.name,
            bytes(tenant.used),
            recent.miss_ratio().map_or("no reads".to_owned(), percent),
            wait(1e3 * recent.wait_ms_per_s())
        )
    }));
    lines
}

fn row(tenant: &Tenant, share: u64, claims: &[Claim], width: usize) -> String {
    let misses = ClaimedFigure::Misses { tenant: tenant.name.clone() };
    let Some(claim) = claims.iter().find(|claim| claim.what == misses) else {
        let why = match tenant.recent.reads {
            0 => "no reads, so no forecast",
            _ => "too few reads for a forecast",
        };
        return format!("  {:<width$} {:>9}  {why}", tenant.name, bytes(tenant.used));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;

    /// The rows add up to the total, also while memory is not divided for the reads of now.
    #[test]
    fn rows_add_up_to_the_total() {
        let mut report = healthy();
        let held: u64 = report.tenants.iter().map(|tenant| tenant.used).sum();
        report.tenants[0].used = held / 10;
        report.tenants[1].used = held - held / 10;
        let memory = 2 * report.server.maxmemory;
        let claims = claim::of_maxmemory(&report, memory);
        let row = |tenant: &Tenant| {
            let what = ClaimedFigure::Misses { tenant: tenant.name.clone() };
            let claim = claims.iter().find(|claim| claim.what == what);
            tenant.recent.wait_ms_per_s() * claim.map_or(1.0, |claim| claim.value / claim.now)
        };
        let rows: f64 = report.tenants.iter().map(row).sum();
        assert!((claims[0].value - rows).abs() > 0.02 * rows, "{} {rows}", claims[0].value);
        assert!((claims[0].value + unsettled(&report).0 - rows).abs() < 1e-6);
        let says = size(&report, memory).join(" ");
        let total = format!("clients would wait {} per second", wait(1e3 * rows));
        assert!(says.contains(&total) && says.contains("divided for the reads of now"), "{says}");
    }
}
