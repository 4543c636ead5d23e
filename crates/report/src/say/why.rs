//! The causes of a tenant's misses, in sentences.

use super::lines::{COLUMNS, first, lately};
use crate::words::{clock, count, percent, size, wait, wrap};
use crate::{Report, Tenant};
use base::Cause;

/// An explanation of each cause, and its cure.
const fn meaning(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::NeverSeen => ("the key was never written before", "write it before clients read it"),
        Cause::Evicted => ("the item was evicted to make room", "more memory"),
        Cause::Expired => ("its time to live was over", "a longer TTL"),
        Cause::Deleted => ("a client had deleted it", "write the new value instead"),
        Cause::TooEarly => ("it was written only later", "write it earlier"),
    }
}

/// The name of a cause in sentences and legends.
pub const fn word(cause: Cause) -> &'static str {
    match cause {
        Cause::NeverSeen => "never written",
        Cause::Evicted => "evicted",
        Cause::Expired => "expired",
        Cause::Deleted => "deleted",
        Cause::TooEarly => "read too early",
    }
}

/// The text of LARDER WHY: the miss ratio of a tenant, then its causes, the largest first.
pub fn why(report: &Report, tenant: &Tenant) -> Vec<String> {
    let recent = &tenant.recent;
    let name = &tenant.name;
    let Some(ratio) = recent.miss_ratio() else {
        return vec![format!("{name} had no reads {}.", lately(report, recent))];
    };
    let costs = match tenant.penalty_us {
        Some(us) => format!(
            ", and waits {} per second for them: a miss costs {}",
            wait(1e3 * recent.wait_ms_per_s()),
            wait(us)
        ),
        None => ", and their cost has not been measured".to_owned(),
    };
    let says = format!(
        "{name} misses {} of {} reads {}{costs}.",
        percent(ratio),
        count(recent.reads),
        lately(report, recent)
    );
    let mut lines = first(report, &says);
    let missed = |cause: Cause| Some((recent.missed_for(cause)?, cause));
    let mut causes: Vec<_> = Cause::ALL.into_iter().filter_map(missed).collect();
    causes.sort_by(|a, b| b.0.total_cmp(&a.0));
    if causes.is_empty() {
        let sampled = recent.sampled;
        let reason = if report.is_steered() {
            format!(
                "Too few of its misses were sampled to tell the causes: {sampled} of the 100 \
                 needed."
            )
        } else {
            "Self-tuning is off, so causes are not measured: CONFIG SET maxmemory-policy auto \
             recipe auto"
                .to_owned()
        };
        lines.extend(wrap(&reason, COLUMNS, 0));
        return lines;
    }
    lines.push("Causes, as shares of the reads:".to_owned());
    for (share, cause) in causes.into_iter().filter(|(share, _)| *share >= 0.0005) {
        let (means, cure) = meaning(cause);
        lines.push(format!("  {:>7}  {means}: {cure}", percent(share)));
    }
    let declined = tenant.counters.not_admitted;
    if declined > 0 {
        let says = format!(
            "{} of its writes of large values were not admitted: the items to evict for them were \
             worth more.",
            count(declined)
        );
        lines.extend(wrap(&says, COLUMNS, 0));
    }
    if let Some(shift) = &tenant.shift {
        let server = &report.server;
        let when = clock(shift.unix_s, server.now_unix_s, server.utc_offset_s);
        let moves = &report.moves;
        let cause = if moves.was_filling && shift.unix_s <= moves.full_unix_s {
            " The cause: the cache was filling."
        } else {
            ""
        };
        let says = format!(
            "Until {when} it missed {} with {} on average; since then {} with {}.{cause}",
            percent(shift.before),
            size(shift.used_before),
            percent(shift.since),
            size(shift.used_since)
        );
        lines.extend(wrap(&says, COLUMNS, 0));
    }
    lines
}
