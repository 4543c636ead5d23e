//! A comparison of eviction policies on the present traffic.

use super::lines::{self, COLUMNS};
use crate::words::{self, clock, percent, wrap};
use crate::{Change, ChangeKind, PolicyTrial, Report};

/// A difference of miss ratios that needs an explanation if waiting ranks policies otherwise.
const FEWER: f64 = 0.02;

/// The policies, sorted by their waiting on the sampled requests, the least first.
pub fn policies(report: &Report) -> Vec<String> {
    let mut trials = report.policies.clone();
    trials.sort_by(|a, b| a.waits.total_cmp(&b.waits));
    let (Some(best), Some(present)) =
        (trials.first(), trials.iter().find(|trial| trial.is_present))
    else {
        let off = report.plays.as_ref().and_then(|plays| plays.off.as_deref());
        let unlike = off.map(|off| format!("Policies are not compared: {off}"));
        let text = if let Some(unlike) = &unlike {
            unlike
        } else if report.has_classes() {
            "This recipe gives budgets to classes of items, so policies are not compared: recipe \
             auto compares them."
        } else if report.is_steered() {
            "Too few reads were sampled to compare policies: the comparison needs some thousand."
        } else {
            return lines::off("policies are not compared");
        };
        return wrap(text, COLUMNS, 0);
    };
    // One that is clearly better comes before one that only seems so.
    let is_clear = |trial: &&PolicyTrial| standing(trial) == Some("better, not chosen");
    let best = trials.iter().find(is_clear).unwrap_or(best);
    let gain = 1.0 - best.waits;
    let next = trials.get(1).filter(|next| best.is_present && next.waits - next.band > 1.0);
    let first = if let Some(next) = next {
        format!(
            "{} is in force, and clients wait least with it. With the next best, {}, they would \
             wait {} longer.",
            present.policy,
            next.policy,
            percent(next.waits - 1.0)
        )
    } else if !best.is_present && gain <= best.band {
        format!(
            "{} is in force, and no other policy clearly waits less: with {} it is {} less, give \
             or take {}.",
            present.policy,
            best.policy,
            percent(gain),
            percent(best.band)
        )
    } else if best.is_present {
        format!("{} is in force, and no other policy clearly waits less.", present.policy)
    } else {
        format!(
            "With {} clients would wait {} less than with {}, which is in force.",
            best.policy,
            percent(gain),
            present.policy
        )
    };
    let mut lines = lines::first(report, &format!("{first} {}", chosen(report)));
    let width = trials.iter().map(|trial| trial.policy.len()).max().unwrap_or_default();
    lines.push(format!("  {:<width$}  {:>8}  {:>7}  {:>7}", "policy", "waits", "error", "misses"));
    for trial in &trials {
        let mark = standing(trial).map_or_else(String::new, |mark| format!("  {mark}"));
        let band = if trial.is_present { String::new() } else { percent(trial.band) };
        lines.push(format!(
            "  {:<width$}  {:>8}  {band:>7}  {:>7}{mark}",
            trial.policy,
            percent(trial.waits),
            percent(trial.miss_ratio)
        ));
    }
    let fewest = trials.iter().min_by(|a, b| a.miss_ratio.total_cmp(&b.miss_ratio));
    if let Some(fewest) = fewest.filter(|fewest| fewest.miss_ratio < present.miss_ratio - FEWER) {
        let text =
            format!("{} would miss less often, but its misses would cost more.", fewest.policy);
        lines.extend(wrap(&text, COLUMNS, 0).into_iter().filter(|_| fewest.waits > 1.0));
    }
    lines.extend(wrap(
        "waits: time that clients wait for misses, relative to the policy in force. error: of that \
         figure, in 19 of 20 cases. misses: measured for the policy in force; for another one, \
         that figure and the difference between the two when the same sampled requests are \
         replayed.",
        COLUMNS,
        0,
    ));
    lines.extend(wrap(&policy_words(report), COLUMNS, 0));
    lines
}

/// The standing of a policy beside the one in force: why a policy that seems to wait less is not in
/// force. `None` for one that waits longer.
pub fn standing(trial: &PolicyTrial) -> Option<&'static str> {
    match 1.0 - trial.waits {
        _ if trial.is_present => Some("in force"),
        gain if gain <= 0.0 => None,
        gain if gain <= trial.band => Some("not clearly better"),
        _ => Some("better, not chosen"),
    }
}

/// A sentence on who chose the policy in force, and when.
fn chosen(report: &Report) -> String {
    let server = &report.server;
    let is_choice = |change: &&Change| match change.kind {
        ChangeKind::Start => true,
        ChangeKind::Setting => {
            ["maxmemory-policy ", "recipe "].iter().any(|word| change.text.starts_with(word))
        }
        ChangeKind::Plan => change.text.contains(" evicts by "),
        ChangeKind::Load | ChangeKind::Misses => false,
    };
    let last = report.changes.iter().rev().find(is_choice);
    let since = last.map_or_else(String::new, |change| {
        format!(" at {}", clock(change.unix_s, server.now_unix_s, server.utc_offset_s))
    });
    let is_first = last.is_none_or(|change| change.kind == ChangeKind::Start);
    if report.is_steered() && is_first {
        format!(
            "It has been in force since the start{since}. Self-tuning (recipe {}) changes it only \
             for one that was clearly better for minutes on end.",
            server.recipe_name()
        )
    } else if report.is_steered() {
        format!(
            "Self-tuning (recipe {}) chose it{since}, and changes it only for one that was clearly \
             better for minutes on end.",
            server.recipe_name()
        )
    } else {
        format!("The setting `maxmemory-policy {}` chose it{since}.", server.policy)
    }
}

/// The names of the policies that were compared, in plain words.
pub fn policy_words(report: &Report) -> String {
    let names = report.policies.iter().filter_map(|trial| {
        let name = trial.policy.trim_start_matches("allkeys-");
        Some(format!("{name}: {}.", words::policy(name)?))
    });
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;

    /// A policy above the one in force in the table says why it is not in force, and the answer
    /// says who chose the one that is, and when.
    #[test]
    fn a_policy_above_the_one_in_force_is_explained() {
        let mut report = healthy();
        let trial = |policy: &str, waits: f64| PolicyTrial {
            policy: policy.into(),
            is_present: waits == 1.0,
            waits,
            band: 0.05,
            miss_ratio: 0.1,
        };
        let waits = [("allkeys-gittins", 1.0), ("allkeys-lhd", 0.97), ("allkeys-lru", 1.3)];
        report.policies = waits.map(|(policy, waits)| trial(policy, waits)).into();
        let change = |ago: u64, kind, text: &str| Change {
            unix_s: report.server.now_unix_s - ago,
            kind,
            text: text.into(),
            ..Change::default()
        };
        report.changes = vec![
            change(3_600, ChangeKind::Start, "started with recipe static"),
            change(1_200, ChangeKind::Setting, "recipe is now auto (was static)"),
            change(600, ChangeKind::Setting, "maxmemory is now 200 MiB (was 100 MiB)"),
        ];
        let lines = policies(&report);
        let row =
            |name: &str| lines.iter().find(|line| line.contains(name) && line.contains("%  "));
        assert!(row("lhd").unwrap().ends_with("not clearly better"), "{lines:?}");
        assert!(row("lru").unwrap().ends_with('%'), "{lines:?}");
        let says = lines.join(" ");
        assert!(says.contains("Self-tuning (recipe auto) chose it at 14:27,"), "{says}");
        let later = report.changes.split_off(1);
        let says = policies(&report).join(" ");
        assert!(says.contains("in force since the start at 13:47. Self-tuning"), "{says}");
        report.changes.extend(later);
        report.policies[1].waits = 0.8;
        assert_eq!(standing(&report.policies[1]), Some("better, not chosen"));
        report.policies.push(PolicyTrial { band: 0.5, ..trial("allkeys-lfu", 0.7) });
        let says = policies(&report).join(" ");
        assert!(says.contains("With allkeys-lhd clients would wait 20 % less"), "{says}");
        report.server.recipe = "static".into();
        let says = policies(&report).join(" ");
        assert!(says.contains("The setting `maxmemory-policy auto` chose it at 14:27."), "{says}");
    }
}
