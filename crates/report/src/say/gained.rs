//! The gain of self-tuning, as the waiting and the misses that one undivided LRU cache would have
//! caused: over the whole run, in the last hour, and now.

use crate::claim::{self, LRU};
use crate::words::{clock, percent, points, span, wait};
use crate::{Gain, Report};

/// The last hour is told apart once the run is this long, in seconds.
const HOUR_AND_MORE_S: u64 = 4_200;

/// Sentences on the gain; `None` where nothing is known of it, or LRU is in force.
pub(super) fn gained(report: &Report) -> Option<String> {
    match (whole(report), now(report)) {
        (Some(whole), Some(now)) => Some(format!("{whole} {now}")),
        (whole, now) => whole.or(now),
    }
}

/// The whole run, and the last hour of a longer one.
fn whole(report: &Report) -> Option<String> {
    let gains = report.gains.as_ref()?;
    let (server, run) = (&report.server, &gains.run);
    let (longer, band) = run.longer()?;
    let since = clock(run.from_unix_s, server.now_unix_s, server.utc_offset_s);
    let missed = |misses: f64| percent(misses / run.reads.max(1) as f64);
    let all_s = server.now_unix_s.saturating_sub(run.from_unix_s);
    let compared = if run.seconds < run.read_s {
        let (all, compared) = (span(run.read_s), span(run.seconds));
        format!(" Of {all} with reads, {compared} could be compared.")
    } else {
        String::new()
    };
    let in_all = wait(1e3 * (run.lru_wait_ms - run.wait_ms).abs());
    let mut says = format!(
        "Since {since} one shared LRU cache would have made clients wait {}, and would have missed \
         {} of the reads instead of {}.{compared}",
        verdict(longer, band, &format!(" ({in_all} in all)")),
        missed(run.lru_misses),
        missed(run.misses as f64),
    );
    if let Some((longer, band)) = Gain::longer(&gains.hour).filter(|_| all_s > HOUR_AND_MORE_S) {
        says += " In the last hour: ";
        says += &verdict(longer, band, "");
        says.push('.');
    }
    Some(says)
}

/// The comparison of this moment.
fn now(report: &Report) -> Option<String> {
    if report.policies.iter().any(|trial| trial.is_present && trial.policy == LRU) {
        return None;
    }
    if report.plays.as_ref().is_some_and(|plays| plays.off.is_some()) {
        let text = "There is no comparison with one shared LRU cache now: LARDER POLICIES (on a \
                    dashboard, the page Advice) says why.";
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
