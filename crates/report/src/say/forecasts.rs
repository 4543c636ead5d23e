//! How far the forecasts can be trusted: how many were compared with the minutes that followed, and
//! how far off they were.

use super::history::outcomes;
use super::lines::COLUMNS;
use crate::Report;
use crate::words::{clock, comparisons, count, percent, points, wrap};

/// With fewer comparisons there is no verdict.
const FORECASTS_MIN: u64 = 10;

/// With fewer comparisons, a share of 95 % would be about single ones: the worst is told alone.
const SHARE_MIN: u64 = 40;

/// Forecasts are good if half of them are within the first difference of miss ratios and 19 of 20
/// within the second.
const GOOD: (f64, f64) = (0.02, 0.05);

/// They are rough from this difference on, which 19 of 20 are within.
const ROUGH: f64 = 0.1;

/// Forecasts begin so many seconds after a start, and each is compared a minute later.
const BEGIN_S: u64 = 300;
const MINUTE_S: u64 = 60;

/// The text of LARDER FORECASTS.
pub fn forecasts(report: &Report) -> Vec<String> {
    let what = "Once a minute Larder forecasts how many reads of each tenant will miss in the next \
                minute with the memory that the tenant holds, and compares. Forecasts for other \
                sizes rest on the same curves and can be off by more: each has its own band.";
    let all = [verdict(report), what.to_owned()].into_iter().chain(changes(report));
    all.flat_map(|sentence| wrap(&sentence, COLUMNS, 0)).collect()
}

/// How many forecasts were compared, how far off they were, and when the next is due.
pub fn verdict(report: &Report) -> String {
    let forecasts = &report.forecasts;
    let server = &report.server;
    let time = |unix_s| clock(unix_s, server.now_unix_s, server.utc_offset_s);
    let due = due(report);
    let Some(worst) = forecasts.worst.as_ref().filter(|_| forecasts.count > 0) else {
        return format!("No forecast of misses has been compared with what followed yet. {due}");
    };
    let made = match forecasts.count {
        1 => format!("1 forecast of misses was compared, at {}", time(forecasts.to_unix_s)),
        many => format!(
            "{} forecasts of misses were compared, {} to {}",
            count(many),
            time(forecasts.from_unix_s),
            time(forecasts.to_unix_s)
        ),
    };
    let off = format!(
        "{} at {}: {} forecast, {} actual",
        worst.tenant,
        time(worst.unix_s),
        percent(worst.expected),
        percent(worst.actual)
    );
    if forecasts.count < FORECASTS_MIN {
        let all = forecasts.count;
        return format!(
            "{made}: {all} of {all} within {} ({off}). A verdict needs {FORECASTS_MIN}. {due}",
            points(worst.error())
        );
    }
    let trust = match (forecasts.median, forecasts.most) {
        (median, most) if median <= GOOD.0 && most <= GOOD.1 => "Forecasts of misses are good",
        (_, most) if most < ROUGH => "Forecasts of misses are fair",
        _ => "Forecasts of misses are rough: take their figures as hints",
    };
    let median = points(forecasts.median);
    let most = if forecasts.count < SHARE_MIN {
        format!("all {} within {}", forecasts.count, points(worst.error()))
    } else {
        format!("95 % within {}, the worst by {}", points(forecasts.most), points(worst.error()))
    };
    format!(
        "{trust}. Of {} ({} to {}), half were within {median}, {most} ({off}).",
        comparisons(forecasts.count),
        time(forecasts.from_unix_s),
        time(forecasts.to_unix_s),
    )
}

/// A sentence on the time of the next comparison.
fn due(report: &Report) -> String {
    let server = &report.server;
    if server.quiet_s > 0 || report.recent.reads == 0 {
        return "None is due while nobody reads.".to_owned();
    }
    let minute = |unix_s: u64| unix_s.div_ceil(MINUTE_S) * MINUTE_S;
    // A forecast for a minute is made at its beginning.
    let start = server.now_unix_s.saturating_sub(server.uptime_s);
    let begin = minute(start + BEGIN_S) + MINUTE_S;
    let is_late = report.forecasts.count == 0 && server.now_unix_s > begin + MINUTE_S;
    let next = begin.max(minute(server.now_unix_s + 1));
    let when = clock(next, server.now_unix_s, server.utc_offset_s);
    if is_late {
        "A comparison needs a minute with 100 reads of one tenant, and enough sampled reads before \
         it."
        .to_owned()
    } else {
        format!("The next is due at {when}.")
    }
}

/// A sentence on the forecasts for changes of settings that were made.
fn changes(report: &Report) -> Option<String> {
    let all: Vec<bool> = report.changes.iter().flat_map(outcomes).collect();
    let right = all.iter().filter(|is_right| **is_right).count();
    (!all.is_empty()).then(|| {
        format!(
            "Figures foretold for a change of settings that was then made: {right} of {} came true \
             within their bands. LARDER HISTORY lists them.",
            all.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;
    use crate::{ComparedForecast, Forecasts, page, say};

    /// Forecasts of the last minutes, the last of which was off by 4.
    fn forecasts_of(report: &Report, many: u64) -> Forecasts {
        let now = report.server.now_unix_s;
        let one = |at: u64| ComparedForecast {
            tenant: "web".to_owned(),
            unix_s: now - 60 * at,
            expected: 0.2,
            actual: if at == 1 { 0.24 } else { 0.21 },
        };
        Forecasts::of((1..=many).map(one).collect())
    }

    /// Few comparisons are counted one by one, and the time of the next is told.
    #[test]
    fn few_forecasts_have_no_shares() {
        let mut report = healthy();
        report.server.uptime_s = 30;
        report.forecasts = Forecasts::default();
        // The start was at 14:47:21, and forecasts begin at 14:53.
        let says = verdict(&report);
        assert!(says.contains("No forecast of misses") && says.contains("due at 14:54"), "{says}");
        report.server.uptime_s = 2_000;
        report.forecasts = forecasts_of(&report, 4);
        let says = verdict(&report);
        assert!(
            says.starts_with("4 forecasts of misses were compared, 14:43 to 14:46: 4 of 4 within"),
            "{says}"
        );
        assert!(
            says.contains("4.0 percentage points (web at 14:46: 20 % forecast, 24 %"),
            "{says}"
        );
        assert!(says.ends_with("A verdict needs 10. The next is due at 14:48."), "{says}");
        assert!(!says.contains("95 %"), "{says}");
        report.server.quiet_s = 90;
        assert!(verdict(&report).ends_with("None is due while nobody reads."));
    }

    /// From ten on there is a verdict, the same in the terminal and on the page.
    #[test]
    fn enough_forecasts_have_a_verdict() {
        let mut report = healthy();
        for (many, wanted) in [(12, "all 12 within 4.0"), (100, "95 % within 1.0")] {
            report.forecasts = forecasts_of(&report, many);
            let says = verdict(&report);
            assert!(says.starts_with("Forecasts of misses are good. Of "), "{says}");
            assert!(says.contains("half were within 1.0 percentage point, "), "{says}");
            assert!(says.contains(wanted), "{says}");
            let advice = say::advise(&report, None).join(" ");
            assert!(advice.ends_with(&says), "{advice}");
            let (advice, view) = (page::Advice::default(), page::Choices::default());
            let history = crate::History::default();
            let shown =
                page::PageData { report: &report, advice: &advice, history: &history, view: &view };
            let html = page::middle(page::find("/plans").unwrap(), &shown).replace('\u{a0}', " ");
            assert!(html.contains(&says), "{html}");
        }
        report.forecasts.most = 0.3;
        assert!(verdict(&report).starts_with("Forecasts of misses are rough"));
    }
}
