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
    if report.is_steered() {
        format!(
            "Self-tuning (recipe {}) chose it{since}, and changes it only for one that is clearly \
             better, again and again.",
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
