//! The outcomes as tables, charts, a page, or comma-separated values.

use super::args::Args;
use super::outcome::CacheOutput;
use crate::report::{Axis, Chart, Format, Page, Series, Table, sign};
use std::fmt::Write as _;
use std::io::{IsTerminal, stdout};
use std::path::Path;

/// Columns and rows of a chart in the terminal.
const PLOT: (usize, usize) = (72, 17);

/// The policies and filters with their parameters.
pub(super) fn policies() -> String {
    let mut table = Table::new(["name", "kind", "parameters: default (range)"]);
    let params = |params: &[policy::Param]| {
        params.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    for spec in policy::ALL {
        table.row([spec.name.to_owned(), "policy".into(), params(spec.params)]);
    }
    for spec in policy::admit::ALL {
        table.row([format!("+{}", spec.name), "filter".into(), params(spec.params)]);
    }
    format!("{table}\n")
}

pub(super) fn text(outcomes: &[CacheOutput], args: &Args) -> String {
    let colour = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut out = String::new();
    for of_trace in by_trace(outcomes) {
        let shown = grid(of_trace).unwrap_or_else(|| table(of_trace, args));
        if let Some(line) = args.compress.sentence() {
            let _ = writeln!(out, "{line}");
        }
        let _ = writeln!(out, "{}\n{shown}", summary(&of_trace[0]));
        if args.tenant {
            let _ = writeln!(out, "{}", tenants(of_trace));
        }
        for chart in charts(of_trace, args) {
            let _ = writeln!(out, "\n{}", chart.text(PLOT.0, PLOT.1, colour));
        }
    }
    out
}

pub(super) fn page(outcomes: &[CacheOutput], args: &Args) -> Page {
    let mut page = Page::new("Miss ratios by policy and size");
    sign(&mut page);
    if let Some(line) = args.compress.sentence() {
        page.paragraph(&line);
    }
    for of_trace in by_trace(outcomes) {
        page.heading(&of_trace[0].trace).paragraph(&summary(&of_trace[0]));
        for chart in charts(of_trace, args) {
            page.chart(&chart);
        }
        if let Some(grid) = grid(of_trace) {
            page.paragraph("Miss ratios; * marks the lowest of each size.").table(&grid);
        }
        page.table(&table(of_trace, args));
        if args.tenant {
            page.table(&tenants(of_trace));
        }
    }
    page
}

pub(super) fn csv(outcomes: &[CacheOutput]) -> String {
    let mut out = "trace,policy,size_bytes,requests,misses,miss_ratio,byte_miss_ratio,\
                   requests_per_second,mean_penalty_us,first_seen,expired,deleted,evicted\n"
        .to_owned();
    for o in outcomes {
        let penalty = o.mean_penalty_us.map(|us| us.to_string()).unwrap_or_default();
        let by = o.misses_by;
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{:.0},{penalty},{},{},{},{}",
            quoted(&o.trace),
            o.policy,
            o.size_bytes,
            o.requests,
            o.misses,
            o.miss_ratio,
            o.byte_miss_ratio,
            o.requests_per_second,
            by.first_seen,
            by.expired,
            by.deleted,
            by.evicted
        );
    }
    out
}

/// A field of comma-separated values, in quotes where it must be.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The outcomes of each trace, which are adjacent.
fn by_trace(outcomes: &[CacheOutput]) -> impl Iterator<Item = &[CacheOutput]> {
    outcomes.chunk_by(|a, b| a.trace == b.trace)
}

fn summary(outcome: &CacheOutput) -> String {
    format!(
        "{}: {} requests, {} of them reads, to {} keys of {} together",
        outcome.trace,
        outcome.accesses,
        outcome.requests,
        outcome.keys,
        Format::Bytes.show(outcome.footprint_bytes as f64)
    )
}

fn ratio(value: f64) -> String {
    format!("{value:.4}")
}

/// Miss ratios with a row for each policy and a column for each size, where there are several of
/// both. The lowest of each size is marked.
fn grid(outcomes: &[CacheOutput]) -> Option<Table> {
    let distinct = |of: fn(&CacheOutput) -> &str| {
        let mut all: Vec<&str> = vec![];
        for name in outcomes.iter().map(of) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    };
    let (policies, sizes) = (distinct(|o| &o.policy), distinct(|o| &o.size));
    if policies.len() < 2 || sizes.len() < 2 {
        return None;
    }
    let of = |policy: &str, size: &str| {
        let found = outcomes.iter().find(|o| o.policy == policy && o.size == size);
        found.map(|outcome| outcome.miss_ratio)
    };
    let least = |size: &str| {
        let all = policies.iter().filter_map(|policy| of(policy, size));
        all.fold(f64::INFINITY, f64::min)
    };
    let mut table = Table::new(std::iter::once("policy").chain(sizes.iter().copied()));
    for policy in &policies {
        let cell = |size: &&str| {
            let Some(value) = of(policy, size) else { return String::new() };
            let mark = if value <= least(size) { "*" } else { " " };
            ratio(value) + mark
        };
        table.row(std::iter::once((*policy).to_owned()).chain(sizes.iter().map(cell)));
    }
    Some(table)
}

fn table(outcomes: &[CacheOutput], args: &Args) -> Table {
    let penalties = outcomes.iter().any(|outcome| outcome.mean_penalty_us.is_some());
    let mut head = vec!["policy", "size", "bytes", "miss ratio", "byte miss ratio"];
    if args.read.ignore_size {
        head[2] = "objects";
        head.pop();
    }
    if penalties {
        head.push("mean penalty");
    }
    head.extend(["first seen", "expired", "deleted", "evicted"]);
    let mut table = Table::new(head);
    for o in outcomes {
        let mut row =
            vec![o.policy.clone(), o.size.clone(), o.size_bytes.to_string(), ratio(o.miss_ratio)];
        if !args.read.ignore_size {
            row.push(ratio(o.byte_miss_ratio));
        }
        if penalties {
            let shown = o.mean_penalty_us.map(|us| Format::Micros.show(us));
            row.push(shown.unwrap_or_default());
        }
        let by = o.misses_by;
        row.extend([by.first_seen, by.expired, by.deleted, by.evicted].map(|n| n.to_string()));
        table.row(row);
    }
    table
}

fn tenants(outcomes: &[CacheOutput]) -> Table {
    let mut table =
        Table::new(["policy", "size", "tenant", "requests", "miss ratio", "byte miss ratio"]);
    for outcome in outcomes {
        for tenant in &outcome.tenants {
            table.row([
                outcome.policy.clone(),
                outcome.size.clone(),
                tenant.name.clone().unwrap_or_else(|| tenant.id.to_string()),
                tenant.requests.to_string(),
                ratio(tenant.miss_ratio),
                ratio(tenant.byte_miss_ratio),
            ]);
        }
    }
    table
}

fn charts(outcomes: &[CacheOutput], args: &Args) -> Vec<Chart> {
    let format = if args.read.ignore_size { Format::Number } else { Format::Bytes };
    let by_policy = || outcomes.chunk_by(|a, b| a.policy == b.policy);
    let trace = Path::new(&outcomes[0].trace).file_name().unwrap_or_default().to_string_lossy();
    let mut charts = vec![];
    if args.size.len() > 1 {
        let series = by_policy().map(|of_policy| {
            let mut points: Vec<(f64, f64)> =
                of_policy.iter().map(|o| (o.size_bytes as f64, o.miss_ratio)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series::new(of_policy[0].policy.clone(), points)
        });
        charts.push(Chart {
            title: format!("{trace}: miss ratio by cache size"),
            x: Axis::new("cache size", format).log(),
            y: Axis::new("miss ratio", Format::Percent),
            series: series.collect(),
            ..Chart::default()
        });
    }
    if args.interval.is_some() {
        for size in &args.size {
            let size = size.to_string();
            let of_size = outcomes.iter().filter(|outcome| outcome.size == size);
            let series = of_size.filter_map(|outcome| {
                let interval = outcome.interval.as_ref()?;
                let at = |(at, ratio): (usize, &Option<f64>)| {
                    // The last interval may be shorter.
                    let end = ((at as u64 + 1) * interval.requests).min(outcome.accesses);
                    ratio.map(|ratio| (end as f64, ratio))
                };
                let points = interval.miss_ratio.iter().enumerate().filter_map(at).collect();
                Some(Series::new(outcome.policy.clone(), points))
            });
            charts.push(Chart {
                title: format!("{trace}: miss ratio over time at {size}"),
                x: Axis::new("requests", Format::Number),
                y: Axis::new("miss ratio", Format::Percent),
                series: series.collect(),
                ..Chart::default()
            });
        }
    }
    charts
}
