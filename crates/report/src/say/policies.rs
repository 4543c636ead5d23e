//! A comparison of eviction policies on the present traffic.

use super::lines::{self, COLUMNS};
use crate::Report;
use crate::words::{self, percent, wrap};

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
            "Self-tuning is off, so policies are not compared: CONFIG SET maxmemory-policy auto \
             recipe auto"
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
    let mut lines = lines::first(report, &first);
    let width = trials.iter().map(|trial| trial.policy.len()).max().unwrap_or_default();
    lines.push(format!("  {:<width$}  {:>8}  {:>7}  {:>7}", "policy", "waits", "error", "misses"));
    for trial in &trials {
        let mark = if trial.is_present { "  in force" } else { "" };
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

/// The names of the policies that were compared, in plain words.
pub fn policy_words(report: &Report) -> String {
    let names = report.policies.iter().filter_map(|trial| {
        let name = trial.policy.trim_start_matches("allkeys-");
        Some(format!("{name}: {}.", words::policy(name)?))
    });
    names.collect::<Vec<_>>().join(" ")
}
