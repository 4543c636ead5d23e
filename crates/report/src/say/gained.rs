//! The gain of self-tuning, as the waiting and the misses that one undivided LRU cache would have
//! caused: over the whole run, in the last hour, and now.

use crate::claim::{self, LRU};
use crate::words::{clock, percent, points, span, wait};
use crate::{Gain, Report};

/// Sentences on the gain; `None` where nothing is known of it, or LRU is in force.
pub(super) fn gained(report: &Report) -> Option<String> {
    joined(whole(report), now(report))
}

/// The gain over the whole run and now, for a text that is about more than the gain.
pub(super) fn gained_briefly(report: &Report) -> Option<String> {
    let server = &report.server;
    let of_run = |run: &Gain| {
        let (longer, band) = run.longer()?;
        let since = clock(run.from_unix_s, server.now_unix_s, server.utc_offset_s);
        Some(format!("Since {since} {LONGER} {}.", verdict(longer, band, "")))
    };
    joined(report.gains.as_ref().and_then(|gains| of_run(&gains.run)), now(report))
}

fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one} {other}")),
        (one, other) => one.or(other),
    }
}

/// The words before a verdict on the past.
const LONGER: &str = "one shared LRU cache would have made clients wait";

/// The stretch that the reader asks for, if any, then the whole run, and the last hour of a longer
/// one.
fn whole(report: &Report) -> Option<String> {
    let gains = report.gains.as_ref()?;
    let (server, run) = (&report.server, &gains.run);
    let (longer, band) = run.longer()?;
    let time = |unix_s: u64| clock(unix_s, server.now_unix_s, server.utc_offset_s);
    if let Some((from_unix_s, gain)) = gains.asked.filter(|(from, _)| *from > run.from_unix_s) {
        let since = time(from_unix_s);
        let asked = stretch(&since, &gain).unwrap_or_else(|| {
            format!("Since {since} no minute could be compared with one shared LRU cache.")
        });
        let all = verdict(longer, band, &in_all(run));
        return Some(format!("{asked} Since {}: {all}.", time(run.from_unix_s)));
    }
    let mut says = stretch(&time(run.from_unix_s), run)?;
    let is_long = gains.is_over_an_hour(server.now_unix_s);
    if let Some((longer, band)) = Gain::longer(&gains.hour).filter(|_| is_long) {
        says += " In the last hour: ";
        says += &verdict(longer, band, "");
        says.push('.');
    }
    Some(says)
}

/// The waiting and the misses of a stretch beside those with LRU; `None` where nobody waited.
fn stretch(since: &str, gain: &Gain) -> Option<String> {
    let (longer, band) = gain.longer()?;
    let missed = |misses: f64| percent(misses / gain.reads.max(1) as f64);
    let compared = if gain.seconds < gain.read_s {
        let (all, compared) = (span(gain.read_s), span(gain.seconds));
        format!(" Of {all} with reads, {compared} could be compared.")
    } else {
        String::new()
    };
    Some(format!(
        "Since {since} {LONGER} {}, and would have missed {} of the reads instead of {}.{compared}",
        verdict(longer, band, &in_all(gain)),
        missed(gain.lru_misses),
        missed(gain.misses as f64),
    ))
}

/// The waiting of a stretch with LRU and its actual waiting.
fn in_all(gain: &Gain) -> String {
    let (lru, actual) = (wait(1e3 * gain.lru_wait_ms), wait(1e3 * gain.wait_ms));
    format!(" ({lru} of waiting in all instead of {actual})")
}

/// The comparison of this moment.
fn now(report: &Report) -> Option<String> {
    if report.policies.iter().any(|trial| trial.is_present && trial.policy == LRU) {
        return None;
    }
    if report.plays.as_ref().is_some_and(|plays| plays.off.is_some()) {
        let text = "There is no comparison with one shared LRU cache now: LARDER POLICIES (on a \
                    dashboard, the page What self-tuning did) says why.";
        return Some(text.to_owned());
    }
    let lru = claim::policy(report, LRU)?;
    let share = |ms: f64| ms / lru.now.max(f64::MIN_POSITIVE);
    let verdict = verdict(share(lru.change()), share(lru.band()), "");
    Some(match report.gains {
        Some(_) => format!("Now it would make them wait {verdict}."),
        None => format!("One shared LRU cache would make clients wait {verdict}."),
    })
}

/// How much longer, or shorter, clients would wait, with the band and with `more` about the
/// difference.
fn verdict(longer: f64, band: f64, more: &str) -> String {
    match longer {
        _ if longer.abs() <= band => {
            format!(
                "about as long: the difference is below the {} that chance explains",
                percent(band)
            )
        }
        _ if longer > 0.0 => {
            format!("{} longer{more}, give or take {}", percent(longer), points(band))
        }
        _ => format!("{} less{more}, give or take {}", percent(-longer), points(band)),
    }
}
