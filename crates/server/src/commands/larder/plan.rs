//! LARDER PLAN and EPOCHS: the plan in force, and what became of each epoch's.

use super::price::price;
use super::{document, lines, ratio, wants_json};
use crate::commands::{Call, Done};
use crate::pilot;
use base::Bytes;
use serde_json::json;
use tune::pilot::{Decision, Epoch};

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
            if let Some(plan) = &status.plan {
                text.extend(plan.to_string().lines().map(str::to_owned));
            }
            if let Some(before) = status.history.iter().rev().nth(1) {
                text.push(format!("epoch {}, forecast and outcome:", before.epoch));
                text.extend(before.pools.iter().map(|pool| {
                    format!(
                        "{:<16} {:>9}{} {:>14} miss ratio {} expected, {} measured",
                        pool.name,
                        pool.budget,
                        pool.pages.map_or(String::new(), |pages| format!(" {pages:>6} pages")),
                        pool.evictor,
                        ratio(pool.forecast),
                        ratio(pool.outcome)
                    )
                }));
            }
        }
    }
    lines(call, &text);
    Ok(())
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
