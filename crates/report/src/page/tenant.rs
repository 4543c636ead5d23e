//! One tenant: the causes of its misses, its curve, and its series over time.

use super::PageData;
use super::phrases::{command, link, memory_for, prose};
use super::series::{align, colour_of, over_time, places, points};
use super::time::Time;
use crate::draw::html::escape;
use crate::draw::{Axis, Bar, Bars, Chart, Colour, Format, Series, Table};
use crate::finding::Finding;
use crate::sizing::Sizing;
use crate::words::{count, percent, quoted, size, wait};
use crate::{Point, Tenant, say};
use base::Cause;
use std::fmt::Write;

/// Sampled misses of a point from which the shares of causes are drawn.
const SHARES_MIN: u64 = 5;

/// Points of the curve that is drawn.
const POINTS: u64 = 32;

pub(super) fn render(shown: &PageData<'_>) -> String {
    let report = shown.report;
    let asked = shown.view.tenant.as_deref().and_then(|name| report.tenant(name));
    let busiest = || report.tenants.iter().max_by_key(|tenant| tenant.recent.reads);
    let Some(tenant) = asked.or_else(busiest) else { return "<p>No tenant yet.</p>".to_owned() };
    let here = |name: &str| if name == tenant.name { " class=\"here\"" } else { "" };
    let links = report
        .tenants
        .iter()
        .map(|one| format!("<span{}>{}</span>\n", here(&one.name), link(shown, &one.name)));
    let mut out = format!("<p class=\"tenants\">{}</p>\n", links.collect::<String>());
    let _ = writeln!(out, "<h1>{}</h1>", escape(&tenant.name));
    out += &why(shown, tenant);
    out += &joined(&say::compressed(report, tenant));
    out += "<div class=\"charts\">\n";
    out += &causes(shown, tenant).svg();
    out += &waiting(shown, tenant).svg();
    out += &forecasts(shown, tenant).svg();
    out += &memory(shown, tenant).svg();
    out += &sizes(shown, tenant);
    out += &costs(shown, tenant);
    out += &classes(shown, tenant);
    out += "</div>\n";
    out + &hot_keys(tenant)
}

/// The sentences of LARDER WHY and the findings about this tenant.
fn why(shown: &PageData<'_>, tenant: &Tenant) -> String {
    let mut out = match shown.stretch() {
        // A stretch that the reader chose has its own causes.
        Some(Time { from, to, .. }) => {
            let recent = shown.history.between(Some(&tenant.name), from, to);
            joined(&say::why_then(shown.report, tenant, &recent, to))
        }
        None => joined(&say::why_known(shown.report, tenant, shown.history)),
    };
    let found = &shown.advice.findings;
    let own = found.iter().filter(|finding| finding.tenant.as_deref() == Some(&*tenant.name));
    for finding in own {
        let Finding { says, evidence, todo, .. } = finding;
        let typed = say::command_of(shown.report, finding);
        let todo = if typed.as_ref() == Some(todo) { "" } else { todo };
        let _ = writeln!(
            out,
            "<p class=\"found\">{} {} {} <b>{}</b></p>",
            escape(&tenant.name),
            prose(says),
            prose(evidence),
            prose(todo)
        );
        out += &typed.map_or_else(String::new, |typed| command(&typed));
    }
    out
}

/// Lines that were wrapped for a terminal as paragraphs, and indented lines as items of a list,
/// except commands.
fn joined(lines: &[String]) -> String {
    let mut out = String::new();
    for group in lines.chunk_by(|a, b| a.starts_with(' ') == b.starts_with(' ')) {
        if group[0].starts_with("    CONFIG ") {
            out += &group.iter().map(|line| command(line.trim())).collect::<String>();
        } else if group[0].starts_with(' ') {
            let items = group.iter().map(|line| format!("<li>{}</li>\n", prose(line.trim())));
            let _ = writeln!(out, "<ul>{}</ul>", items.collect::<String>());
        } else {
            let _ = writeln!(out, "<p>{}</p>", prose(&group.join(" ")));
        }
    }
    out
}

/// A chart of the tenant's miss ratio at every size of memory.
fn sizes(shown: &PageData<'_>, tenant: &Tenant) -> String {
    if tenant.is_silent() {
        return format!("<p class=\"none\">{}</p>\n", prose(&say::unread(shown.report, tenant)));
    }
    let Some(sizing) = Sizing::with_band(tenant) else {
        return format!("<p>{}</p>\n", prose(&say::too_few(shown.report, tenant)));
    };
    let sizes = sizing.sizes(POINTS);
    let at = |&size: &u64| (size as f64, sizing.at(size).ratio);
    let band = |&size: &u64| {
        let there = sizing.at(size);
        let edge = |by: f64| (there.ratio + by * there.band).clamp(0.0, 1.0);
        (size as f64, edge(-1.0), edge(1.0))
    };
    let mark = |name: &str, size: u64, colour: Colour| Series {
        colour: Some(colour),
        ..Series::new(name, vec![(size as f64, sizing.at(size).ratio)])
    };
    let line = Series {
        band: sizes.iter().map(band).collect(),
        colour: Some(colour_of(shown, &tenant.name)),
        ..Series::new("misses", sizes.iter().map(at).collect())
    };
    let mut series = vec![line, mark("now", tenant.used, Colour::Ink)];
    let best = say::best_share(shown.report, tenant);
    series.extend(best.map(|share| mark("best share", share, Colour::Soft)));
    if let Some(budget) = tenant.budget {
        series.push(mark("plan", budget, Colour::Soft));
    }
    let chart = Chart {
        title: "Misses at other sizes".into(),
        x: Axis::new("memory of the tenant", Format::Bytes),
        y: Axis::new("share of the reads", Format::Percent),
        series,
        width: shown.view.width,
        ..Chart::default()
    };
    let now = sizing.at(tenant.used);
    let text = format!(
        "Now {} with {}. {} There is no data beyond {}.",
        percent(now.ratio),
        size(tenant.used),
        say::best_share_says(shown.report, tenant),
        size(sizing.end())
    );
    let wanted = memory_for(shown, "", tenant);
    format!("<div>{}<p>{}</p>\n{wanted}</div>\n", chart.svg(), prose(&text))
}

/// A chart of the causes of misses over time.
fn causes(shown: &PageData<'_>, tenant: &Tenant) -> Chart {
    let points = points(shown, Some(&tenant.name));
    let line = |(at, cause): (usize, Cause)| {
        let share = |point: &Point| {
            let told = point.told();
            let all: f64 = told.iter().map(|&count| f64::from(count)).sum();
            // A few sampled misses have no shares, and the line has a gap.
            let is_known = point.misses == 0 || u64::from(point.sampled) >= SHARES_MIN;
            let share = f64::from(told[at]) / all.max(1.0) * point.miss_ratio().unwrap_or_default();
            is_known.then_some(share)
        };
        let series = Series::new(say::word(cause), places(&points, share));
        Series { colour: Some(Colour::Cause(at)), ..series }
    };
    let series = Cause::ALL.into_iter().enumerate().map(line).collect();
    let y = Axis::new("share of the reads", Format::Percent);
    Chart { stacked: true, ..over_time(shown, "Causes of misses", y, series) }
}

/// A chart of the waiting for misses.
fn waiting(shown: &PageData<'_>, tenant: &Tenant) -> Chart {
    let names = [tenant.name.as_str()];
    let waiting = |point: &Point, seconds: f64| Some(1e3 * f64::from(point.wait_ms) / seconds);
    let mut series = super::series::tenants(shown, &names, waiting);
    for one in &mut series {
        one.colour = Some(colour_of(shown, &tenant.name));
    }
    let y = Axis::new("waiting per second", Format::Micros);
    over_time(shown, "Waiting for misses", y, series)
}

/// A chart of memory, with the budget where a plan gives one.
fn memory(shown: &PageData<'_>, tenant: &Tenant) -> Chart {
    let points = points(shown, Some(&tenant.name));
    let bytes = |kib: u32| Some(1024.0 * f64::from(kib));
    let held = Series::new("held", places(&points, |point| bytes(point.used_kib)));
    let mut series = vec![Series { colour: Some(colour_of(shown, &tenant.name)), ..held }];
    if tenant.budget.is_some() {
        let budget = Series::new("budget", places(&points, |point| bytes(point.budget_kib)));
        series.push(Series { colour: Some(Colour::Soft), is_dashed: true, ..budget });
    }
    align(&mut series);
    over_time(shown, "Memory", Axis::new("bytes", Format::Bytes), series)
}

/// A chart of the forecast and the actual miss ratio.
fn forecasts(shown: &PageData<'_>, tenant: &Tenant) -> Chart {
    let points = points(shown, Some(&tenant.name));
    let actual = Series::new("actual", places(&points, Point::miss_ratio));
    let expected = Series::new("expected", places(&points, Point::expected));
    let series = vec![
        Series { colour: Some(colour_of(shown, &tenant.name)), ..actual },
        Series { colour: Some(Colour::Soft), is_dashed: true, ..expected },
    ];
    let y = Axis::new("share of the reads", Format::Percent);
    over_time(shown, "Misses and their forecast", y, series)
}

/// A histogram of the misses by their cost.
fn costs(shown: &PageData<'_>, tenant: &Tenant) -> String {
    if tenant.fetches.is_empty() {
        return "<p class=\"none\">No miss has been timed yet: a miss costs the time from the read \
                that misses to the write of its key.</p>\n"
            .to_owned();
    }
    let bars = tenant.fetches.iter().map(|class| Bar {
        name: format!("≤ {}", wait(class.us)),
        height: class.share,
        text: percent(class.share),
        detail: String::new(),
    });
    Bars {
        title: "Misses by their cost".into(),
        label: "share of the timed misses".into(),
        bars: bars.collect(),
        colour: Some(colour_of(shown, &tenant.name)),
        width: shown.view.width,
    }
    .svg()
}

/// A histogram of the memory by the size of items.
fn classes(shown: &PageData<'_>, tenant: &Tenant) -> String {
    if tenant.sizes.is_empty() {
        return String::new();
    }
    let hits: u64 = tenant.sizes.iter().map(|class| class.hits).sum();
    let bars = tenant.sizes.iter().map(|class| {
        let share = class.hits as f64 / hits.max(1) as f64;
        let (items, held) = (count(class.items), size(class.used));
        Bar {
            name: format!("≤ {}", size(class.size)),
            height: class.used as f64,
            text: held,
            detail: format!(" in {items} items, {} of the hits", percent(share)),
        }
    });
    Bars {
        title: "Memory by the size of items".into(),
        label: "bytes held".into(),
        bars: bars.collect(),
        colour: Some(colour_of(shown, &tenant.name)),
        width: shown.view.width,
    }
    .svg()
}

/// The keys with a large share of the tenant's requests, and what is known of times to live.
fn hot_keys(tenant: &Tenant) -> String {
    let mut out = String::new();
    if let Some(share) = tenant.twice_the_ttl {
        let _ = writeln!(
            out,
            "<h2>Times to live</h2>\n<p>Twice as long a time to live would turn {} of the reads of \
             expired keys into hits.</p>",
            percent(share)
        );
    }
    if tenant.hot_keys.is_empty() {
        return out + "<h2>Hot keys</h2>\n<p>No key has a large share of the requests.</p>\n";
    }
    let mut table = Table::new(["key", "share of the requests"]);
    for hot in &tenant.hot_keys {
        table.row([quoted(&hot.key), percent(hot.share)]);
    }
    format!("{out}<h2>Hot keys</h2>\n{}", table.html())
}
