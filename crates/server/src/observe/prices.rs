//! The price of memory if tenants share a pool: the saving by one more MiB, each tenant's share,
//! and the cost of floors to other tenants.
//!
//! All of it comes from the report, as every other answer does: the curve of each tenant shows the
//! saving by a little more memory than it holds.

use ::report::claim::{self, Claim, ClaimedFigure};
use ::report::words::{wait, wrap};
use ::report::{Report, Tenant, say};
use base::Bytes;
use serde_json::{Value, json};

/// The largest number of tenants in the reply.
const SHOWN_MAX: usize = 64;

/// The weight of each tenant's waiting.
fn counts(prices: &[f64], at: usize) -> f64 {
    prices.get(at).copied().unwrap_or(1.0)
}

/// Saved by the step of memory that LARDER ADVISE tries, in microseconds of waiting a second for
/// each MiB; none where it is not known to save anything.
fn per_mib(report: &Report) -> Option<f64> {
    let step = claim::step(report)?;
    let more = claim::of_maxmemory(report, report.server.maxmemory + step);
    let saves = more.iter().find(|claim| claim.what == ClaimedFigure::Waiting)?;
    let mib = step as f64 / f64::from(1 << 20);
    (saves.change() < 0.0 && saves.is_sound()).then(|| -1e3 * saves.change() / mib)
}

/// In sentences and a table.
pub(crate) fn lines(report: &Report, prices: &[f64]) -> Vec<String> {
    let says = say::more_or_less(report);
    let mut text: Vec<_> = says.iter().flat_map(|says| wrap(says, 80, 0)).collect();
    text.push(format!(
        "{:<16} {:>10} {:>6} {:>7} {:>16}",
        "tenant", "holds", "share", "weight", "1 MiB saves/s"
    ));
    let used = Bytes(report.server.used);
    let row = |(at, tenant): (usize, &Tenant)| {
        let saves = tenant.mib_saves_us.map_or("-".to_owned(), wait);
        let held = Bytes(tenant.used);
        let short: String = tenant.name.chars().take(16).collect();
        let (share, counts) = (100.0 * share(held, used), counts(prices, at));
        format!("{short:<16} {:>10} {share:>4.0} % {counts:>7.2} {saves:>16}", held.to_string())
    };
    text.extend(report.tenants.iter().enumerate().take(SHOWN_MAX).map(row));
    for tenant in report.tenants.iter().take(SHOWN_MAX) {
        let Some(without) = claim::floor_costs(report, tenant).filter(Claim::is_sound) else {
            continue;
        };
        let (name, min) = (&tenant.name, Bytes(tenant.min));
        let ms = -without.change();
        if ms > 0.0 {
            text.push(format!(
                "The floor of {name}, {min}, makes the other tenants wait about {} per second \
                 longer.",
                wait(1e3 * ms)
            ));
        }
    }
    text
}

pub(crate) fn document(report: &Report, prices: &[f64]) -> Value {
    let tenant = |(at, one): (usize, &Tenant)| {
        json!({
            "name": one.name,
            "used": one.used,
            "counts": counts(prices, at),
            "us_per_s_per_mib": one.mib_saves_us,
        })
    };
    let tenants: Vec<_> = report.tenants.iter().enumerate().take(SHOWN_MAX).map(tenant).collect();
    json!({"us_per_s_per_mib": per_mib(report), "tenants": tenants})
}

pub(crate) fn share(part: Bytes, whole: Bytes) -> f64 {
    if whole.0 > 0 { part.as_f64() / whole.as_f64() } else { 0.0 }
}
