//! LARDER: what the server knows of its own workload, and what it makes of it.
//!
//! Replies are lines for people; with JSON as the last argument they are one document for programs.

use super::flag::{ADMIN, FAST, READ};
use super::price::price;
use super::tides;
use super::{Call, Command, Done, Failure, SYNTAX};
use crate::pilot::{self, Shown};
use base::{Bytes, Micros, MissRatio, TenantId};
use curve::MissRatioCurve;
use serde_json::{Value, json};
use tune::pilot::{Decision, Epoch};
use tune::recipe::Pools;
use tune::snapshot::Candidate;

/// This family.
pub(super) const COMMANDS: &[Command] = &[Command::container("larder", 0, SUBCOMMANDS).doc(
    "server",
    "8.0.0",
    "Shows the plan, the curves and the shares of memory.",
)];

const SUBCOMMANDS: &[Command] = &[
    Command::new("larder|plan", -2, READ, plan).doc(
        "server",
        "8.0.0",
        "Shows the plan in force with its forecast, and what came of the last.",
    ),
    Command::new("larder|curve", -3, READ, curve).doc(
        "server",
        "8.0.0",
        "Shows the miss ratio of a tenant at every size.",
    ),
    Command::new("larder|history", -2, READ, history).doc(
        "server",
        "8.0.0",
        "Shows what became of the plans of the last epochs.",
    ),
    Command::new("larder|tenants", -2, READ, tenants).doc(
        "server",
        "8.0.0",
        "Shows what each tenant has and does.",
    ),
    Command::new("larder|tides", -2, READ, tides::tides).doc(
        "server",
        "8.0.0",
        "Shows whose load comes and goes, and what is dumped and loaded.",
    ),
    Command::new("larder|dump", -2, ADMIN, tides::dump).doc(
        "server",
        "8.0.0",
        "Moves the items of a tenant, or of all, from memory to the disk.",
    ),
    Command::new("larder|load", -2, ADMIN, tides::load).doc(
        "server",
        "8.0.0",
        "Brings back what was dumped.",
    ),
    Command::new("larder|help", 2, READ | FAST, help).doc(
        "server",
        "8.0.0",
        "Lists the subcommands.",
    ),
];

/// Points of a curve that are shown.
const POINTS: u64 = 40;

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "LARDER <subcommand> [<arg> ...]. Subcommands are:",
        "PLAN [JSON]",
        "    The plan in force with its forecast, and what came of the epoch before.",
        "HISTORY [JSON]",
        "    The last epochs: what became of each plan, what it promised, moved and forecast, and",
        "    what came.",
        "CURVE <tenant> [JSON]",
        "    Pairs of bytes and the miss ratio that the tenant would have with them, under the",
        "    policy that is best at each size.",
        "TENANTS [JSON]",
        "    Memory, policy and misses of each tenant.",
        "TIDES [JSON]",
        "    Whose load comes and goes with which period, what has a copy on the disk, and what",
        "    came of the last dump and load.",
        "DUMP [<tenant>]",
        "    Move the items of a tenant, or of all, to the disk (dump-max); in the background.",
        "LOAD [<tenant>]",
        "    Bring back what no client has written or removed since; in the background.",
        "HELP",
        "    Print this help.",
    ])
}

/// Whether the arguments from `at` on ask for JSON.
pub(super) fn wants_json(call: &Call<'_>, at: usize) -> Result<bool, Failure> {
    match call.args.len().checked_sub(at) {
        Some(0) => Ok(false),
        Some(1) if call.is(at, "json") => Ok(true),
        _ => Err(SYNTAX.into()),
    }
}

pub(super) fn lines(call: &mut Call<'_>, lines: &[String]) {
    call.out.array(lines.len());
    for line in lines {
        // A line must not break the protocol, whatever a tenant is called.
        call.out.simple(&line.replace(|c: char| c.is_control(), " "));
    }
}

fn document(call: &mut Call<'_>, value: &Value) {
    call.out.bulk(value.to_string().as_bytes());
}

fn plan(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let shown = call.shared.published.shown();
    let recipe = pilot::recipe_of(&call.view.settings);
    if as_json {
        let status = match &shown.status {
            Some(status) => {
                let mut value = serde_json::to_value(status).unwrap_or_default();
                if let Some(price) = price(call) {
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
            if let Some(price) = price(call) {
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
fn history(call: &mut Call<'_>) -> Done {
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

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.4}"))
}

pub(super) fn number_of(call: &Call<'_>, name: &str) -> Result<TenantId, Failure> {
    call.view.number(name).ok_or_else(|| {
        let known = call.view.names.join(", ");
        Failure::err(&format!("there is no tenant '{name}': there are {known}"))
    })
}

/// The least of the candidates' miss ratios at a size.
fn best(candidates: &[Candidate], size: Bytes) -> Option<(f64, &Candidate)> {
    let at = candidates.iter().map(|candidate| (candidate.curve.at(size).0, candidate));
    at.min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Sizes to show a tenant's curves at: even steps to where they end, or to the limit.
fn sizes(candidates: &[Candidate], limit: Bytes) -> Vec<Bytes> {
    let extents = candidates.iter().map(|candidate| candidate.curve.extent());
    let end = extents.max().unwrap_or_default().max(limit);
    let sizes = (0..=POINTS)
        .map(|step| Bytes((u128::from(end.0) * u128::from(step) / u128::from(POINTS)) as u64));
    let mut sizes: Vec<_> = sizes.collect();
    sizes.dedup();
    sizes
}

fn curve(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 3)?;
    let name = call.text(2).into_owned();
    let number = number_of(call, &name)?;
    let shown = call.shared.published.shown();
    let found = shown.curves.iter().find(|(tenant, _)| *tenant == number);
    let candidates = found.map_or(&[][..], |(_, candidates)| candidates);
    let sizes = sizes(candidates, pilot::memory(call.shared).1);
    if as_json {
        let points = |curve: &MissRatioCurve| -> Vec<(u64, f64)> {
            sizes.iter().map(|&size| (size.0, curve.at(size).0)).collect()
        };
        let merged: Vec<_> = sizes
            .iter()
            .filter_map(|&size| {
                let (ratio, candidate) = best(candidates, size)?;
                Some(json!([size.0, ratio, candidate.evictor]))
            })
            .collect();
        let policies: serde_json::Map<_, _> = candidates
            .iter()
            .map(|candidate| (candidate.evictor.to_string(), json!(points(&candidate.curve))))
            .collect();
        document(call, &json!({"tenant": name, "curve": merged, "policies": policies}));
        return Ok(());
    }
    if candidates.is_empty() {
        let recipe = pilot::recipe_of(&call.view.settings);
        return Err(Failure::err(if recipe.pools == Pools::Slab {
            "this recipe has a curve for each class of sizes, not for a tenant: \
             LARDER PLAN shows what it expects of them"
        } else if pilot::is_steered(&call.view.settings) {
            "too little was seen of this tenant: its curve needs some thousand reads"
        } else {
            "the loop is off: CONFIG SET maxmemory-policy auto recipe auto switches it on"
        }));
    }
    let pairs: Vec<_> = sizes.iter().filter_map(|&s| Some((s, best(candidates, s)?.0))).collect();
    call.out.array(pairs.len());
    for (size, ratio) in pairs {
        call.out.array(2);
        call.out.integer(size.0 as i64);
        call.out.bulk(format!("{ratio:.6}").as_bytes());
    }
    Ok(())
}

/// One tenant, as it is shown.
struct Row {
    name: String,
    used: Bytes,
    budget: Option<Bytes>,
    policy: String,
    k: u8,
    items: u64,
    gets: u64,
    misses: u64,
    evicted: u64,
    penalty: Option<Micros>,
    min: Bytes,
    max: Option<Bytes>,
    weight: f64,
}

fn row(call: &Call<'_>, shown: &Shown, number: TenantId) -> Row {
    let stats = call.shared.store.tenant_stats(number);
    let tenant = call.view.tenant(number);
    let pool = shown.pool(number);
    let plain = || {
        let k = call.shared.store.evictor(number).k;
        (call.view.settings.maxmemory_policy.name(), k)
    };
    let (policy, k) = pool.map_or_else(plain, |(_, evictor)| (evictor.to_string(), evictor.k));
    let measured = stats.penalty.mean > Micros(0);
    Row {
        name: tenant.name,
        used: stats.used,
        budget: pool.map(|(budget, _)| budget),
        policy,
        k,
        items: stats.len.items,
        gets: stats.counters.gets(),
        misses: stats.counters.misses,
        evicted: stats.counters.evicted,
        penalty: measured.then_some(stats.penalty.mean),
        min: tenant.min,
        max: tenant.max,
        weight: tenant.weight,
    }
}

fn tenants(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let shown = call.shared.published.shown();
    let numbers = 0..call.view.names.len() as TenantId;
    let rows: Vec<_> = numbers.map(|number| row(call, &shown, number)).collect();
    let miss_ratio = |row: &Row| MissRatio::of(row.misses as f64, row.gets as f64).0;
    let (used, limit) = pilot::memory(call.shared);
    if as_json {
        let all: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "name": row.name,
                    "used": row.used.0,
                    "budget": row.budget.map(|budget| budget.0),
                    "share": share(row.used, used),
                    "policy": row.policy,
                    "k": row.k,
                    "items": row.items,
                    "gets": row.gets,
                    "hits": row.gets - row.misses,
                    "misses": row.misses,
                    "miss_ratio": (row.gets > 0).then(|| miss_ratio(row)),
                    "evicted": row.evicted,
                    "penalty_us": row.penalty.map(|penalty| penalty.0),
                    "min": row.min.0,
                    "max": row.max.map(|max| max.0),
                    "weight": row.weight,
                })
            })
            .collect();
        document(call, &Value::from(all));
        return Ok(());
    }
    let mut text = vec![
        format!("{used} in use of {limit}"),
        format!(
            "{:<16} {:>9} {:>6} {:>9} {:>16} {:>10} {:>12} {:>10} {:>9}",
            "tenant",
            "used",
            "share",
            "budget",
            "policy",
            "items",
            "reads",
            "miss ratio",
            "penalty"
        ),
    ];
    text.extend(rows.iter().map(|row| {
        format!(
            "{:<16} {:>9} {:>5.1}% {:>9} {:>16} {:>10} {:>12} {:>10} {:>9}",
            row.name,
            row.used,
            100.0 * share(row.used, used),
            row.budget.map_or("-".to_owned(), |budget| budget.to_string()),
            row.policy,
            row.items,
            row.gets,
            ratio((row.gets > 0).then(|| miss_ratio(row))),
            row.penalty.map_or("-".to_owned(), |penalty| penalty.to_string())
        )
    }));
    lines(call, &text);
    Ok(())
}

pub(super) fn share(part: Bytes, whole: Bytes) -> f64 {
    if whole.0 > 0 { part.as_f64() / whole.as_f64() } else { 0.0 }
}
