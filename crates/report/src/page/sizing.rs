//! The sizing page: a slider over memory, with the misses and waiting of each tenant.

use super::PageData;
use super::phrases::link;
use crate::claim::{self, ClaimedFigure};
use crate::draw::{Axis, Chart, Format, Series};
use crate::sizing::{Sizing, divide};
use crate::words::{percent, size, wait};
use std::fmt::Write;

/// Steps of the slider, on a logarithmic scale from a quarter of the present memory to four times
/// as much.
const STEPS: i32 = 32;

/// The memory at a step of the slider; the middle step is the present memory.
fn memory_at(present: u64, step: i32) -> u64 {
    let power = f64::from(step - STEPS / 2) / f64::from(STEPS / 4);
    (present as f64 * power.exp2()) as u64
}

pub(super) fn render(shown: &PageData<'_>) -> String {
    let report = shown.report;
    let present = report.server.divided;
    if present == 0 {
        return "<h1>Sizing</h1>\n<p>There is no memory limit: set one with CONFIG SET \
                maxmemory.</p>\n"
            .to_owned();
    }
    let memory = shown.memory.unwrap_or(present).clamp(1 << 16, present.saturating_mul(4));
    let (now, then) = (divide(report, present), divide(report, memory));
    let step = (f64::from(STEPS / 4) * (memory as f64 / present as f64).log2()).round() as i32;
    let mut out = format!(
        "<h1>{} for all</h1>\n<p><label>Memory <input type=\"range\" name=\"memory\" min=\"0\" \
         max=\"{STEPS}\" value=\"{}\" data-present=\"{present}\" data-steps=\"{STEPS}\"></label>\n",
        size(memory),
        (step + STEPS / 2).clamp(0, STEPS)
    );
    for (word, factor) in [("¼", 0.25), ("½", 0.5), ("now", 1.0), ("2×", 2.0), ("4×", 4.0)] {
        let bytes = (present as f64 * factor) as u64;
        let _ = writeln!(out, "<a href=\"/sizing?memory={bytes}\">{word}</a>");
    }
    let claims = claim::memory(report, memory);
    let text = match claims.iter().find(|claim| claim.what == ClaimedFigure::Waiting) {
        None => "The waiting of all clients is not known yet.".to_owned(),
        Some(claim) => {
            let verdict = match 1e3 * claim.change() {
                _ if !claim.is_sound() => "no clear difference from the present memory".to_owned(),
                us if us < 0.0 => format!("{} less than now", wait(-us)),
                us => format!("{} more than now", wait(us)),
            };
            format!(
                "All clients together would wait {} per second, give or take {}: {verdict}.",
                wait(1e3 * claim.value),
                wait(1e3 * claim.band())
            )
        }
    };
    let _ = writeln!(out, "</p>\n<p>{text}</p>");
    out += &table(shown, &now.shares, &then.shares);
    out += "<div class=\"charts\">";
    out += &curve(shown, present).svg();
    out + "</div>\n"
}

fn table(shown: &PageData<'_>, now: &[u64], then: &[u64]) -> String {
    let mut out = String::from(
        "<div class=\"wide\"><table><thead><tr><th>tenant</th><th class=\"n\">memory now</th>\
         <th class=\"n\">then</th><th class=\"n\">misses now</th><th class=\"n\">then</th>\
         <th class=\"n\">waits/s then</th></tr></thead>\n<tbody>\n",
    );
    for (at, tenant) in shown.report.tenants.iter().enumerate() {
        let sizing = Sizing::of(tenant);
        let misses = |bytes: u64| {
            sizing.map_or("unknown".to_owned(), |sizing| percent(sizing.at(bytes).ratio))
        };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            link(&tenant.name),
            size(now[at]),
            size(then[at]),
            misses(now[at]),
            misses(then[at]),
            sizing.map_or("–".to_owned(), |sizing| wait(1e3 * sizing.waits(then[at]).ratio)),
        );
    }
    out + "</tbody></table></div>\n"
}

/// A chart of the waiting of all tenants at every step of the slider.
fn curve(shown: &PageData<'_>, present: u64) -> Chart {
    let at = |step: i32| {
        let memory = memory_at(present, step);
        let division = divide(shown.report, memory);
        let us = |ms: f64| 1e3 * ms.max(0.0);
        let (wait, band) = (division.wait_ms, division.band_ms);
        ((memory as f64, us(wait)), (memory as f64, us(wait - band), us(wait + band)))
    };
    let (points, band): (Vec<_>, Vec<_>) = (0..=STEPS).map(at).unzip();
    let now = points[(STEPS / 2) as usize];
    Chart {
        title: "Waiting per second, by memory for all".into(),
        x: Axis::new("memory", Format::Bytes).log(),
        y: Axis::new("waiting", Format::Micros),
        series: vec![Series { band, ..Series::new("all", points) }, Series::new("now", vec![now])],
        ..Chart::default()
    }
}
