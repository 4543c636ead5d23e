//! Recorded traces of several tenants, replayed at the same time to a server without the module and
//! to servers with it, one for each recipe.
//!
//! Misses are counted and multiplied by the stated cost of each. The machine's load changes the
//! waits of clients, but hardly the misses.

use super::{FORM, built, start};
use crate::process::Process;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::thread;

/// Requests of each tenant; the first half is not counted.
const REQUESTS: &str = "60000";

/// Requests a second.
const RATE: &str = "1500";

/// The recipes of the servers with the module.
const RECIPES: [&str; 2] = ["kredis", "auto"];

/// A tenant, its trace, and the cost of its misses in microseconds.
pub(super) struct Tenant {
    name: String,
    trace: String,
    us: u32,
}

impl Tenant {
    /// Reads `NAME=TRACE@US`.
    pub(super) fn read(word: &str) -> Result<Self> {
        let (name, rest) = word.split_once('=').context(FORM)?;
        let (trace, us) = rest.rsplit_once('@').context(FORM)?;
        let us = us.trim_end_matches("us").parse().context(FORM)?;
        Ok(Self { name: name.to_owned(), trace: trace.to_owned(), us })
    }
}

/// Replays the traces; returns the misses of each tenant, and the wait that they cause, in
/// microseconds a request.
pub(super) fn play(server: &Process, tenants: &[Tenant]) -> Result<(Vec<u64>, f64)> {
    let mut command = Command::new(built("larder")?);
    let names: Vec<_> = tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    command.arg("replay").args(tenants.iter().map(|tenant| &tenant.trace));
    command.args(["--to", &format!("redis://127.0.0.1:{}", server.port)]);
    command.args(["--limit", REQUESTS, "--warmup", "0.5", "--rate-max", RATE, "--json"]);
    command.args(["--names", &names.join(",")]);
    for tenant in tenants {
        command.args(["--backend", &format!("delay:{}us", tenant.us)]);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "larder replay failed");
    let all: Value = serde_json::from_slice(&output.stdout)?;
    let misses = |at: usize| all["tenants"][at]["misses"].as_u64().unwrap_or_default();
    let misses: Vec<_> = (0..tenants.len()).map(misses).collect();
    let waited = misses.iter().zip(tenants).map(|(misses, tenant)| misses * u64::from(tenant.us));
    let waited = waited.sum::<u64>() as f64;
    Ok((misses, waited / all["requests"].as_f64().unwrap_or(1.0)))
}

/// The setting that makes each a tenant, by the prefix of its keys.
pub(super) fn lines(tenants: &[Tenant]) -> String {
    let line = |tenant: &Tenant| format!("{0} match prefix {0}:", tenant.name);
    tenants.iter().map(line).collect::<Vec<_>>().join("; ")
}

/// Replays the traces to a server without the module and to one for each recipe.
pub(super) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let program = words.next().context(FORM)?;
    let memory = words.next().context(FORM)?;
    let tenants = words.map(|word| Tenant::read(&word)).collect::<Result<Vec<_>>>()?;
    ensure!(tenants.len() > 1, FORM);
    let settings = format!("maxmemory {memory}");
    let lines = lines(&tenants);
    let module =
        |recipe| format!("larder.act yes\nlarder.recipe {recipe}\nlarder.tenants \"{lines}\"");
    let play = |module: Option<String>| -> Result<_> {
        play(&start(&[&program], &settings, module.as_deref())?, &tenants)
    };
    let modules = std::iter::once(None).chain(RECIPES.map(|recipe| Some(module(recipe))));
    let all = thread::scope(|scope| {
        let all: Vec<_> = modules.map(|module| scope.spawn(|| play(module))).collect();
        let ends = all.into_iter().map(|one| one.join().expect("nothing panics"));
        ends.collect::<Result<Vec<_>>>()
    })?;
    let names = RECIPES.map(|recipe| format!("{recipe:>10} {:>7}", "")).concat();
    println!("{:<12} {:>10} {names}", "misses", "without");
    let row = |name: &str, all: &[f64]| {
        let ratio = |one: &f64| format!("{one:>10.0} {:>7.3}", one / all[0].max(1e-9));
        let with: String = all[1..].iter().map(ratio).collect();
        println!("{name:<12} {:>10.0} {with}", all[0]);
    };
    for (at, tenant) in tenants.iter().enumerate() {
        let misses: Vec<_> = all.iter().map(|(misses, _)| misses[at] as f64).collect();
        row(&tenant.name, &misses);
    }
    row("wait in \u{b5}s", &all.iter().map(|(_, wait)| *wait).collect::<Vec<_>>());
    Ok(())
}
