//! The changes of a cache, with their times and their effects.
//!
//! The text starts with the gain of self-tuning, and the memory that moved. Each change follows,
//! with the figures measured before and after it and the claims made about it.

use super::gained::gained;
use super::lines::{COLUMNS, first};
use super::moved::{moved, rows};
use crate::claim::{Claim, ClaimedFigure};
use crate::words::{clock, percent, plus_or_minus, size, wait, wrap, zone};
use crate::{Change, ChangeKind, Effect, Fared, MemoryMoves, Report};

/// The time between two events that has a line of its own, in seconds, and that line.
const CALM_S: u64 = 120;
const CALM: &str = "no change of settings, loads or misses.";
/// A change of the misses is found up to this many seconds after it.
const FOUND_S: u64 = 360;

/// Claims that are listed, at most.
const CLAIMS_MAX: usize = 6;
/// A cache whose memory grew by this factor in the two stretches was filling.
const FILLS_BY: f64 = 1.05;
/// A change of the miss ratio that is worth a word.
const POINTS_MIN: f64 = 0.01;

/// The memory that moved and the changes since a moment, the newest last, as lines of text.
pub fn history(report: &Report, moves: &MemoryMoves, since_unix_s: u64) -> Vec<String> {
    let server = &report.server;
    let time = |unix_s| clock(unix_s, server.now_unix_s, server.utc_offset_s);
    let mut paragraphs = pilot(report, moves).into_iter();
    let mut lines = first(report, &paragraphs.next().unwrap_or_default());
    lines.extend(paragraphs.flat_map(|text| wrap(&text, COLUMNS, 0)));
    lines.extend(rows(report, moves));
    let events: Vec<_> =
        report.changes.iter().filter(|change| change.unix_s >= since_unix_s).collect();
    if events.is_empty() {
        lines.push(format!("Nothing else has changed since {}.", time(since_unix_s)));
        return lines;
    }
    let (now, zone) = (server.now_unix_s, zone(server.utc_offset_s));
    lines.push(format!("Changes until now, {} {zone}:", time(now)));
    // What happened before the first known event is not known.
    let known = report.changes.iter().any(|change| change.unix_s < since_unix_s);
    let mut last = if known { since_unix_s } else { events[0].unix_s };
    let calm = |from: u64, to: u64| {
        let to = to.min(now.saturating_sub(FOUND_S));
        let is_long = to.saturating_sub(from) >= CALM_S;
        is_long.then(|| format!("{}–{}  {CALM}", time(from), time(to)))
    };
    for change in events {
        lines.extend(calm(last, change.unix_s));
        last = change.unix_s;
        let when = time(change.unix_s);
        let indent = when.len() + 2;
        lines.extend(wrap(&format!("{when}  {}.", sentence(change)), COLUMNS, indent));
        let margin = " ".repeat(indent);
        for text in measured(change).into_iter().chain(claimed(change)) {
            let wrapped = wrap(&text, COLUMNS - indent, 0);
            lines.extend(wrapped.into_iter().map(|line| format!("{margin}{line}")));
        }
    }
    lines.extend(calm(last, now));
    let open = last.max(now.saturating_sub(FOUND_S));
    if now.saturating_sub(open) >= CALM_S {
        let (from, to) = (time(open), time(now));
        lines.push(format!("{from}–{to}  no change found yet; misses take minutes to show one."));
    }
    lines
}

/// Paragraphs on the recent work of the pilot: what it gained, and who gave memory to whom.
pub fn pilot(report: &Report, moves: &MemoryMoves) -> Vec<String> {
    let moved = moved(report, moves).join(" ");
    let mut paragraphs = vec![worth(report), moved];
    paragraphs.retain(|text| !text.is_empty());
    paragraphs
}

/// The gain of self-tuning, and the recipe in force.
fn worth(report: &Report) -> String {
    if !report.is_steered() {
        return "Self-tuning is off: the eviction policy alone decides what stays.".to_owned();
    }
    let name = report.server.recipe_name();
    if report.recent.seconds == 0 {
        return format!("Nothing was read since the start, so {name} moved no memory.");
    }
    let gain = match gained(report) {
        Some(gained) => gained,
        None if report.has_classes() => {
            format!(
                "The saving by recipe {name} is not measured, because it divides classes of items."
            )
        }
        None => format!("The saving by recipe {name} is not known yet."),
    };
    let begins =
        |change: &&Change| change.kind == ChangeKind::Start || change.text.starts_with("recipe ");
    let Some(change) = report.changes.iter().rev().find(begins) else { return gain };
    let server = &report.server;
    let when = clock(change.unix_s, server.now_unix_s, server.utc_offset_s);
    format!("{gain} Recipe {name} is in force since {when}.")
}

fn sentence(change: &Change) -> String {
    let moved = change
        .moved
        .iter()
        .map(|moved| format!("{} {} to {}", moved.tenant, size(moved.before), size(moved.after)));
    let moved: Vec<_> = moved.collect();
    let mut text = change.text.clone();
    if !moved.is_empty() {
        text = format!("{text}, with the budgets {}", moved.join(", "));
    }
    if let Some(promised) = change.promised.filter(|promised| *promised > 0.0) {
        text = format!("{text}; promised {} less waiting", percent(promised));
    }
    if let (Some(expected), Some(actual)) = (change.expected, change.actual) {
        let (expected, actual) = (percent(expected), percent(actual));
        text =
            format!("{text}; expected {expected} of the waiting without a cache, actual {actual}");
    }
    text
}

/// The miss ratio of a stretch, which has none without reads.
fn missed(fared: &Fared) -> String {
    if fared.reads_per_s > 0.0 { percent(fared.miss_ratio) } else { "no reads".to_owned() }
}

/// The figures measured before and after a change, in a sentence.
pub fn measured(change: &Change) -> Option<String> {
    let all = change.effects.iter().find(|effect| effect.tenant.is_none())?;
    if all.before.reads_per_s <= 0.0 {
        return None;
    }
    // The tenant that an event is about has its figures, whether they changed or not.
    let is_moved = |name: &str| change.moved.iter().any(|moved| moved.tenant == name);
    let is_own = |effect: &Effect| {
        effect.tenant.as_ref().is_some_and(|name| change.is_of(name) || is_moved(name))
    };
    let differs = |effect: &&Effect| {
        is_own(effect) || (effect.before.miss_ratio - effect.after.miss_ratio).abs() >= POINTS_MIN
    };
    let each: Vec<_> = change
        .effects
        .iter()
        .filter(differs)
        .filter_map(|effect| {
            let name = effect.tenant.as_ref()?;
            let (had, has) = (effect.before.used, effect.after.used);
            let memory = if had.abs_diff(has) > had.max(has) / 20 {
                format!(" with {} → {}", size(had), size(has))
            } else {
                String::new()
            };
            // A plan that moves memory has a price and a gain.
            let waited = if is_moved(name) {
                let [before, after] =
                    [&effect.before, &effect.after].map(|fared| wait(1e3 * fared.wait_ms_per_s));
                format!(" (waiting {before} → {after})")
            } else {
                String::new()
            };
            let (before, after) = (missed(&effect.before), missed(&effect.after));
            Some(format!("{name} {before} → {after}{memory}{waited}"))
        })
        .collect();
    // A cache that fills misses less with every second, whatever else happens.
    let (had, has) = (all.before.used, all.after.used);
    let filling = if has as f64 > FILLS_BY * had as f64 {
        format!(" while the cache was filling, {} → {}", size(had), size(has))
    } else {
        String::new()
    };
    let misses = if each.is_empty() {
        format!("misses {} → {}", missed(&all.before), missed(&all.after))
    } else {
        format!("misses of {}", each.join(", "))
    };
    let (before, after) = (1e3 * all.before.wait_ms_per_s, 1e3 * all.after.wait_ms_per_s);
    Some(format!(
        "Measured up to 2 minutes before and after{filling}: {misses}; waiting {} → {} per second.",
        wait(before),
        wait(after)
    ))
}

/// The claims made about a change, in a sentence.
pub fn claimed(change: &Change) -> Option<String> {
    let text = |claim: &Claim| match &claim.what {
        ClaimedFigure::Waiting => {
            format!("waiting {} ± {}", wait(1e3 * claim.value), wait(1e3 * claim.band()))
        }
        ClaimedFigure::Others { .. } => format!(
            "waiting of the other tenants {} ± {}",
            wait(1e3 * claim.value),
            wait(1e3 * claim.band())
        ),
        ClaimedFigure::Misses { tenant } => {
            format!("{tenant} {} {}", percent(claim.value), plus_or_minus(claim.band()))
        }
    };
    let verdict = |claim: &Claim| match actual(change, claim) {
        None => String::new(),
        Some(actual) => {
            let shown = match claim.what {
                ClaimedFigure::Misses { .. } => percent(actual),
                ClaimedFigure::Waiting | ClaimedFigure::Others { .. } => wait(1e3 * actual),
            };
            let verdict = if is_right(claim, actual) { "right" } else { "wrong" };
            format!(" (measured {shown}: {verdict})")
        }
    };
    let told = |claim: &Claim| text(claim) + &verdict(claim);
    let all: Vec<_> = change.claims.iter().take(CLAIMS_MAX).map(told).collect();
    (!all.is_empty()).then(|| format!("Foretold: {}.", all.join(", ")))
}

/// Whether each claim about a change came true, for those whose figure was measured.
pub(super) fn outcomes(change: &Change) -> impl Iterator<Item = bool> + '_ {
    change.claims.iter().filter_map(|claim| Some(is_right(claim, actual(change, claim)?)))
}

fn is_right(claim: &Claim, actual: f64) -> bool {
    (claim.low..=claim.high).contains(&actual)
}

/// The measured value of a claimed figure; `None` before it is known.
fn actual(change: &Change, claim: &Claim) -> Option<f64> {
    let of = |name: Option<&str>| {
        let own = |effect: &&Effect| effect.tenant.as_deref() == name;
        change.effects.iter().find(own).map(|effect| effect.after)
    };
    let after = match &claim.what {
        ClaimedFigure::Waiting => of(None)?.wait_ms_per_s,
        ClaimedFigure::Others { tenant } => {
            of(None)?.wait_ms_per_s - of(Some(tenant))?.wait_ms_per_s
        }
        ClaimedFigure::Misses { tenant } => of(Some(tenant))?.miss_ratio,
    };
    Some(after)
}
