//! The causes of a tenant's misses, in sentences.

use super::lines::{COLUMNS, lately, off, quiet, typed};
use crate::recent::SAMPLED_MIN;
use crate::sizing::Sizing;
use crate::words::{clock, count, percent, size, span, wait, wrap};
use crate::{History, Recent, Report, Tenant};
use base::Cause;

/// Stretches whose causes are told where those of the last minutes are not known, in seconds.
const LONGER_S: [u64; 3] = [300, 900, 3_600];

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

/// The effect of more memory on a tenant, as its curve tells; `None` where there is none.
fn more_memory(tenant: &Tenant) -> Option<String> {
    let sizing = Sizing::of(tenant).filter(|_| !tenant.is_silent())?;
    let saves = sizing.at(tenant.used).ratio - sizing.at(tenant.used.saturating_mul(2)).ratio;
    let points = 100.0 * saves.max(0.0);
    Some(match points {
        points if points < 0.05 => "twice the memory saves none".to_owned(),
        points if points < 9.95 => format!("twice the memory saves {points:.1} points"),
        points => format!("twice the memory saves {points:.0} points"),
    })
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
    told(report, tenant, None)
}

/// [`why`]; if too few misses were sampled lately, the causes are those of a longer stretch.
pub fn why_known(report: &Report, tenant: &Tenant, history: &History) -> Vec<String> {
    let (recent, now) = (&tenant.recent, report.server.now_unix_s);
    let longer =
        |seconds: &u64| history.between(Some(&tenant.name), now.saturating_sub(*seconds), now);
    let known = |longer: &Recent| longer.sampled >= SAMPLED_MIN;
    let is_needed = recent.reads > 0 && recent.sampled < SAMPLED_MIN;
    let longer = LONGER_S.iter().map(longer).find(known).filter(|_| is_needed);
    told(report, tenant, longer)
}

fn told(report: &Report, tenant: &Tenant, longer: Option<Recent>) -> Vec<String> {
    let recent = &tenant.recent;
    let stretch = lately(report, recent);
    let lines = match longer {
        Some(longer) => why_then(report, tenant, &longer, report.server.now_unix_s),
        None => causes(report, tenant, recent, (&stretch, tenant.penalty_us)),
    };
    let mut lines: Vec<_> =
        quiet(report).iter().flat_map(|says| wrap(says, COLUMNS, 0)).chain(lines).collect();
    lines.extend(longer.and_then(|longer| ask_longer(&tenant.name, &longer)).into_iter().flatten());
    if recent.reads == 0 {
        return lines;
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
    lines.extend(shifted(report, tenant));
    lines
}

/// The command for a longer time, if there were no reads in this one.
fn ask_longer(name: &str, recent: &Recent) -> Option<[String; 2]> {
    const LONGER: [(u64, &str); 3] = [(3_600, "1h"), (86_400, "1d"), (2_592_000, "30d")];
    let longer = LONGER.into_iter().find(|(seconds, _)| *seconds > recent.seconds)?.1;
    let says = "A longer time may have reads:".to_owned();
    (recent.reads == 0).then(|| [says, typed(&format!("LARDER WHY {name} {longer}"))])
}

/// The causes of a tenant's misses in a past stretch, which `recent` sums up, until `to_unix_s`.
pub fn why_then(report: &Report, tenant: &Tenant, recent: &Recent, to_unix_s: u64) -> Vec<String> {
    let server = &report.server;
    let time = |unix_s| clock(unix_s, server.now_unix_s, server.utc_offset_s);
    let stretch = if to_unix_s < server.now_unix_s {
        let from_unix_s = to_unix_s.saturating_sub(recent.seconds);
        format!("from {} to {}", time(from_unix_s), time(to_unix_s))
    } else {
        format!("in the last {}", span(recent.seconds))
    };
    causes(report, tenant, recent, (&stretch, recent.miss_us()))
}

/// The misses of a stretch and their causes.
fn causes(
    report: &Report,
    tenant: &Tenant,
    recent: &Recent,
    (stretch, penalty_us): (&str, Option<f64>),
) -> Vec<String> {
    let name = &tenant.name;
    let Some(ratio) = recent.miss_ratio() else {
        return vec![format!("{name} had no reads {stretch}.")];
    };
    let costs = match penalty_us {
        Some(us) => format!(
            ", and waits {} per second for them: a miss costs {}",
            wait(1e3 * recent.wait_ms_per_s()),
            wait(us)
        ),
        None => ", and their cost has not been measured".to_owned(),
    };
    let says = format!(
        "{name} misses {} of {} reads {stretch}{costs}.",
        percent(ratio),
        count(recent.reads),
    );
    let mut lines = wrap(&says, COLUMNS, 0);
    let missed = |cause: Cause| Some((recent.missed_for(cause)?, cause));
    let mut causes: Vec<_> = Cause::ALL.into_iter().filter_map(missed).collect();
    causes.sort_by(|a, b| b.0.total_cmp(&a.0));
    if causes.is_empty() {
        if !report.is_steered() {
            lines.extend(off("causes are not measured"));
            return lines;
        }
        let reason = format!(
            "Too few of its misses were sampled to tell the causes: {} of the {SAMPLED_MIN} \
             needed. {}",
            recent.sampled,
            ask_when(report, recent)
        );
        lines.extend(wrap(&reason, COLUMNS, 0));
        return lines;
    }
    lines.push("Causes, as shares of the reads:".to_owned());
    for (share, cause) in causes.into_iter().filter(|(share, _)| *share >= 0.0005) {
        let (means, cure) = meaning(cause);
        // More memory is no cure where the curve is flat.
        let more = more_memory(tenant).filter(|_| cause == Cause::Evicted);
        let is_new = cause == Cause::NeverSeen && report.is_young();
        let young = is_new.then_some("usual in a young cache");
        let cure = more.as_deref().or(young).unwrap_or(cure);
        lines.push(format!("  {:>7}  {means}: {cure}", percent(share)));
    }
    lines
}

/// The time at which enough misses will have been sampled.
fn ask_when(report: &Report, recent: &Recent) -> String {
    let rate = recent.sampled as f64 / recent.seconds.max(1) as f64;
    if rate <= 0.0 || report.server.quiet_s > 0 {
        return "Ask again while clients read.".to_owned();
    }
    let seconds = ((SAMPLED_MIN - recent.sampled.min(SAMPLED_MIN)) as f64 / rate).ceil() as u64;
    let server = &report.server;
    let at = clock(server.now_unix_s + seconds, server.now_unix_s, server.utc_offset_s);
    format!("Ask again in about {}, at {at}.", span(seconds.max(1)))
}

/// The largest change of a tenant's misses within the last two hours, in a sentence.
fn shifted(report: &Report, tenant: &Tenant) -> Vec<String> {
    let Some(shift) = &tenant.shift else { return vec![] };
    let server = &report.server;
    let when = clock(shift.unix_s, server.now_unix_s, server.utc_offset_s);
    let moves = &report.moves;
    let cause = match &shift.because {
        _ if moves.was_filling && shift.unix_s <= moves.full_unix_s => {
            " The cause: the cache was filling.".to_owned()
        }
        Some(because) => format!(" That is not for its memory, but {because}."),
        None => String::new(),
    };
    let says = format!(
        "Until {when} it missed {} with {} on average; since then {} with {}.{cause}",
        percent(shift.before),
        size(shift.used_before),
        percent(shift.since),
        size(shift.used_since)
    );
    wrap(&says, COLUMNS, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Point;
    use crate::finding::tests::{healthy, tenant};

    /// More memory is advised for evictions by what the curve says of it.
    #[test]
    fn memory_is_a_cure_where_it_helps() {
        let mut report = healthy();
        report.tenants[0] = tenant("web", 100 << 20, 900 << 20, 5e3);
        let says = |report: &Report| why(report, &report.tenants[0]).join(" ");
        assert!(
            says(&report).contains("to make room: twice the memory saves 2"),
            "{}",
            says(&report)
        );
        report.tenants[0] = tenant("web", 200 << 20, 200 << 20, 5e3);
        let recent = &mut report.tenants[0].recent;
        recent.causes = [0, recent.misses, 0, 0, 0];
        assert!(says(&report).contains("to make room: twice the memory saves none"));
    }

    /// A past stretch has causes of its own.
    #[test]
    fn a_past_stretch_is_told() {
        let (mut history, report) = (History::default(), healthy());
        let now = report.server.now_unix_s;
        for second in 1..=1_200 {
            let causes = if second <= 600 { [0, 0, 20, 0, 0] } else { [0, 10, 0, 0, 0] };
            let point = Point {
                unix_s: (now - 1_200 + second) as u32,
                reads: 100,
                misses: causes.iter().sum(),
                causes,
                sampled: 5,
                wait_ms: 40.0,
                ..Point::default()
            };
            history.push([("web", point)].into_iter());
        }
        let told = |from, to| {
            let recent = history.between(Some("web"), from, to);
            why_then(&report, &report.tenants[0], &recent, to).join(" ")
        };
        // Of the last minute too few were sampled: the causes are those of five minutes.
        let recent = history.recent(Some("web"), now, 19);
        let mut report = report.clone();
        report.tenants[0].recent = recent;
        assert!(why(&report, &report.tenants[0]).join(" ").contains("95 of the 100 needed"));
        let known = why_known(&report, &report.tenants[0], &history).join(" ");
        assert!(known.contains("in the last 5 minutes") && known.contains("10 %  the item"));
        let old = told(now - 1_200, now - 600);
        assert!(
            old.starts_with("web misses 20 % of ") && old.contains("from 14:27 to 14:37"),
            "{old}"
        );
        assert!(old.contains("a miss costs 2.0 ms") && old.contains("  20 %  its time"), "{old}");
        let new = told(now - 900, now);
        assert!(new.contains("in the last 15 minutes") && new.contains("6.7 %  the item"), "{new}");
    }
}
