//! The first page: memory, misses and waiting of each tenant, and the last changes.

use super::PageData;
use super::cards::{self, CardCell, by, named, number, text};
use super::events::{SIGNS, lately};
use super::phrases::{causes as legend, link, prose};
use super::series::{lines, memory, over_time, tenants};
use crate::draw::{Axis, Format};
use crate::finding::Severity;
use crate::words::{count, percent, size, wait};
use crate::{Point, Tenant, say};
use base::Cause;
use std::fmt::Write;

pub(super) fn render(shown: &PageData<'_>) -> String {
    let report = shown.report;
    let found = &shown.advice.findings;
    let health = &shown.advice.decision.health;
    let mut out = format!("<h1>{}</h1>\n<p>{}</p>\n", prose(health), prose(&say::summary(report)));
    if let Some(first) = found.first() {
        let whose = first
            .tenant
            .as_ref()
            .map_or_else(String::new, |name| format!("{} ", link(shown, name)));
        let more = found.len() - 1;
        let advice = shown.view.href("/advice");
        let rest = match more {
            0 => format!(" <a href=\"{advice}\">What to do</a>"),
            more => format!(" <a href=\"{advice}\">What to do, and {more} more</a>"),
        };
        // The first warning is the state of the cache, which stands above.
        let is_said = first.severity == Severity::Warning;
        let (class, says) = if is_said { (" bad", &first.evidence) } else { ("", &first.says) };
        let whose = if is_said { "" } else { &whose };
        let _ = writeln!(out, "<p class=\"found{class}\">{whose}{}{rest}</p>", prose(says));
    }
    let names = lines(shown);
    // A wall shows pictures first, and no long table.
    let is_kiosk = shown.view.is_kiosk;
    if !is_kiosk {
        out += &table(shown, None);
    }
    out += "<div class=\"charts\">\n";
    let y = Axis::new("waiting per second", Format::Micros);
    let waiting = |point: &Point, seconds: f64| Some(1e3 * f64::from(point.wait_ms) / seconds);
    out += &over_time(shown, "Waiting for misses", y, tenants(shown, &names, waiting)).svg();
    let y = Axis::new("share of the reads", Format::Percent);
    let misses = tenants(shown, &names, |point, _| point.miss_ratio());
    out += &over_time(shown, "Misses", y, misses).svg();
    out += &memory(shown, &names).svg();
    let y = Axis::new("reads per second", Format::Number);
    let reads = |point: &Point, seconds: f64| Some(f64::from(point.reads) / seconds);
    out += &over_time(shown, "Load", y, tenants(shown, &names, reads)).svg();
    let _ = writeln!(
        out,
        "</div>\n<p class=\"legend\">Events: {SIGNS}; a number stands for as many events.</p>"
    );
    if is_kiosk {
        out += &table(shown, Some(&names));
    }
    out + &lately(shown)
}

/// A table with one row per tenant, or per tenant of `only`.
fn table(shown: &PageData<'_>, only: Option<&[&str]>) -> String {
    let columns = [
        text("tenant"),
        number("memory"),
        text("share"),
        number("reads/s"),
        number("misses"),
        text("causes"),
        number("waiting/s"),
        number("cost of a miss"),
    ];
    let all = shown.report.tenants.iter();
    let is_in = |tenant: &&Tenant| only.is_none_or(|only| only.contains(&&*tenant.name));
    let tenants: Vec<&Tenant> = all.filter(is_in).collect();
    let server = &shown.report.server;
    let all_bytes = server.divided.max(server.used).max(1);
    let row = |tenant: &Tenant| -> Vec<CardCell> {
        let recent = &tenant.recent;
        let none = || "–".to_owned();
        vec![
            named(&tenant.name, link(shown, &tenant.name)),
            by(tenant.used as f64, size(tenant.used)),
            by(tenant.used as f64, bar(tenant, all_bytes)),
            by(recent.reads_per_s(), count(recent.reads_per_s() as u64)),
            by(recent.miss_ratio().unwrap_or(-1.0), recent.miss_ratio().map_or_else(none, percent)),
            by(recent.miss_ratio().unwrap_or(-1.0), causes(tenant)),
            by(recent.wait_ms, wait(1e3 * recent.wait_ms_per_s())),
            by(tenant.penalty_us.unwrap_or(-1.0), tenant.penalty_us.map_or_else(none, wait)),
        ]
    };
    let table = cards::table(shown, "/", &columns, tenants.iter().copied().map(row).collect());
    let is_marked = tenants.iter().any(|tenant| tenant.min > 0 || tenant.max.is_some());
    let marks = if is_marked {
        "<p class=\"legend\">Memory: a line marks the floor (<code>min</code>), a double line the \
         ceiling (<code>max</code>), a dotted line the budget of the plan.</p>\n"
    } else {
        ""
    };
    format!("{table}{}{marks}", legend())
}

/// The tenant's memory as a bar that all the memory fills, with marks for floor, ceiling and
/// budget.
fn bar(tenant: &Tenant, all: u64) -> String {
    let share = |bytes: u64| 100.0 * (bytes as f64 / all as f64).min(1.0);
    let mark = |bytes: u64, class: &str, word: &str| {
        format!(
            "<i class=\"{class}\" style=\"left:calc({:.1}% - 2px)\" title=\"{word} {}\"></i>",
            share(bytes),
            size(bytes)
        )
    };
    let floor = if tenant.min > 0 { mark(tenant.min, "min", "floor") } else { String::new() };
    let ceiling = tenant.max.map_or_else(String::new, |max| mark(max, "max", "ceiling"));
    let budget = tenant.budget.map_or_else(String::new, |budget| mark(budget, "given", "budget"));
    format!(
        "<span class=\"bar\" title=\"{}\"><b style=\"width:{:.1}%\"></b>{floor}{ceiling}{budget}\
         </span>",
        size(tenant.used),
        share(tenant.used)
    )
}

/// The causes of the tenant's misses, as parts of a bar that all its reads fill.
fn causes(tenant: &Tenant) -> String {
    let part = |(at, cause): (usize, Cause)| {
        let missed = tenant.recent.missed_for(cause)?;
        let share = 100.0 * missed;
        let word = say::word(cause);
        Some(format!(
            "<b style=\"width:{share:.1}%;background:var(--k{at})\" title=\"{word}: {} of the \
             reads\"></b>",
            percent(missed)
        ))
    };
    let parts: String = Cause::ALL.into_iter().enumerate().filter_map(part).collect();
    if parts.is_empty() { "–".to_owned() } else { format!("<span class=\"bar\">{parts}</span>") }
}
