//! LARDER PLAN and EPOCHS: the plan in force, and the outcome of each epoch.

use super::output::{document, lines, ratio, wants_json};
use crate::call::{Call, Done};
use crate::observe::prices;
use crate::observe::report::{memory, report};
use crate::settings::pools;
use ::report::plans;
use ::report::words::{clock_second, wrap, zone};
use base::Bytes;
use serde_json::json;
use tune::pilot::{Decision, Epoch};

/// Rounds in a row that are shown of those that moved no memory.
const ALIKE_MAX: usize = 8;

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
                "Self-tuning has just been switched on.".to_owned()
            } else {
                "CONFIG SET maxmemory-policy auto recipe auto switches self-tuning on.".to_owned()
            });
        }
        Some(status) => {
            text.extend(wrap(&plans::headline(status), 80, 0));
            if status.memory == Bytes(0) {
                text.push("There is no memory limit to divide: set maxmemory.".to_owned());
            }
            if recipe.has_prices() {
                text.extend(prices::lines(&report(call.server), &status.prices));
            }
            if let Some(epoch) = status.history.last() {
                text.extend(wrap(&plans::decision(epoch), 80, 0));
            }
            text.extend(plans::pools(status));
        }
    }
    lines(call, &text);
    Ok(())
}

/// The fate of a plan in a word or two.
fn fate(epoch: &Epoch) -> &'static str {
    match epoch.decision {
        Decision::Kept | Decision::Cooling if epoch.pools.len() == 1 => "one pool",
        Decision::Learning => "too early",
        Decision::Kept => "not adopted",
        Decision::Cooling => "waits",
        Decision::Adopted => "in force",
        Decision::Reversed => "turned back",
        Decision::Advised => "only advice",
        Decision::FellBack => "given up",
    }
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
        "{:>6} {:>8}  {:<11} {:>8} {:>7} {:>10} {:>8} {:>7} {:>6}",
        "round", "at", "its plan", "promised", "asked", "moved", "forecast", "actual", "error"
    )];
    let report = report(call.server);
    let server = &report.server;
    let started = server.now_unix_s.saturating_sub(server.uptime_s);
    let row = |epoch: &Epoch| {
        format!(
            "{:>6} {:>8}  {:<11} {:>6.1} % {:>5.1} % {:>10} {:>8} {:>7} {:>6}",
            epoch.epoch,
            clock_second(started + epoch.at_s as u64, server.now_unix_s, server.utc_offset_s),
            fate(epoch),
            100.0 * epoch.gain,
            100.0 * epoch.threshold.max(0.0),
            epoch.moved.to_string(),
            ratio(epoch.forecast),
            ratio(epoch.outcome),
            ratio(epoch.band)
        )
    };
    // Most rounds change nothing: of those in a row, the last few are shown.
    let is_alike = |one: &Epoch, next: &Epoch| {
        fate(one) == fate(next) && one.moved.0 == 0 && next.moved.0 == 0
    };
    for alike in epochs.chunk_by(is_alike) {
        let hidden = alike.len().saturating_sub(ALIKE_MAX);
        match hidden {
            0 => {}
            1 => text.push("     1 earlier round ended alike and moved no memory".to_owned()),
            _ => text.push(format!("{hidden:>6} earlier rounds ended alike and moved no memory")),
        }
        text.extend(alike[hidden..].iter().map(row));
    }
    if let Some(last) = epochs.last() {
        text.extend(wrap(&plans::decision(last), 80, 0));
    }
    let words = format!(
        "A round observes the requests and makes a plan, which comes into force if it promises \
         enough. at: the time of day, {}. promised: the share of the waiting that the plan would \
         save. asked: the share that it must; a move after which nobody waits longer needs less. \
         moved: memory between pools. forecast, actual: the miss ratio of the next round, where \
         pools count by the cost of their misses. error: a plan whose forecast is wrong by more is \
         given up.",
        zone(server.utc_offset_s)
    );
    text.extend(wrap(&words, 80, 0));
    lines(call, &text);
    Ok(())
}
