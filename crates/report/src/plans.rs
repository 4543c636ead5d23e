//! What the pilot has to say, in the words of the report: its curves, its plans and their fate.
//!
//! Whoever steers a cache with it, the server or a module of another one, shows the same.

use crate::words::wrap;
use crate::{Change, Curve, History, Moved};
use base::Bytes;
use std::collections::VecDeque;
use tune::pilot::{Decision, Epoch, Status};
use tune::snapshot::{Candidate, best};

/// Points of a curve, where its band does not say at which sizes.
const POINTS: u64 = 32;

/// Pools that lines of a change name.
const MOVED_MAX: usize = 6;

/// A share of the memory that changes hands by a plan and is worth a line.
const MOVED_MIN: f64 = 0.02;

/// Notes plans that come into force, and what came of each.
#[derive(Debug, Default)]
pub struct Plans {
    /// The last epoch whose decision was noted, and whether its change waits for what comes of it.
    epoch: u64,
    awaited: bool,
}

impl Plans {
    /// Writes down what the epochs since the last time decided, and what was not known then.
    pub fn note(&mut self, epochs: &VecDeque<Epoch>, unix_s: u64, history: &mut History) {
        if epochs.back().is_none_or(|last| last.epoch < self.epoch) {
            // Another pilot.
            *self = Self::default();
        }
        for (at, epoch) in epochs.iter().enumerate() {
            if self.awaited && epoch.epoch == self.epoch && epoch.outcome.is_some() {
                if let Some(change) = history.last_change() {
                    (change.expected, change.came) = (epoch.forecast, epoch.outcome);
                }
                self.awaited = false;
            }
            if epoch.epoch <= self.epoch {
                continue;
            }
            self.epoch = epoch.epoch;
            let before = at.checked_sub(1).and_then(|at| epochs.get(at));
            if let Some(change) = change_of(epoch, before, unix_s) {
                history.note(change);
                // Nothing comes of what is not carried out.
                self.awaited = epoch.decision != Decision::Advised;
            }
        }
    }
}

/// What is divided, by how much that was seen.
pub fn headline(status: &Status) -> String {
    format!(
        "recipe {}, epoch {}, {} divided, {:.3} % of the keys sampled, models take {}",
        status.recipe,
        status.epoch,
        status.memory,
        100.0 * status.rate,
        status.model_bytes + status.observer_bytes
    )
}

/// The best of the policies at each size.
pub fn curve(candidates: &[Candidate]) -> Option<Curve> {
    let first = candidates.first()?;
    let end = candidates.iter().map(|candidate| candidate.curve.extent()).max()?;
    let even = (0..=POINTS).map(|step| Bytes(end.0 / POINTS * step)).collect();
    let told: Vec<Bytes> = first.bands.iter().map(|(size, ..)| *size).collect();
    let mut sizes: Vec<Bytes> = if candidates.len() == 1 && told.len() > 1 { told } else { even };
    sizes.dedup();
    let mut curve = Curve { reads: first.reads.min(1e15), ..Curve::default() };
    for (at, size) in sizes.into_iter().enumerate() {
        curve.sizes.push(size.0);
        curve.ratios.push(best(candidates, size).map_or(1.0, |(ratio, _)| ratio));
        if let (1, Some((_, low, high))) = (candidates.len(), first.bands.get(at)) {
            curve.low.push(low.0);
            curve.high.push(high.0);
        }
    }
    Some(curve)
}

/// A line for each pool: what was expected of it and what came, and what the last plan would give.
pub fn pools(status: &Status) -> Vec<String> {
    let before = status.history.iter().rev().nth(1);
    let of_epoch = before.map_or(&[][..], |epoch| &epoch.pools);
    let of_plan = status.plan.as_ref().map_or(&[][..], |plan| &plan.pools);
    let names = of_epoch.iter().map(|pool| &pool.name);
    let new = of_plan.iter().map(|pool| &pool.name);
    let names: Vec<_> =
        names.clone().chain(new.filter(|name| !names.clone().any(|n| n == *name))).collect();
    if names.is_empty() {
        return vec![];
    }
    let dash = || "-".to_owned();
    let mut text = vec![format!(
        "{:<16} {:>9} {:>9} {:>8} {:>10} {:>8}  policy",
        "pool", "has", "expected", "came", "would get", "expects"
    )];
    for name in names {
        let was = of_epoch.iter().find(|pool| pool.name == *name);
        let plan = of_plan.iter().find(|pool| pool.name == *name);
        let has = was.map(|pool| match pool.pages {
            Some(pages) => format!("{pages} pages"),
            None => pool.budget.to_string(),
        });
        let evictor = plan.map(|pool| pool.evictor).or(was.map(|pool| pool.evictor));
        text.push(format!(
            "{name:<16} {:>9} {:>9} {:>8} {:>10} {:>8}  {}",
            has.unwrap_or_else(dash),
            ratio(was.and_then(|pool| pool.forecast)),
            ratio(was.and_then(|pool| pool.outcome)),
            plan.map_or_else(dash, |pool| pool.budget.to_string()),
            ratio(plan.and_then(|pool| pool.miss_ratio)),
            evictor.map_or_else(dash, |evictor| evictor.to_string())
        ));
    }
    text.push(
        "expected, came: miss ratios of the last epoch that ended, with what the pool".into(),
    );
    text.push("has. expects: the miss ratio with what the last plan would give it.".into());
    let notes = status.plan.iter().flat_map(|plan| &plan.notes).map(ToString::to_string);
    text.extend(notes.flat_map(|note| wrap(&note, 80, 2)));
    text
}

/// What became of the plan of an epoch.
pub fn decision(epoch: &Epoch) -> String {
    // A recipe that asks for nothing has no threshold.
    let asked = match epoch.threshold {
        asked if asked.is_finite() => format!(", and {:.1} % are asked for", 100.0 * asked),
        _ => String::new(),
    };
    let gain = 100.0 * epoch.gain;
    let promised = format!("it promises to save {gain:.1} % more than the plan in force{asked}");
    match epoch.decision {
        Decision::Learning => "Too little is known to plan.".to_owned(),
        Decision::Kept => format!("The last plan was not adopted: {promised}."),
        Decision::Cooling => {
            format!("The last plan waits, for the one before is young: {promised}.")
        }
        Decision::Adopted => format!("The last plan is in force: {promised}."),
        Decision::Advised => format!("The last plan is advice: {promised}."),
        Decision::Reversed => {
            format!("The last plan is in force and takes back the one before: {promised}.")
        }
        Decision::FellBack => "What the plan in force had forecast did not come true: the last \
             division that kept its word is in force again, and nothing new is tried for a while."
            .to_owned(),
    }
}

/// A plan that came into force, if it moved anything worth a line; or one that is proposed where
/// nothing is moved, if the one before was not.
fn change_of(epoch: &Epoch, before: Option<&Epoch>, unix_s: u64) -> Option<Change> {
    if epoch.decision == Decision::Advised {
        let is_new = before.is_none_or(|before| before.decision != Decision::Advised);
        let text = "a plan is proposed; nothing is moved".to_owned();
        let promised = Some(epoch.gain).filter(|gain| gain.is_finite() && *gain > 0.0);
        return is_new.then(|| Change { unix_s, text, promised, ..Change::default() });
    }
    let text = match epoch.decision {
        Decision::Adopted => "a plan is in force",
        Decision::Reversed => "a plan takes back the one before",
        Decision::FellBack => "an earlier division is in force again, for the last broke its word",
        Decision::Learning | Decision::Kept | Decision::Cooling | Decision::Advised => return None,
    };
    let all: u64 = epoch.pools.iter().map(|pool| pool.budget.0).sum();
    let before = before.map_or(&[][..], |before| &before.pools);
    let mut policies = vec![];
    let mut moved: Vec<Moved> = vec![];
    for pool in &epoch.pools {
        let Some(old) = before.iter().find(|old| old.name == pool.name) else { continue };
        if old.evictor != pool.evictor {
            policies.push(format!("{} evicts by {}", pool.name, pool.evictor));
        }
        if pool.budget.0.abs_diff(old.budget.0) as f64 >= MOVED_MIN * all as f64 {
            moved.push(Moved {
                tenant: pool.name.clone(),
                before: old.budget.0,
                after: pool.budget.0,
            });
        }
    }
    moved.sort_by_key(|moved| std::cmp::Reverse(moved.before.abs_diff(moved.after)));
    moved.truncate(MOVED_MAX);
    policies.truncate(MOVED_MAX);
    let mut phrases = vec![text.to_owned()];
    phrases.extend(policies);
    let is_news = phrases.len() > 1 || !moved.is_empty();
    is_news.then(|| Change {
        unix_s,
        text: phrases.join(", "),
        moved,
        promised: Some(epoch.gain).filter(|gain| gain.is_finite() && *gain > 0.0),
        ..Change::default()
    })
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.4}"))
}
