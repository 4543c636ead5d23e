//! The stretch of time that all charts of a page share, and the controls that choose it.

use super::PageData;
use crate::draw::Axis;
use crate::words::{clock_second, span};
use std::fmt::Write;

/// The spans that charts may show, in seconds; 0 is the whole history.
const SPANS: [(u64, &str); 6] = [
    (300, "5 minutes"),
    (900, "15 minutes"),
    (3_600, "hour"),
    (86_400, "day"),
    (2_592_000, "month"),
    (0, "all"),
];

/// The stretch that a link shows while nothing is read, in seconds, and its part after the last
/// read.
const BEFORE_S: u64 = 660;
const QUIET_MARGIN_S: u64 = 30;

/// The shortest stretch of the whole history, in seconds.
const WHOLE_MIN_S: u64 = 60;

/// A stretch of time, in Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) from: u64,
    pub(super) to: u64,
    now: u64,
    offset: i32,
}

impl Time {
    pub(super) fn of(shown: &PageData<'_>) -> Self {
        let (now, offset) = (shown.report.server.now_unix_s, shown.report.server.utc_offset_s);
        let (from, to) = match (&shown.view.range, shown.view.span_s) {
            (Some(range), _) => (range.start, range.end),
            (None, 0) => {
                let first =
                    shown.history.since(None, 0).first().map_or(now, |one| one.unix_s.into());
                (first.min(now.saturating_sub(WHOLE_MIN_S)), now)
            }
            (None, span_s) => (now.saturating_sub(span_s), now),
        };
        Self { from, to, now, offset }
    }

    /// The axis of this stretch.
    pub(super) fn axis(&self) -> Axis {
        Axis::time((self.from as f64, self.to as f64), self.offset)
    }

    /// Whether a moment lies in this stretch.
    pub(super) const fn contains(&self, unix_s: u64) -> bool {
        self.from < unix_s && unix_s <= self.to
    }

    fn clock(&self, unix_s: u64) -> String {
        clock_second(unix_s, self.now, self.offset)
    }
}

/// The controls: spans that end now; for another stretch, earlier, later and wider ones.
pub(super) fn controls(shown: &PageData<'_>, path: &str) -> String {
    let (time, view) = (shown.time(), shown.view);
    let mut out = String::from("<nav class=\"time\" aria-label=\"time shown\">");
    for (span_s, name) in SPANS {
        let is_here = view.range.is_none() && span_s == view.span_s;
        let here = if is_here { " aria-current=\"true\"" } else { "" };
        let href = view.with(|view| (view.span_s, view.range) = (span_s, None)).href(path);
        let _ = write!(out, "<a href=\"{href}\"{here}>{name}</a> ");
    }
    let quiet_s = shown.report.server.quiet_s;
    if quiet_s > 0 {
        let to = time.now.saturating_sub(quiet_s) + QUIET_MARGIN_S;
        let href = view.with(|view| view.range = Some(to.saturating_sub(BEFORE_S)..to)).href(path);
        let _ = write!(out, "<a href=\"{href}\">the last minutes with reads</a> ");
    }
    let stretch = time.to.saturating_sub(time.from);
    let mut link = |from: u64, to: u64, sign: &str, word: &str| {
        let href = view.with(|view| view.range = Some(from..to)).href(path);
        let _ =
            write!(out, "<a href=\"{href}\" title=\"{word}\" aria-label=\"{word}\">{sign}</a> ");
    };
    let half = stretch / 2;
    link(time.from.saturating_sub(half), time.to.saturating_sub(half), "◀", "earlier");
    if time.to < time.now {
        link(time.from + half, time.to + half, "▶", "later");
    }
    if view.range.is_some() {
        let to = (time.to + half).min(time.now.max(time.to));
        link(time.from.saturating_sub(half), to, "⤢", "twice as long");
    }
    let is_live = view.range.is_none();
    let to = if is_live { "now".to_owned() } else { time.clock(time.to) };
    let (from, live) = (time.clock(time.from), if is_live { ", live" } else { "" });
    let _ = writeln!(
        out,
        "<span>{from} – {to} ({}{live})</span> <span class=\"hint\">Drag over a chart to zoom in.\
         </span></nav>",
        span(stretch)
    );
    out
}
