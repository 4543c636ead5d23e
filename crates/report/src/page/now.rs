//! The first page: memory and waiting of each tenant, and the causes of misses.

use super::PageData;
use super::phrases::link;
use super::series::{chart, memory, most};
use crate::draw::html::escape;
use crate::draw::{Axis, Format};
use crate::words::{count, percent, size, wait};
use crate::{Tenant, say};
use base::Cause;
use std::fmt::Write;

pub(super) fn render(shown: &PageData<'_>) -> String {
    let report = shown.report;
    let mut out = format!("<h1>{}</h1>\n", escape(&say::summary(report)));
    let found = crate::finding::all(report);
    if let Some(first) = found.first() {
        let whose =
            first.tenant.as_ref().map_or_else(String::new, |name| format!("{} ", link(name)));
        let more = found.len() - 1;
        let rest =
            if more > 0 { format!(" <a href=\"/advice\">{more} more</a>") } else { String::new() };
        let _ = writeln!(out, "<p class=\"found\">{whose}{}{rest}</p>", escape(&first.says));
    }
    out += &table(shown);
    out += "<div class=\"charts\">\n";
    out += &memory(shown).svg();
    let y = Axis::new("reads that miss", Format::Percent);
    let busy = most(shown, |tenant| tenant.recent.reads as f64);
    out += &chart(shown, "Misses", y, &busy, crate::Point::miss_ratio).svg();
    let y = Axis::new("waiting per second", Format::Micros);
    let waits = most(shown, |tenant| tenant.recent.wait_ms);
    let step = crate::page::series::points(shown, None);
    let length = match &step[..] {
        [first, .., last] => f64::from(last.unix_s - first.unix_s) / (step.len() - 1) as f64,
        _ => 1.0,
    };
    let waiting = |point: &crate::Point| Some(1e3 * f64::from(point.wait_ms) / length.max(1.0));
    out += &chart(shown, "Waiting for misses", y, &waits, waiting).svg();
    out + "</div>\n"
}

/// A table with one row per tenant.
fn table(shown: &PageData<'_>) -> String {
    let report = shown.report;
    let mut out = String::from(
        "<div class=\"wide\"><table><thead><tr><th>tenant</th><th>memory</th>\
         <th class=\"n\">holds</th>\
         <th class=\"n\">reads/s</th><th class=\"n\">misses</th><th>why</th>\
         <th class=\"n\">waits/s</th><th class=\"n\">penalty</th></tr></thead>\n<tbody>\n",
    );
    let most = report.tenants.iter().map(|tenant| tenant.used).max().unwrap_or(0).max(1);
    for tenant in &report.tenants {
        let recent = &tenant.recent;
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            link(&tenant.name),
            bar(tenant, most),
            size(tenant.used),
            count(recent.reads_per_s() as u64),
            recent.miss_ratio().map_or("–".to_owned(), percent),
            causes(tenant),
            wait(1e3 * recent.wait_ms_per_s()),
            tenant.penalty_us.map_or("–".to_owned(), wait),
        );
    }
    out + "</tbody></table></div>\n"
}

/// The tenant's memory as a bar relative to the largest tenant, with marks for floor, ceiling and
/// budget.
fn bar(tenant: &Tenant, most: u64) -> String {
    let share = |bytes: u64| 100.0 * (bytes as f64 / most as f64).min(1.0);
    let mark = |bytes: u64, class: &str, word: &str| {
        format!(
            "<i class=\"{class}\" style=\"left:{:.1}%\" title=\"{word} {}\"></i>",
            share(bytes),
            size(bytes)
        )
    };
    let floor = if tenant.min > 0 { mark(tenant.min, "min", "min") } else { String::new() };
    let ceiling = tenant.max.map_or_else(String::new, |max| mark(max, "max", "max"));
    let budget = tenant.budget.map_or_else(String::new, |budget| mark(budget, "given", "given"));
    format!(
        "<span class=\"bar\"><b style=\"width:{:.1}%\"></b>{floor}{ceiling}{budget}</span>",
        share(tenant.used)
    )
}

/// The causes of the tenant's misses, as parts of a bar.
pub(super) fn causes(tenant: &Tenant) -> String {
    let ratio = tenant.recent.miss_ratio().unwrap_or_default();
    let part = |(at, cause): (usize, Cause)| {
        let missed = tenant.recent.missed_for(cause)?;
        let share = 100.0 * missed / ratio.max(f64::MIN_POSITIVE);
        let word = say::word(cause);
        Some(format!(
            "<b class=\"c{at}\" style=\"width:{share:.1}%\" title=\"{word}: {} of the reads\"></b>",
            percent(missed)
        ))
    };
    let parts: String = Cause::ALL.into_iter().enumerate().filter_map(part).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("<span class=\"bar parts\">{parts}</span>")
    }
}
