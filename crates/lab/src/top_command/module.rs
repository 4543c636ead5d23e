//! A Redis or Valkey with Larder's module: the module tells tenants, plans and their results, and
//! INFO tells the rest.

use super::larder;
use super::look::{Look, Source};
use crate::capture_command::redis::{Control, Fields, number};
use crate::report::json;
use ::report::{Change, Recent, Report, Server, Tenant};
use anyhow::Context;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::{SystemTime, UNIX_EPOCH};

/// Time before now from which events are shown.
const BACK: &str = "1h";

pub(super) struct Module(pub(super) Control);

/// Fields of LARDER.PLAN that the screen shows.
#[derive(Debug, Default, Deserialize)]
struct Plan {
    state: String,
    pilot: Option<Pilot>,
}

#[derive(Debug, Deserialize)]
struct Pilot {
    recipe: String,
    rate: f64,
}

#[derive(Debug, Default, Deserialize)]
struct History {
    changes: Vec<Change>,
}

impl Source for Module {
    fn look(&mut self) -> anyhow::Result<Look> {
        let plan: Plan = ask(&mut self.0, &["LARDER.PLAN", "JSON"])?;
        let info = self.0.info()?;
        let report = read(&mut self.0, &info, &plan)?;
        Ok(look(&info, &plan, &report))
    }
}

/// The report of a server with the module, made from what they tell.
///
/// # Errors
/// The server does not answer, or its module is of another version.
pub(crate) fn report(server: &mut Control) -> anyhow::Result<Report> {
    let plan = ask(server, &["LARDER.PLAN", "JSON"])?;
    let info = server.info()?;
    let divided = server.text(&["INFO", "larder"])?;
    let divided = divided.lines().find_map(|line| line.strip_prefix("larder_divided:"));
    let mut report = read(server, &info, &plan)?;
    if let Some(divided) = divided.and_then(|bytes| bytes.trim().parse().ok()).filter(|&b| b > 0) {
        report.server.divided = divided;
    }
    Ok(report)
}

fn ask<T: DeserializeOwned>(server: &mut Control, words: &[&str]) -> anyhow::Result<T> {
    let text = server.text(words)?;
    let answer = json::told(&text);
    answer.with_context(|| {
        format!(
            "this version cannot read the module's answer to {}: install both of the same version",
            words[0]
        )
    })
}

fn read(server: &mut Control, info: &Fields, plan: &Plan) -> anyhow::Result<Report> {
    let tenants = ask(server, &["LARDER.TENANTS", "JSON"])?;
    let history: History = ask(server, &["LARDER.HISTORY", BACK, "JSON"])?;
    Ok(told(info, tenants, plan, history.changes))
}

/// Name and version of the server.
fn version(info: &Fields) -> (&'static str, String) {
    match info.get("valkey_version") {
        Some(version) => ("valkey", version.clone()),
        None => ("redis", info.get("redis_version").cloned().unwrap_or_default()),
    }
}

fn recipe(plan: &Plan) -> String {
    plan.pilot.as_ref().map_or("static", |pilot| &pilot.recipe).to_owned()
}

fn told(info: &Fields, tenants: Vec<Tenant>, plan: &Plan, changes: Vec<Change>) -> Report {
    let count = |name: &str| number(info, name).unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let server = Server {
        version: version(info).1,
        now_unix_s: now,
        uptime_s: count("uptime_in_seconds"),
        recipe: recipe(plan),
        policy: info.get("maxmemory_policy").cloned().unwrap_or_default(),
        maxmemory: count("maxmemory"),
        divided: count("maxmemory"),
        used: count("used_memory"),
        resident: count("used_memory_rss"),
        machine: count("total_system_memory"),
        clients: count("connected_clients"),
        sampled: plan.pilot.as_ref().map_or(0.0, |pilot| pilot.rate),
        ..Server::default()
    };
    let recent = all(&tenants);
    Report { server, recent, tenants, changes, ..Report::default() }
}

fn look(info: &Fields, plan: &Plan, report: &Report) -> Look {
    let ((name, version), recipe) = (version(info), recipe(plan));
    // The text behind the colon says how to change the state.
    let state = plan.state.split(':').next().unwrap_or_default();
    Look {
        server: format!("{name} {version} with Larder's module, recipe {recipe}: {state}"),
        ..larder::look(report)
    }
}

/// Recent counts of all tenants together.
fn all(tenants: &[Tenant]) -> Recent {
    let mut sum = Recent::default();
    for tenant in tenants {
        let recent = &tenant.recent;
        sum.seconds = sum.seconds.max(recent.seconds);
        sum.reads += recent.reads;
        sum.misses += recent.misses;
        sum.sampled += recent.sampled;
        sum.wait_ms += recent.wait_ms;
        for (sum, more) in sum.causes.iter_mut().zip(recent.causes) {
            *sum += more;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_module_tells_is_shown() {
        let info = [("valkey_version", "8.0.1"), ("used_memory", "900"), ("maxmemory", "1000")];
        let info = info.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let recent = Recent { seconds: 10, reads: 100, misses: 25, ..Recent::default() };
        let tenant = |name: &str| Tenant { name: name.to_owned(), recent, ..Tenant::default() };
        let plan = r#"{"state": "it only observes: CONFIG SET larder.act yes", "in_force": [],
            "pilot": {"recipe": "kredis", "rate": 0.5, "epoch": 3}}"#;
        let change = Change { text: "a plan is in force".to_owned(), ..Change::default() };
        let tenants = vec![tenant("web"), tenant("jobs")];
        let (info, plan) = (info.into(), serde_json::from_str(plan).unwrap());
        let look = look(&info, &plan, &told(&info, tenants, &plan, vec![change]));
        assert_eq!(
            look.server,
            "valkey 8.0.1 with Larder's module, recipe kredis: it only observes"
        );
        assert_eq!((look.used, look.limit), (900, 1_000));
        let rows: Vec<_> = look.rows.iter().map(|row| (&*row.name, row.miss_ratio)).collect();
        assert_eq!(rows, [("web", Some(0.25)), ("jobs", Some(0.25))]);
        assert!(look.events[0].ends_with("a plan is in force"), "{:?}", look.events);
        assert_eq!(look.lacks, None);
    }
}
