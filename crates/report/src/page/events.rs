//! The events of a page: marks on charts, the list of the last ones, and one in detail with the
//! figures before and after it.

use super::PageData;
use super::phrases::{link, prose};
use crate::draw::Mark;
use crate::draw::html::escape;
use crate::effects::EFFECT_S;
use crate::words::{clock_second, count, percent, size, wait};
use crate::{Change, ChangeKind, Fared, say};
use std::fmt::Write;

/// The signs of the kinds of events, with their meanings.
pub(super) const SIGNS: &str = "R restart, S setting, L shift of load, M shift of misses, P plan";

/// Seconds around an event that a click on *zoom* shows.
const AROUND_S: u64 = 150;

pub(super) const fn sign(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Start => "R",
        ChangeKind::Setting => "S",
        ChangeKind::Load => "L",
        ChangeKind::Misses => "M",
        ChangeKind::Plan => "P",
    }
}

/// The events as marks of a chart, each with a link that shows its detail.
pub(super) fn marks(shown: &PageData<'_>) -> Vec<Mark> {
    let time = shown.time();
    let changes = shown.history.changes().filter(|change| time.contains(change.unix_s));
    let mark = |change: &Change| Mark {
        x: change.unix_s as f64,
        sign: sign(change.kind).to_owned(),
        text: format!("{} {}", when(shown, change.unix_s), change.text),
        href: Some(shown.view.with(|view| view.event = Some(change.unix_s)).href("")),
    };
    changes.map(mark).collect()
}

fn when(shown: &PageData<'_>, unix_s: u64) -> String {
    let server = &shown.report.server;
    clock_second(unix_s, server.now_unix_s, server.utc_offset_s)
}

/// The events of one second in detail; nothing if the reader asks for none.
pub(super) fn detail(shown: &PageData<'_>) -> String {
    let Some(unix_s) = shown.view.event else { return String::new() };
    let close = shown.view.with(|view| view.event = None).href("");
    let mut out = String::new();
    for change in shown.history.changes().filter(|change| change.unix_s == unix_s) {
        let around = unix_s.saturating_sub(AROUND_S)..unix_s + AROUND_S;
        let zoom = shown.view.with(|view| view.range = Some(around)).href("");
        let _ = writeln!(
            out,
            "<section class=\"event\" id=\"event\"><h2><i class=\"sign\">{}</i> {} {}</h2>\n\
             <p><a href=\"{zoom}\" data-stay>zoom to this moment</a> · \
             <a href=\"{close}\" data-stay>close</a></p>\n{}</section>",
            sign(change.kind),
            when(shown, unix_s),
            escape(&change.text),
            effects(shown, change),
        );
    }
    out
}

/// The head of a column, and how it shows a figure.
type Figure = (&'static str, fn(&Fared) -> String);

/// The effects of an event: its moves, the claims for it, and the figures before and after.
pub(super) fn effects(shown: &PageData<'_>, change: &Change) -> String {
    let mut out = String::new();
    for moved in &change.moved {
        let (before, after) = (size(moved.before), size(moved.after));
        let _ =
            writeln!(out, "<p>Budget of {}: {before} → {after}</p>", link(shown, &moved.tenant));
    }
    if let Some(promised) = change.promised.filter(|promised| *promised > 0.0) {
        let _ = writeln!(out, "<p>Promised: {} less waiting.</p>", percent(promised));
    }
    if let Some((expected, actual)) = change.expected.zip(change.actual) {
        let _ = writeln!(
            out,
            "<p>Expected {} of the waiting without a cache, actual {}.</p>",
            percent(expected),
            percent(actual)
        );
    }
    if let Some(claimed) = say::claimed(change) {
        let _ = writeln!(out, "<p>{}</p>", escape(&claimed));
    }
    if change.effects.is_empty() {
        let server = &shown.report.server;
        let known = change.unix_s + EFFECT_S;
        return out
            + &if known >= server.now_unix_s {
                let when = clock_second(known, server.now_unix_s, server.utc_offset_s);
                format!("<p>Figures after it are known at {when}.</p>\n")
            } else {
                "<p>Nothing was measured after it.</p>\n".to_owned()
            };
    }
    if change.effects.iter().all(|effect| effect.before.reads_per_s <= 0.0) {
        return out + "<p>Nothing was read before it.</p>\n";
    }
    out += "<table class=\"effects\"><thead><tr><th>tenant</th><th>reads/s</th><th>misses</th>\
            <th>waiting/s</th><th>memory</th></tr></thead>\n<tbody>\n";
    for effect in &change.effects {
        let name =
            effect.tenant.as_ref().map_or_else(|| "all".to_owned(), |name| link(shown, name));
        let _ = write!(out, "<tr><td>{name}</td>");
        let figures: [Figure; 4] = [
            ("reads/s", |fared| count(fared.reads_per_s as u64)),
            ("misses", |fared| percent(fared.miss_ratio)),
            ("waiting/s", |fared| wait(1e3 * fared.wait_ms_per_s)),
            ("memory", |fared| size(fared.used)),
        ];
        for (head, of) in figures {
            let (before, after) = (of(&effect.before), of(&effect.after));
            let _ = write!(out, "<td data-head=\"{head}\">{before} → {after}</td>");
        }
        out += "</tr>\n";
    }
    out + "</tbody></table>\n"
}

/// The last events of the shown time, or of the last ten minutes if a shorter time up to now is
/// shown; without any, the last one before them.
pub(super) fn lately(shown: &PageData<'_>) -> String {
    const LATELY_S: u64 = 600;
    const MOST: usize = 6;
    let (time, now) = (shown.time(), shown.report.server.now_unix_s);
    let is_live = time.to >= now;
    let is_short = is_live && time.to - time.from <= LATELY_S;
    let from = if is_short { now.saturating_sub(LATELY_S) } else { time.from };
    let until_its_end = || shown.history.changes().rev().filter(|change| change.unix_s <= time.to);
    let mut events: Vec<_> = until_its_end().take_while(|change| change.unix_s > from).collect();
    let when_shown = if is_short { "last ten minutes" } else { "shown time" };
    let mut out = format!("<section class=\"lately\"><h2>Changes of the {when_shown}</h2>\n");
    if is_live {
        let moved = say::moved(shown.report, &shown.report.moves);
        let _ = writeln!(out, "<p>{}</p>", prose(&moved.join(" ")));
    }
    let mut lead = String::new();
    if events.len() > MOST {
        lead = format!("The last {MOST} of {}:", events.len());
        events.truncate(MOST);
    } else if events.is_empty() {
        let Some(last) = until_its_end().next() else {
            return out + "<p>Nothing else has changed.</p></section>\n";
        };
        events.push(last);
        lead.push_str("Nothing else. The last change before:");
    }
    let _ = writeln!(out, "<p>{lead}</p><ul class=\"events\">");
    for change in events {
        let href = shown.view.with(|view| view.event = Some(change.unix_s)).href("");
        let told = say::measured(change)
            .map_or_else(String::new, |told| format!(" <small>{}</small>", escape(&told)));
        let _ = writeln!(
            out,
            "<li><a href=\"{href}\" data-stay><i class=\"sign\">{}</i> {}</a> {}{told}</li>",
            sign(change.kind),
            when(shown, change.unix_s),
            escape(&change.text),
        );
    }
    out + "</ul></section>\n"
}
