//! LARDER PLAN and EPOCHS: the plan in force, and what became of each epoch's.

use super::price::price;
use super::{document, lines, ratio, wants_json};
use crate::commands::{Call, Done};
use crate::pilot;
use base::Bytes;
use serde_json::json;
use tune::pilot::{Decision, Epoch, Status};

pub(super) fn plan(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let shown = call.shared.published.shown();
    let recipe = pilot::recipe_of(&call.view.settings);
    if as_json {
        let status = match &shown.status {
            Some(status) => {
                let mut value = serde_json::to_value(status).unwrap_or_default();
                if let Some(price) = price(call.shared, call.view) {
                    value["price"] = price.document();
                }
                value
            }
            None => json!({
                "recipe": recipe.to_string(),
                "epoch": 0,
                "memory": pilot::memory(call.shared).1.0,
                "rate": 0.0,
                "samples": 0,
                "dropped": 0,
                "model_bytes": 0,
                "observer_bytes": 0,
                "plan": null,
                "history": [],
            }),
        };
        document(call, &status);
        return Ok(());
    }
    let mut text = vec![];
    match &shown.status {
        None => {
            text.push(format!("recipe {recipe}: nothing is planned"));
            text.push(if pilot::is_steered(&call.view.settings) {
                "The loop has just been switched on.".to_owned()
            } else {
                "CONFIG SET maxmemory-policy auto recipe auto switches the loop on.".to_owned()
            });
        }
        Some(status) => {
            text.push(format!(
                "recipe {}, epoch {}, {} divided, {:.3} % of the keys sampled, models take {}",
                status.recipe,
                status.epoch,
                status.memory,
                100.0 * status.rate,
                status.model_bytes + status.observer_bytes
            ));
            if status.memory == Bytes(0) {
                text.push("There is no limit to divide: set maxmemory.".to_owned());
            }
            if let Some(price) = price(call.shared, call.view) {
                text.extend(price.lines(pilot::memory(call.shared).0));
            }
            if let Some(epoch) = status.history.last() {
                text.push(decision(epoch));
            }
            text.extend(pools(status));
        }
    }
    lines(call, &text);
    Ok(())
}

/// A line for each pool: what was expected of it and what came, and what the last plan would give.
fn pools(status: &Status) -> Vec<String> {
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
    text.extend(notes.flat_map(|note| ::report::words::wrap(&note, 80, 2)));
    text
}

fn decision(epoch: &Epoch) -> String {
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

/// The epochs the pilot remembers, the newest last.
pub(super) fn epochs(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let shown = call.shared.published.shown();
    let epochs = shown.status.as_ref().map_or(&[][..], |status| &status.history);
    if as_json {
        document(call, &serde_json::to_value(epochs).unwrap_or_default());
        return Ok(());
    }
    let mut text = vec![format!(
        "{:>8} {:>10} {:>9} {:>8} {:>8} {:>11} {:>8} {:>8} {:>6}",
        "epoch", "at", "", "promised", "asked", "moved", "forecast", "came", "band"
    )];
    text.extend(epochs.iter().map(|epoch| {
        format!(
            "{:>8} {:>8.1} s {:>9} {:>6.1} % {:>6.1} % {:>11} {:>8} {:>8} {:>6}",
            epoch.epoch,
            epoch.at_s,
            serde_json::to_value(epoch.decision).unwrap_or_default().as_str().unwrap_or(""),
            100.0 * epoch.gain,
            100.0 * epoch.threshold.max(0.0),
            epoch.moved.to_string(),
            ratio(epoch.forecast),
            ratio(epoch.outcome),
            ratio(epoch.band)
        )
    }));
    lines(call, &text);
    Ok(())
}
