//! Output of an attached pilot: a line for each epoch, and a sentence for every other event; or the
//! same as JSON objects, one a line.

use super::counts::Transfer;
use super::plant::ClassPlant;
use super::told::PAGE;
use ::report::words::percent;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;
use tune::pilot::{Decision, Epoch, Status};

/// Form of the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Say {
    pub(super) json: bool,
}

/// Counts of moves so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Moves {
    /// Pages that the server has moved.
    pub(super) pages_moved: u64,
    /// Orders that were refused or not carried out.
    pub(super) refused: u64,
    /// Bursts that were rejected for too many holes.
    pub(super) bursts_rejected: u64,
}

impl Say {
    /// Prints an event: a word for programs, and a sentence.
    pub(super) fn event(self, event: &str, says: &str) {
        if self.json {
            object(&json!({ "event": event, "says": says }));
        } else {
            text(&format!("larder: {says}"));
        }
    }

    /// Prints the epoch that has just ended.
    pub(super) fn epoch(self, status: &Status, plant: &ClassPlant, moves: Moves) {
        let Some(epoch) = status.history.last() else { return };
        let before = status.history.iter().rev().nth(1);
        let judged = before.and_then(|before| Some((before.forecast?, before.outcome?)));
        if self.json {
            object(&document(status, epoch, judged, plant, moves));
        } else {
            text(&line(status, epoch, judged, plant, moves));
        }
    }
}

/// A sentence about pages that move between classes by exact counts.
pub(super) fn transfer(transfer: &Transfer, plant: &ClassPlant, acts: bool) -> String {
    let name = |number: u8| {
        let share = plant.told().class(number).map_or(0, |class| class.share);
        base::Bytes(share).to_string()
    };
    let &Transfer { from, to, loses, gains, .. } = transfer;
    let does = if acts { "go" } else { "would go" };
    format!(
        "pages of class {} {does} to class {}: by the server's counts, a page gets at most \
         {loses:.0} hits in the first class and at least {gains:.0} in the second.",
        name(from),
        name(to)
    )
}

/// Prints a line. A closed output is ignored, because the server's settings must still be restored.
pub(super) fn text(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints an object in a line.
pub(super) fn object(value: &Value) {
    text(&value.to_string());
}

/// Words for the decision about a plan.
const fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Learning => "learning",
        Decision::Kept => "no better plan",
        Decision::Cooling => "waiting for the effect of the last plan",
        Decision::Adopted => "plan in force",
        Decision::Advised => "would plan",
        Decision::Reversed => "plan in force, it undoes the last",
        Decision::FellBack => "the last plan missed its forecast: back to the plan before it",
    }
}

/// Changes by the last plan: class, pages before, pages after.
fn changes(status: &Status) -> Vec<(String, u64, u64)> {
    let pages = |bytes: base::Bytes| (bytes.as_f64() / PAGE as f64).round() as u64;
    let shares = status.plan.iter().flat_map(|plan| &plan.pools);
    let change =
        |share: &tune::Share| (share.name.clone(), pages(share.budget_now), pages(share.budget));
    shares.map(change).filter(|(_, before, after)| before != after).collect()
}

/// One epoch as a line of text. `judged` holds the forecast for this epoch, made one epoch before,
/// and the actual share of reads that missed.
fn line(
    status: &Status,
    epoch: &Epoch,
    judged: Option<(f64, f64)>,
    plant: &ClassPlant,
    moves: Moves,
) -> String {
    let reads: f64 = epoch.pools.iter().map(|pool| pool.reads_per_s).sum();
    let mut parts = vec![format!("{:>4}  {reads:>7.0} reads/s", epoch.epoch)];
    if let Some((forecast, outcome)) = judged {
        parts.push(format!("missed {} (forecast {})", percent(outcome), percent(forecast)));
    }
    let plans =
        matches!(epoch.decision, Decision::Adopted | Decision::Advised | Decision::Reversed);
    parts.push(word(epoch.decision).to_owned());
    if plans && epoch.gain > 0.0 {
        parts.push(format!("{} fewer misses", percent(epoch.gain)));
    }
    if plans {
        let change = |(name, before, after)| format!("{name} {before}->{after}");
        let changes: Vec<_> = changes(status).into_iter().map(change).collect();
        parts.push(changes.join(", "));
    }
    if moves.pages_moved + moves.refused > 0 {
        parts.push(format!("[{} pages moved, {} refused]", moves.pages_moved, moves.refused));
    }
    if !plant.told().is_full() {
        parts.push("[memory is not full yet]".to_owned());
    }
    parts.join("  ")
}

fn document(
    status: &Status,
    epoch: &Epoch,
    judged: Option<(f64, f64)>,
    plant: &ClassPlant,
    moves: Moves,
) -> Value {
    let told = plant.told();
    let changes = changes(status);
    let plan: Vec<_> = changes
        .iter()
        .map(|(class, before, after)| json!({"class": class, "pages": before, "planned": after}))
        .collect();
    let classes: Vec<_> = told
        .classes
        .iter()
        .zip(&epoch.pools)
        .map(|(class, pool)| {
            json!({
                "class": class.number,
                "chunk": class.share,
                "pages": class.pages,
                "wanted": pool.budget.as_f64() / PAGE as f64,
                "reads_per_s": pool.reads_per_s,
                "forecast": pool.forecast,
            })
        })
        .collect();
    json!({
        "event": "epoch",
        "epoch": epoch.epoch,
        "watched_s": epoch.at_s,
        "decision": epoch.decision,
        "gain": epoch.gain,
        "threshold": epoch.threshold,
        "forecast": judged.map(|(forecast, _)| forecast),
        "outcome": judged.map(|(_, outcome)| outcome),
        "hits": told.hits,
        "misses": told.misses,
        "sampled": status.rate,
        "plan": plan,
        "classes": classes,
        "moves": moves,
    })
}
