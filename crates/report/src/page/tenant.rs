//! One tenant: the causes of its misses, its curve, and its series over time.

use super::PageData;
use super::phrases::{link, paragraphs};
use super::series::{chart, points, time};
use crate::draw::html::escape;
use crate::draw::{Axis, Chart, Format, Series};
use crate::finding::Finding;
use crate::sizing::{Sizing, divide};
use crate::words::{points as in_points, size};
use crate::{Point, Tenant, say};
use base::Cause;
use std::fmt::Write;

/// The colour of the forecast line.
const EXPECTED: usize = 5;

/// Points of the curve that is drawn.
const POINTS: u64 = 32;

pub(super) fn render(shown: &PageData<'_>) -> String {
    let report = shown.report;
    let asked = shown.tenant.and_then(|name| report.tenant(name));
    let busiest = || report.tenants.iter().max_by_key(|tenant| tenant.recent.reads);
    let Some(tenant) = asked.or_else(busiest) else { return "<p>No tenant yet.</p>".to_owned() };
    let links: Vec<_> = report.tenants.iter().map(|one| link(&one.name)).collect();
    let mut out = format!("<p class=\"tenants\">{}</p>\n", links.join(" "));
    let _ = writeln!(out, "<h1>{}</h1>", escape(&tenant.name));
    out += &why(shown, tenant);
    out += "<div class=\"charts\">\n";
    out += &sizes(shown, tenant);
    out += &causes(shown, tenant).svg();
    let y = Axis::new("memory", Format::Bytes);
    let used = |point: &Point| Some(1024.0 * f64::from(point.used_kib));
    out += &chart(shown, "Memory", y, &[&tenant.name], used).svg();
    out += &forecasts(shown, tenant).svg();
    out += "</div>\n";
    out + &classes(tenant)
}

/// The sentences of LARDER WHY and the findings about this tenant.
fn why(shown: &PageData<'_>, tenant: &Tenant) -> String {
    let lines = say::why(shown.report, tenant);
    let mut out = format!("<pre>{}</pre>\n", escape(&lines.join("\n")));
    let found = crate::finding::all(shown.report);
    let own = found.iter().filter(|finding| finding.tenant.as_deref() == Some(&*tenant.name));
    for finding in own {
        let Finding { says, evidence, todo, .. } = finding;
        out += &paragraphs(&[format!("{} {says} {evidence} {todo}", tenant.name)]);
    }
    out
}

/// A chart of the tenant's miss ratio at every size of memory.
fn sizes(shown: &PageData<'_>, tenant: &Tenant) -> String {
    let Some(sizing) = Sizing::of(tenant) else {
        return "<p>Forecasts for other sizes need some hundred sampled reads.</p>\n".to_owned();
    };
    let sizes = sizing.sizes(POINTS);
    let at = |&size: &u64| (size as f64, sizing.at(size).ratio);
    let band = |&size: &u64| {
        let there = sizing.at(size);
        let edge = |by: f64| (there.ratio + by * there.band).clamp(0.0, 1.0);
        (size as f64, edge(-1.0), edge(1.0))
    };
    let mark =
        |name: &str, size: u64| Series::new(name, vec![(size as f64, sizing.at(size).ratio)]);
    let line = Series {
        name: "misses".into(),
        points: sizes.iter().map(at).collect(),
        band: sizes.iter().map(band).collect(),
        ..Series::default()
    };
    let mut series = vec![line, mark("now", tenant.used)];
    let place = shown.report.tenants.iter().position(|one| one.name == tenant.name);
    let division = divide(shown.report, shown.report.server.divided);
    if let Some(&share) = place.and_then(|at| division.shares.get(at)) {
        series.push(mark("by waiting", share));
    }
    let chart = Chart {
        title: "Misses at other sizes".into(),
        x: Axis::new("memory", Format::Bytes),
        y: Axis::new("reads that miss", Format::Percent),
        series,
        ..Chart::default()
    };
    let now = sizing.at(tenant.used);
    let text = format!(
        "Now {}, give or take {}. There is no data beyond {}.",
        crate::words::percent(now.ratio),
        in_points(now.band),
        size(sizing.end())
    );
    format!("<div>{}{}</div>\n", chart.svg(), paragraphs(&[text]))
}

/// A chart of the causes of misses over time.
fn causes(shown: &PageData<'_>, tenant: &Tenant) -> Chart {
    let (x, place) = time(shown);
    let points = points(shown, Some(&tenant.name));
    let line = |(at, cause): (usize, Cause)| {
        let share = |point: &Point| {
            let told = point.told();
            let all: f64 = told.iter().map(|&count| f64::from(count)).sum();
            let share = f64::from(told[at]) / all.max(1.0);
            (place(u64::from(point.unix_s)), share * point.miss_ratio().unwrap_or_default())
        };
        Series::new(say::word(cause), points.iter().map(share).collect())
    };
    Chart {
        title: "Causes of misses".into(),
        x,
        y: Axis::new("of the reads", Format::Percent),
        series: Cause::ALL.into_iter().enumerate().map(line).collect(),
        stacked: true,
        ..Chart::default()
    }
}

/// A chart of the forecast and the actual miss ratio.
fn forecasts(shown: &PageData<'_>, tenant: &Tenant) -> Chart {
    let names = [tenant.name.as_str()];
    let y = Axis::new("reads that miss", Format::Percent);
    let mut chart = chart(shown, "Misses, actual and forecast", y, &names, Point::miss_ratio);
    let (_, place) = time(shown);
    let points = points(shown, Some(&tenant.name));
    let expected =
        points.iter().filter_map(|point| Some((place(u64::from(point.unix_s)), point.expected()?)));
    for series in &mut chart.series {
        series.colour = None;
        "actual".clone_into(&mut series.name);
    }
    let colour = Some(EXPECTED);
    chart.series.push(Series { colour, ..Series::new("expected", expected.collect()) });
    chart
}

/// Tables of the tenant's misses by cost, its items by size and its hot keys.
fn classes(tenant: &Tenant) -> String {
    let mut out = String::new();
    if !tenant.costs.is_empty() {
        let rows = tenant.costs.iter().map(|cost| {
            vec![crate::words::wait(cost.us), crate::words::count(cost.misses), size(cost.used)]
        });
        out += "<h2>By miss cost</h2>\n";
        out += &table(["miss cost", "misses", "memory"], rows);
    }
    if !tenant.sizes.is_empty() {
        let hits: u64 = tenant.sizes.iter().map(|class| class.hits).sum();
        let rows = tenant.sizes.iter().map(|class| {
            let share = class.hits as f64 / hits.max(1) as f64;
            vec![
                format!("up to {}", size(class.size)),
                crate::words::count(class.items),
                size(class.used),
                crate::words::percent(share),
            ]
        });
        out += "<h2>By size</h2>\n";
        out += &table(["items", "count", "memory", "of the hits"], rows);
    }
    if !tenant.hot_keys.is_empty() {
        let rows = tenant.hot_keys.iter();
        let rows =
            rows.map(|hot| vec![crate::words::quoted(&hot.key), crate::words::percent(hot.share)]);
        out += "<h2>Hot keys</h2>\n";
        out += &table(["key", "of its requests"], rows);
    }
    out
}

fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = crate::draw::Table::new(head);
    for row in rows {
        table.row(row);
    }
    table.html()
}
