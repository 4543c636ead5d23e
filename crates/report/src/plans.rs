//! The pilot's state in the terms of the report: its curves, its plans and their outcomes.
//!
//! The server and a module that steers another cache show the same lines.

use crate::words::wrap;
use crate::{Change, Curve, History, Moved};
use base::Bytes;
use std::collections::VecDeque;
use tune::Evictor;
use tune::pilot::{Decision, Epoch, Status};
use tune::snapshot::{Candidate, best};

/// Intervals of a curve with evenly spaced sizes: one with several candidates, or without bands.
const POINTS: u64 = 32;

/// Pools that the text of a change names, at most.
const MOVED_MAX: usize = 6;

/// A move of memory is worth a line from this share of the budgets of all pools on.
const MOVED_MIN: f64 = 0.02;

/// Records the plans that come into force, and the outcome of each.
#[derive(Debug, Default)]
pub struct Plans {
    /// The last epoch whose decision was recorded, and whether its change still waits for an
    /// outcome.
    epoch: u64,
    awaited: bool,
}

impl Plans {
    /// Records the decisions of new epochs, and outcomes that the previous call did not know.
    pub fn note(&mut self, epochs: &VecDeque<Epoch>, unix_s: u64, history: &mut History) {
        if epochs.back().is_none_or(|last| last.epoch < self.epoch) {
            // Epochs start again only with another pilot.
            *self = Self::default();
        }
        for (at, epoch) in epochs.iter().enumerate() {
            if self.awaited && epoch.epoch == self.epoch && epoch.outcome.is_some() {
                if let Some(change) = history.last_plan() {
                    (change.expected, change.actual) = (epoch.forecast, epoch.outcome);
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
                // A plan that is not carried out has no outcome.
                self.awaited = epoch.decision != Decision::Advised;
            }
        }
    }
}

/// One line with recipe, round, memory to divide, share of sampled keys and memory of the models.
pub fn headline(status: &Status) -> String {
    format!(
        "recipe {}, round {} of planning, {} divided, {:.3} % of the keys sampled, models take {}",
        status.recipe,
        status.epoch,
        status.memory,
        100.0 * status.rate,
        status.model_bytes + status.observer_bytes
    )
}

/// The miss ratio of the best policy at each size; with bands if there is one candidate only.
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

/// A line for each pool: its forecast and its actual miss ratio, and the budget and forecast of the
/// last plan.
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
        "{:<14} {:>9} {:>9} {:>8} {:>10} {:>8}  policy",
        "pool", "has", "expected", "actual", "would get", "expects"
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
            "{name:<14} {:>9} {:>9} {:>8} {:>10} {:>8}  {}",
            has.unwrap_or_else(dash),
            ratio(was.and_then(|pool| pool.forecast)),
            ratio(was.and_then(|pool| pool.outcome)),
            plan.map_or_else(dash, |pool| pool.budget.to_string()),
            ratio(plan.and_then(|pool| pool.miss_ratio)),
            evictor.map_or_else(dash, named)
        ));
    }
    text.extend(wrap(
        "expected, actual: miss ratios of the last complete round, with the memory of 'has'. \
         expects: the forecast miss ratio with the memory of the last plan. A round is short, so \
         these differ from the misses in LARDER ADVISE, which are of minutes. policy: the order of \
         evictions.",
        80,
        0,
    ));
    text.extend(wrap(&policy_words(names_of(status)), 80, 0));
    let notes: Vec<_> = status.plan.iter().flat_map(|plan| &plan.notes).collect();
    text.extend(notes.iter().flat_map(|note| wrap(note, 80, 2)));
    if notes.iter().any(|note| note.starts_with("in miniature")) {
        text.extend(wrap(
            "in miniature: in small caches that replay sampled keys, whose figures decide on the \
             policy. LARDER POLICIES has other figures: fitted to the measured misses, with their \
             errors.",
            80,
            0,
        ));
    }
    text
}

/// A policy as LARDER POLICIES names it. LRU has the number of items that an eviction compares,
/// which recipes change.
fn named(evictor: Evictor) -> String {
    let name = evictor.setting();
    if evictor.policy == "klru" { format!("{name} k={}", evictor.k) } else { name }
}

/// The policies of all pools.
fn names_of(status: &Status) -> impl Iterator<Item = &'static str> {
    let of_epoch = status.history.iter().rev().take(2).flat_map(|epoch| &epoch.pools);
    of_epoch.map(|pool| pool.evictor.policy)
}

/// The policies in plain words.
fn policy_words<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = names.collect();
    known.sort_unstable();
    known.dedup();
    let names_k = known.contains(&"klru");
    let mut says = vec![];
    for name in known {
        says.extend(crate::words::policy(name).map(|means| {
            let name = if name == "klru" { "lru" } else { name };
            format!("{name}: {means}.")
        }));
    }
    if names_k {
        says.push("k: how many items an eviction compares.".to_owned());
    }
    says.join(" ")
}

/// A sentence on the fate of the plan of an epoch.
pub fn decision(epoch: &Epoch) -> String {
    if let ([pool], Decision::Kept | Decision::Cooling) = (&epoch.pools[..], epoch.decision) {
        return format!(
            "One pool holds the items of all tenants, so there is no division to plan: memory \
             moves with each eviction, and LARDER HISTORY tells who gave it to whom. The policy \
             stays {}: no other promises to save enough more.",
            pool.evictor.setting()
        );
    }
    // A recipe that asks for no minimum gain has no finite threshold.
    let asked = match epoch.threshold {
        asked if asked.is_finite() => format!("; a new plan must save {:.1} %", 100.0 * asked),
        _ => String::new(),
    };
    let gain = 100.0 * epoch.gain;
    let promised = format!("it promises to save {gain:.1} % more than the plan in force{asked}");
    match epoch.decision {
        Decision::Learning => "There are too few samples to plan.".to_owned(),
        Decision::Kept => format!("The last plan was not adopted: {promised}."),
        Decision::Cooling => {
            format!("The last plan waits, because the plan before it is young: {promised}.")
        }
        Decision::Adopted => format!("The last plan is in force: {promised}."),
        Decision::Advised => format!("The last plan is only advice: {promised}."),
        Decision::Reversed => {
            format!("The last plan is in force and undoes the plan before it: {promised}.")
        }
        Decision::FellBack => "The plan in force missed its forecast: the last division that met \
                               its forecast is in force again, and the pilot tries no new plan for \
                               a while."
            .to_owned(),
    }
}

/// The change that a plan in force makes, if it moves enough memory or changes a policy. A proposed
/// plan makes a change too, unless the epoch before was a proposal as well.
fn change_of(epoch: &Epoch, before: Option<&Epoch>, unix_s: u64) -> Option<Change> {
    if epoch.decision == Decision::Advised {
        let is_new = before.is_none_or(|before| before.decision != Decision::Advised);
        let text = "a plan is proposed; no memory moves".to_owned();
        let promised = Some(epoch.gain).filter(|gain| gain.is_finite() && *gain > 0.0);
        return is_new.then(|| Change { unix_s, text, promised, ..Change::default() });
    }
    let text = match epoch.decision {
        Decision::Adopted => "a plan is in force",
        Decision::Reversed => "a plan undoes the plan before it",
        Decision::FellBack => {
            "an earlier division is in force again, because the last one missed its forecast"
        }
        Decision::Learning | Decision::Kept | Decision::Cooling | Decision::Advised => return None,
    };
    let all: u64 = epoch.pools.iter().map(|pool| pool.budget.0).sum();
    let before = before.map_or(&[][..], |before| &before.pools);
    let mut policies = vec![];
    let mut moved: Vec<Moved> = vec![];
    for pool in &epoch.pools {
        let Some(old) = before.iter().find(|old| old.name == pool.name) else { continue };
        let (was, is) = (old.evictor.setting(), pool.evictor.setting());
        if was != is {
            policies.push(format!("{} evicts by {is}, by {was} before", pool.name));
        } else if old.evictor.k != pool.evictor.k {
            let (was, is) = (old.evictor.k, pool.evictor.k);
            policies.push(format!("{} compares {is} items per eviction, {was} before", pool.name));
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
