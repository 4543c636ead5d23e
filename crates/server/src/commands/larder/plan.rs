//! LARDER PLAN and EPOCHS: the plan in force, and the outcome of each epoch.

use super::output::{document, lines, ratio, wants_json};
use crate::call::{Call, Done};
use crate::observe::prices;
use crate::observe::report::{memory, report};
use crate::settings::pools;
use ::report::plans;
use base::Bytes;
use serde_json::json;

pub(super) fn plan(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let shown = call.server.observed.pilot.shown();
    let recipe = pools::recipe_of(&call.view.settings);
    if as_json {
        let status = match &shown.status {
            Some(status) => {
                let mut value = serde_json::to_value(status).unwrap_or_default();
                if recipe.has_prices() {
                    value["price"] = prices::document(&report(call.server), &status.prices);
                }
                value
            }
            None => json!({
                "recipe": recipe.to_string(),
                "epoch": 0,
                "memory": memory(call.server).1.0,
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
            text.push(format!("recipe {recipe}: there is no plan"));
            text.push(if pools::is_steered(&call.view.settings) {
                "The loop has just been switched on.".to_owned()
            } else {
                "CONFIG SET maxmemory-policy auto recipe auto switches the loop on.".to_owned()
            });
        }
        Some(status) => {
            text.push(plans::headline(status));
            if status.memory == Bytes(0) {
                text.push("There is no memory limit to divide: set maxmemory.".to_owned());
            }
            if recipe.has_prices() {
                text.extend(prices::lines(&report(call.server), &status.prices));
            }
            if let Some(epoch) = status.history.last() {
                text.push(plans::decision(epoch));
            }
            text.extend(plans::pools(status));
        }
    }
    lines(call, &text);
    Ok(())
}

/// The epochs that the pilot remembers, the newest last.
pub(super) fn epochs(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let shown = call.server.observed.pilot.shown();
    let epochs = shown.status.as_ref().map_or(&[][..], |status| &status.history);
    if as_json {
        document(call, &serde_json::to_value(epochs).unwrap_or_default());
        return Ok(());
    }
    let mut text = vec![format!(
        "{:>8} {:>10} {:>9} {:>8} {:>8} {:>11} {:>8} {:>8} {:>6}",
        "epoch", "at", "", "promised", "asked", "moved", "forecast", "actual", "band"
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
