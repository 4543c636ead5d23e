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
            "Between the {} windows nobody looked: a key that comes back after a pause counts as \
             if nothing had been asked for in it. --window all has no pause.",
            summary.windows
        ));
    }
    if summary.lost > 0 {
        all.push(format!(
            "The server left {} lines out, for they came too fast: what is here is too little by \
             as much.",
            summary.lost
        ));
    }
    if summary.malformed > 0 {
        all.push(format!("{} lines could not be understood.", summary.malformed));
    }
    if !summary.tells_deletions {
        all.push(
            "This memcached does not tell of removals (1.6.22 does): a removal looks like a read."
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
            "The server says which reads hit. A write that follows a miss of its key within 10 s \
             is taken for its answer ({fills} times), the time between for what the miss cost."
        ));
        return;
    }
    let (counted, found) = (summary.cost.with.misses, summary.misses());
    let ratio = found as f64 / counted.max(1) as f64;
    let mut text = format!(
        "MONITOR does not say which reads hit. A SET that follows a GET of its key by the same \
         connection, or by the only one of its host, within 10 s is taken for the answer to a \
         miss, and the time between for what the miss cost: {found} of {} reads ({} by host). The \
         server itself counted {counted} misses meanwhile",
        summary.reads(),
        summary.fills_by_host,
    );
    text += match counted {
        ..MISSES_MIN if found < MISSES_MIN => ".",
        _ if TRUSTED.contains(&ratio) => ", which fits.",
        _ if ratio > 1.0 => {
            ", far fewer: these clients read values and write them back, and the costs below are \
             not to be trusted."
        }
        _ => ", far more: most misses are not filled by who missed, and their cost is not known.",
    };
    all.push(text);
}

fn penalties(summary: &Summary, all: &mut Vec<String>) {
    let filled = &summary.filled;
    let reads = summary.reads();
    if filled.penalties_unknown > 0 {
        all.push(
            "No miss was seen to be filled, so nothing is known of what misses cost.".to_owned(),
        );
        return;
    }
    all.push(format!(
        "What a miss of a key costs that did not miss meanwhile is that of its earlier misses ({} \
         of the reads) or the mean of its tenant ({}).",
        percent(filled.penalties_of_key, reads),
        percent(filled.penalties_of_tenant, reads)
    ));
    let silent = summary.tenants.iter().filter(|tenant| tenant.reads > 0 && tenant.fetches == 0);
    let silent: Vec<_> = silent.map(|tenant| tenant.name.as_str()).collect();
    if !silent.is_empty() && filled.penalties_of_all > 0 {
        all.push(format!(
            "No miss of {} was seen to be filled: theirs are taken to cost what those of the \
             others do.",
            silent.join(", ")
        ));
    }
}

fn sizes(summary: &Summary, all: &mut Vec<String>) {
    let filled = &summary.filled;
    let requests = summary.requests;
    if filled.sizes_asked > 0 {
        all.push(format!(
            "Sizes of {} keys that were only read were asked for ({} of the requests).",
            summary.keys_asked,
            percent(filled.sizes_asked, requests)
        ));
    }
    if filled.sizes_mean > 0 {
        all.push(format!(
            "The sizes of {} of the requests are not known and taken for the mean of the tenant.",
            percent(filled.sizes_mean, requests)
        ));
    }
    if filled.sizes_unknown > 0 {
        all.push("No size is known at all: every value counts as one byte.".to_owned());
    }
    if let Some(why) = &summary.asking_refused {
        all.push(format!("Sizes could not be asked for: {why}."));
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
            (200, 210, "which fits"),
            (200, 20, "not to be trusted"),
            (60, 400, "far more"),
            (4, 30, "30 misses meanwhile."),
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
        for part in ["asked for", "mean of the tenant", "3 windows", "7 lines", "1 lines", "looks"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("No miss of b was seen"), "{text}");
        summary.filled.penalties_unknown = 1;
        assert!(assumptions(&summary).join("\n").contains("nothing is known of what misses cost"));
    }
}
