//! Sentences about the facts that a capture assumes because the server does not state them.

use super::summary::Summary;

/// Trusted ratios of the misses that the rule finds to the misses that the server counted.
const TRUSTED: std::ops::RangeInclusive<f64> = 0.5..=1.3;
/// Minimum number of misses for a comparison of the two counts.
const MISSES_MIN: u64 = 50;

/// The sentences, the most important first.
pub(super) fn assumptions(summary: &Summary) -> Vec<String> {
    let mut all = vec![];
    hits(summary, &mut all);
    penalties(summary, &mut all);
    sizes(summary, &mut all);
    if summary.windows > 1 {
        all.push(format!(
            "The capture has pauses between its {} windows: a key that comes back after a pause \
             counts as if no request had arrived during the pause. --window all has no pauses.",
            summary.windows
        ));
    }
    if summary.lost > 0 {
        all.push(format!(
            "The server dropped {} lines because they came too fast: the trace has as many \
             requests too few.",
            summary.lost
        ));
    }
    if summary.malformed > 0 {
        all.push(format!("Larder could not read {} lines.", summary.malformed));
    }
    if !summary.tells_deletions {
        all.push(
            "This memcached does not report deletions (version 1.6.22 does): a deletion looks like \
             a read."
                .to_owned(),
        );
    }
    all
}

fn percent(part: u64, whole: u64) -> String {
    match 100.0 * part as f64 / whole.max(1) as f64 {
        percent if part > 0 && percent < 1.0 => "less than 1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// States how misses were told from hits.
fn hits(summary: &Summary, all: &mut Vec<String>) {
    let fills = summary.fills_by_connection + summary.fills_by_host;
    if summary.tells_hits {
        all.push(format!(
            "The server reports which reads hit. A write within 10 s of a miss of its key counts \
             as the client's answer to the miss ({fills} times), and the time between them as the \
             cost of the miss."
        ));
        return;
    }
    let (counted, found) = (summary.cost.with.misses, summary.misses());
    let ratio = found as f64 / counted.max(1) as f64;
    let mut text = format!(
        "MONITOR does not show which reads hit. A SET within 10 s of a GET of its key counts as \
         the answer to a miss, if both come from the same connection or from a host with only one; \
         the time between them is the cost of the miss: {found} of {} reads ({} by host). In the \
         same time the server itself counted {counted} misses",
        summary.reads(),
        summary.fills_by_host,
    );
    text += match counted {
        ..MISSES_MIN if found < MISSES_MIN => ".",
        _ if TRUSTED.contains(&ratio) => ", which agrees.",
        _ if ratio > 1.0 => {
            ", far fewer: these clients read values and write them back, so do not trust the costs \
             below."
        }
        _ => {
            ", far more: the clients that miss do not fill most misses, so the cost of those is \
             not known."
        }
    };
    all.push(text);
}

fn penalties(summary: &Summary, all: &mut Vec<String>) {
    let filled = &summary.filled;
    let reads = summary.reads();
    if filled.penalties_unknown > 0 {
        all.push(
            "The capture saw no client fill a miss, so it does not know the cost of misses."
                .to_owned(),
        );
        return;
    }
    all.push(format!(
        "For a key without a miss in the capture, the cost is the mean of its earlier misses ({} \
         of the reads) or of its tenant ({}).",
        percent(filled.penalties_of_key, reads),
        percent(filled.penalties_of_tenant, reads)
    ));
    let silent = summary.tenants.iter().filter(|tenant| tenant.reads > 0 && tenant.fetches == 0);
    let silent: Vec<_> = silent.map(|tenant| tenant.name.as_str()).collect();
    if !silent.is_empty() && filled.penalties_of_all > 0 {
        all.push(format!(
            "The capture saw no client fill a miss of {}: their misses get the mean cost of the \
             others.",
            silent.join(", ")
        ));
    }
}

fn sizes(summary: &Summary, all: &mut Vec<String>) {
    let filled = &summary.filled;
    let requests = summary.requests;
    if filled.sizes_asked > 0 {
        all.push(format!(
            "Larder asked the server for the sizes of {} keys that were only read ({} of the \
             requests).",
            summary.keys_asked,
            percent(filled.sizes_asked, requests)
        ));
    }
    if filled.sizes_mean > 0 {
        all.push(format!(
            "{} of the requests have an unknown size, and get the mean size of their tenant.",
            percent(filled.sizes_mean, requests)
        ));
    }
    if filled.sizes_unknown > 0 {
        all.push("No size is known: every value counts as one byte.".to_owned());
    }
    if let Some(why) = &summary.asking_refused {
        all.push(format!("Larder could not ask for sizes: {why}."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture_command::cost::{Cost, Spent};
    use trace::capture::{Filled, TenantSeen};

    fn summary(misses: u64, counted: u64) -> Summary {
        let tenant = TenantSeen { reads: 1_000, misses, fetches: misses, ..TenantSeen::default() };
        let with = Spent { misses: counted, ..Spent::default() };
        let cost = Cost { with, ..Cost::default() };
        let tells_deletions = true;
        Summary { tenants: vec![tenant], cost, tells_deletions, ..Summary::default() }
    }

    /// Clients that read values and write them back look like misses. The server's own count
    /// reveals it.
    #[test]
    fn the_rule_is_held_against_the_servers_count() {
        for (misses, counted, part) in [
            (200, 210, "which agrees"),
            (200, 20, "do not trust"),
            (60, 400, "far more"),
            (4, 30, "counted 30 misses."),
        ] {
            let text = assumptions(&summary(misses, counted)).join("\n");
            assert!(text.contains(part), "{misses} {counted}: {text}");
        }
    }

    #[test]
    fn everything_that_was_filled_in_is_said() {
        let mut summary = summary(200, 210);
        assert_eq!(assumptions(&summary).len(), 2);
        summary.filled = Filled { sizes_asked: 5, sizes_mean: 9, ..Filled::default() };
        (summary.windows, summary.lost, summary.malformed) = (3, 7, 1);
        summary.tells_deletions = false;
        summary.tenants.push(TenantSeen { name: "b".into(), reads: 5, ..TenantSeen::default() });
        summary.filled.penalties_of_all = 5;
        let text = assumptions(&summary).join("\n");
        for part in ["asked", "mean size", "3 windows", "7 lines", "1 lines", "looks"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("no client fill a miss of b"), "{text}");
        summary.filled.penalties_unknown = 1;
        assert!(assumptions(&summary).join("\n").contains("does not know the cost of misses"));
    }
}
