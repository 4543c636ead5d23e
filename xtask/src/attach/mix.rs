//! Recorded traces of three tenants, replayed to a server with the module and to one without at the
//! same time.
//!
//! Misses are counted and multiplied by the stated cost of each. The machine's load changes the
//! waits of clients, but hardly the misses.

use super::{FORM, built, start};
use crate::process::Process;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::thread;

/// The tenants, and the cost of their misses in microseconds.
const TENANTS: [(&str, u32); 3] = [("web", 5_000), ("kv", 1_000), ("blocks", 200)];

/// Requests of each tenant; the first half is not counted.
const REQUESTS: &str = "60000";

/// Requests a second.
const RATE: &str = "1500";

/// Replays the traces; returns the misses of each tenant, and the wait that they cause, in
/// microseconds a request.
fn play(server: &Process, traces: &[String]) -> Result<(Vec<u64>, f64)> {
    let mut command = Command::new(built("larder")?);
    command.arg("replay").args(traces);
    command.args(["--to", &format!("redis://127.0.0.1:{}", server.port)]);
    command.args(["--limit", REQUESTS, "--warmup", "0.5", "--rate-max", RATE, "--json"]);
    command.args(["--names", &TENANTS.map(|(name, _)| name).join(",")]);
    for (_, us) in TENANTS {
        command.args(["--backend", &format!("delay:{us}us")]);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "larder replay failed");
    let all: Value = serde_json::from_slice(&output.stdout)?;
    let misses = |at: usize| all["tenants"][at]["misses"].as_u64().unwrap_or_default();
    let misses: Vec<_> = (0..TENANTS.len()).map(misses).collect();
    let waited = misses.iter().zip(TENANTS).map(|(misses, (_, us))| misses * u64::from(us));
    let waited = waited.sum::<u64>() as f64;
    Ok((misses, waited / all["requests"].as_f64().unwrap_or(1.0)))
}

/// Replays three traces to a server with the module and to one without.
pub(super) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let program = words.next().context(FORM)?;
    let memory = words.next().context(FORM)?;
    let traces: Vec<_> = words.collect();
    ensure!(traces.len() == TENANTS.len(), FORM);
    let settings = format!("maxmemory {memory}");
    let tenants = TENANTS.map(|(name, _)| format!("{name} match prefix {name}:")).join("; ");
    let module = format!("larder.act yes\nlarder.tenants \"{tenants}\"");
    let play = |module: Option<&str>| -> Result<_> {
        play(&start(&[&program], &settings, module)?, &traces)
    };
    let (with, without) = thread::scope(|scope| {
        let with = scope.spawn(|| play(Some(&module)));
        let without = play(None);
        (with.join().expect("nothing panics"), without)
    });
    let (with, without) = (with?, without?);
    println!("{:<10} {:>10} {:>10} {:>7}", "misses", "without", "with", "ratio");
    for (at, (name, _)) in TENANTS.iter().enumerate() {
        let (a, b) = (without.0[at], with.0[at]);
        println!("{name:<10} {a:>10} {b:>10} {:>7.2}", b as f64 / a.max(1) as f64);
    }
    let ratio = with.1 / without.1.max(1e-9);
    println!("{:<10} {:>10.0} {:>10.0} {ratio:>7.2}", "wait in µs", without.1, with.1);
    Ok(())
}
