//! The sizing page: a slider over the memory of all or of one tenant, with the misses and waiting
//! that follow and their bands.

use super::PageData;
use super::cards::{self, by, named, number, text};
use super::phrases::{command, link, memory_for, prose};
use super::series::colour_of;
use crate::claim::{self, Claim, ClaimedFigure};
use crate::draw::html::escape;
use crate::draw::{Axis, Chart, Colour, Format, Series};
use crate::sizing::{Estimate, Sizing, divide, waits};
use crate::words::{percent, plus_or_minus, size, wait};
use crate::{Tenant, say};
use std::fmt::Write;

/// Steps of the slider, on a logarithmic scale from an eighth of the present memory to eight times
/// as much.
const STEPS: i32 = 48;
/// Doublings from the middle to an end of the slider.
const DOUBLINGS: f64 = 3.0;
/// The most that a reader may try, as a multiple of the present memory.
const TIMES_MAX: u64 = 64;

/// The memory at a step of the slider; the middle step is the present memory.
fn memory_at(present: u64, step: i32) -> u64 {
    let power = DOUBLINGS * f64::from(step - STEPS / 2) / f64::from(STEPS / 2);
    (present as f64 * power.exp2()) as u64
}

pub(super) fn render(shown: &PageData<'_>) -> String {
    let report = shown.report;
    let asked = shown.view.tenant.as_deref().and_then(|name| report.tenant(name));
    let mut out = chooser(shown, asked);
    if let Some(tenant) = asked {
        return out + &of_tenant(shown, tenant);
    }
    let present = report.server.divided;
    if present == 0 {
        return out
            + "<h1>Sizing</h1>\n<p>There is no memory limit: set one with <code>CONFIG SET \
               maxmemory</code>. The pages of single tenants show their misses at other \
               sizes.</p>\n";
    }
    let memory = tried(shown, present);
    let claims = claim::memory(report, memory);
    let waiting = claims.iter().find(|claim| claim.what == ClaimedFigure::Waiting);
    let text = match waiting {
        _ if memory == present => format!(
            "All clients together wait {} per second, as measured with this memory.",
            wait(1e3 * report.recent.wait_ms_per_s())
        ),
        None => "How long clients would wait is not known yet.".to_owned(),
        Some(claim) => {
            let word = if claim.change() > 0.0 { "more" } else { "less" };
            let doubt = if claim.is_sound() {
                ""
            } else {
                ", so it is not known whether longer or shorter"
            };
            let (settling, unsettled) = say::unsettled(report);
            format!(
                "All clients together would wait {} per second: {} {word} than with the present \
                 memory, give or take {}{doubt}.{unsettled}",
                wait(1e3 * (claim.value + settling)),
                wait(1e3 * claim.change().abs()),
                wait(1e3 * claim.band())
            )
        }
    };
    let _ = writeln!(out, "<h1>{} for all tenants</h1>", size(memory));
    out += &slider(shown, present, memory);
    let _ = writeln!(out, "<p>{}</p>", prose(&text));
    if waiting.is_some_and(Claim::is_sound) {
        // The same part of maxmemory as now is for data.
        let limit = report.server.maxmemory as f64 * memory as f64 / present as f64;
        let mib = (limit / f64::from(1 << 20)).ceil();
        out += &command(&format!("CONFIG SET maxmemory {mib}mb"));
    }
    for sentence in say::more_or_less(report) {
        let _ = writeln!(out, "<p>{}</p>", prose(&sentence));
    }
    out += &table(shown, memory);
    let at = |step: i32| {
        let memory = memory_at(present, step);
        let division = divide(report, memory);
        let us = |ms: f64| 1e3 * ms.max(0.0);
        let (wait, band) = (division.wait_ms, division.band_ms);
        (memory, us(wait), (us(wait - band), us(wait + band)))
    };
    let y = Axis::new("waiting per second", Format::Micros);
    let chart = curve(shown, ("Waiting at other sizes", y), (present, memory), None, at);
    out + &format!("<div class=\"charts\">{chart}</div>\n")
}

/// The links to all tenants together and to each.
fn chooser(shown: &PageData<'_>, asked: Option<&Tenant>) -> String {
    let link = |name: Option<&str>| {
        let view = shown.view.with(|view| {
            view.tenant = name.map(str::to_owned);
            view.memory = None;
        });
        let here = if asked.map(|tenant| &*tenant.name) == name { " class=\"here\"" } else { "" };
        let text = name.unwrap_or("all tenants");
        format!("<span{here}><a href=\"{}\">{}</a></span>\n", view.href("/sizing"), escape(text))
    };
    let tenants = shown.report.tenants.iter().map(|tenant| link(Some(&tenant.name)));
    let links: String = std::iter::once(link(None)).chain(tenants).collect();
    format!("<p class=\"tenants\">{links}</p>\n")
}

/// The memory that the reader tries.
fn tried(shown: &PageData<'_>, present: u64) -> u64 {
    let most = present.saturating_mul(TIMES_MAX).max(1 << 16);
    shown.view.memory.unwrap_or(present).clamp(1 << 16, most)
}

/// The slider, a field for any size, and some links.
fn slider(shown: &PageData<'_>, present: u64, memory: u64) -> String {
    let power = (memory as f64 / present.max(1) as f64).log2();
    let step = (f64::from(STEPS / 2) * power / DOUBLINGS).round() as i32 + STEPS / 2;
    let tenant = shown.view.tenant.as_ref().map_or_else(String::new, |name| {
        format!("<input type=\"hidden\" name=\"tenant\" value=\"{}\">", escape(name))
    });
    let mut out = format!(
        "<form class=\"slider\" method=\"get\" action=\"/sizing\">{tenant}<label>Memory \
         <input type=\"range\" min=\"0\" max=\"{STEPS}\" value=\"{}\" data-present=\"{present}\" \
         data-steps=\"{STEPS}\" data-doublings=\"{DOUBLINGS}\" aria-label=\"memory\"></label> \
         <label>MiB <input type=\"number\" name=\"mib\" min=\"1\" step=\"any\" value=\"{}\">\
         </label>\n",
        step.clamp(0, STEPS),
        (memory as f64 / f64::from(1 << 20) * 10.0).round() / 10.0,
    );
    for (word, factor) in [("¼", 0.25), ("½", 0.5), ("now", 1.0), ("2×", 2.0), ("4×", 4.0)] {
        let bytes = (present as f64 * factor) as u64;
        let href = shown.view.with(|view| view.memory = Some(bytes)).href("/sizing");
        let _ = writeln!(out, "<a href=\"{href}\" data-stay>{word}</a>");
    }
    out + "</form>\n"
}

fn with_band(ratio: Option<&Estimate>) -> String {
    ratio.map_or("–".to_owned(), |ratio| {
        prose(&format!("{} {} points", percent(ratio.ratio), plus_or_minus(ratio.band)))
    })
}

fn table(shown: &PageData<'_>, memory: u64) -> String {
    let report = shown.report;
    let then = divide(report, memory);
    let columns = [
        text("tenant"),
        number("memory now"),
        number("memory then"),
        number("misses now"),
        number("misses then"),
        number("waiting/s now"),
        number("waiting/s then"),
    ];
    let row = |(at, tenant): (usize, &Tenant)| {
        // At the present memory, the measured figures alone count.
        let ratio = then.ratios.get(at).and_then(Option::as_ref);
        let ratio = ratio.filter(|_| !tenant.is_silent() && memory != report.server.divided);
        let waits_then = ratio.map(|ratio| waits(tenant, *ratio));
        let recent = &tenant.recent;
        let measured = recent.miss_ratio();
        vec![
            named(&tenant.name, link(shown, &tenant.name)),
            by(tenant.used as f64, size(tenant.used)),
            // The curve of a tenant that nobody reads fades.
            if tenant.is_silent() {
                by(-1.0, "no reads")
            } else {
                by(then.shares[at] as f64, size(then.shares[at]))
            },
            by(measured.unwrap_or(-1.0), measured.map_or("–".to_owned(), percent)),
            by(ratio.map_or(-1.0, |ratio| ratio.ratio), with_band(ratio)),
            by(recent.wait_ms_per_s(), wait(1e3 * recent.wait_ms_per_s())),
            by(
                waits_then.map_or(-1.0, |waits| waits.ratio),
                waits_then.map_or("–".to_owned(), |waits| {
                    prose(&format!("{} ± {}", wait(1e3 * waits.ratio), wait(1e3 * waits.band)))
                }),
            ),
        ]
    };
    cards::table(shown, "/sizing", &columns, report.tenants.iter().enumerate().map(row).collect())
}

/// One tenant with another memory of its own.
fn of_tenant(shown: &PageData<'_>, tenant: &Tenant) -> String {
    let name = escape(&tenant.name);
    if tenant.is_silent() {
        return format!("<h1>{name}</h1>\n<p>{}</p>\n", prose(&say::unread(shown.report, tenant)));
    }
    let Some(sizing) = Sizing::with_band(tenant) else {
        let says = prose(&say::too_few(shown.report, tenant));
        return format!("<h1>{name}</h1>\n<p>{says}</p>\n");
    };
    let present = tenant.used.max(1 << 16);
    let memory = tried(shown, present);
    let (misses, waiting) = (sizing.at(memory), sizing.waits(memory));
    let beyond = if memory > sizing.end() {
        format!(" There is no data beyond {}.", size(sizing.end()))
    } else {
        String::new()
    };
    let mut out = format!("<h1>{} for {name}</h1>\n", size(memory));
    out += &slider(shown, present, memory);
    out += &memory_for(shown, "/sizing", tenant);
    let would = if memory == present {
        String::new()
    } else {
        format!(
            "{name} would miss {}, and its clients would wait {} per second, give or take {}. ",
            with_band(Some(&misses)),
            wait(1e3 * waiting.ratio),
            wait(1e3 * waiting.band),
        )
    };
    let _ = writeln!(
        out,
        "<p>{would}Now {name} has {}, misses {}, and its clients wait {} per second, as \
         measured.{beyond}</p>",
        size(tenant.used),
        tenant.recent.miss_ratio().map_or("–".to_owned(), percent),
        wait(1e3 * tenant.recent.wait_ms_per_s()),
    );
    let colour = Some(colour_of(shown, &tenant.name));
    let at = |step: i32| {
        let memory = memory_at(present, step);
        let told = sizing.at(memory);
        let edge = |by: f64| (told.ratio + by * told.band).clamp(0.0, 1.0);
        (memory, told.ratio, (edge(-1.0), edge(1.0)))
    };
    let y = Axis::new("share of the reads", Format::Percent);
    let chart = curve(shown, ("Misses at other sizes", y), (present, memory), colour, at);
    let _ = write!(out, "<div class=\"charts\">{chart}");
    let at = |step: i32| {
        let memory = memory_at(present, step);
        let told = sizing.waits(memory);
        let us = |ms: f64| 1e3 * ms.max(0.0);
        (memory, us(told.ratio), (us(told.ratio - told.band), us(told.ratio + told.band)))
    };
    let y = Axis::new("waiting per second", Format::Micros);
    out += &curve(shown, ("Waiting at other sizes", y), (present, memory), colour, at);
    out + "</div>\n"
}

/// A chart of a figure with its band at every step of the slider, with the present and the tried
/// memory.
fn curve(
    shown: &PageData<'_>,
    (title, y): (&str, Axis),
    (present, memory): (u64, u64),
    colour: Option<Colour>,
    at: impl Fn(i32) -> (u64, f64, (f64, f64)),
) -> String {
    let steps: Vec<_> = (0..=STEPS).map(at).collect();
    let points: Vec<_> = steps.iter().map(|(x, value, _)| (*x as f64, *value)).collect();
    let band = steps.iter().map(|(x, _, (low, high))| (*x as f64, *low, *high)).collect();
    let near = |bytes: u64| {
        let close = points
            .iter()
            .min_by(|a, b| (a.0 - bytes as f64).abs().total_cmp(&(b.0 - bytes as f64).abs()));
        vec![*close.expect("there are steps")]
    };
    let mark = |name: &str, bytes: u64, colour: Colour| Series {
        colour: Some(colour),
        ..Series::new(name, near(bytes))
    };
    let mut series = vec![mark("now", present, Colour::Ink)];
    if memory != present {
        series.push(mark("then", memory, Colour::Soft));
    }
    let line = Series { band, colour: colour.or(Some(Colour::Soft)), ..Series::default() };
    series.insert(0, Series { name: "forecast".into(), points, ..line });
    Chart {
        title: title.to_owned(),
        x: Axis::new("memory", Format::Bytes).log(),
        y,
        series,
        width: shown.view.width,
        ..Chart::default()
    }
    .svg()
}
