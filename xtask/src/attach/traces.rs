//! One recorded trace at a time, replayed to several servers side by side: the same requests to
//! each, at the same times.
//!
//! `singles`: with one tenant there is nothing to divide, and the module must do no harm. `dlru`:
//! beside servers with a fixed K, the module must miss about as little as the best of them.

use super::{FORM, built, start};
use crate::process::Process;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::thread;

/// Requests of a trace, and the share of them that is not counted.
const REQUESTS: &str = "300000";
const WARMUP: &str = "0.4";

/// Requests a second to each server.
const RATE: &str = "3000";

/// The time of a fetch, which is far longer than that of the servers.
const BACKEND: &str = "delay:1ms";

/// Number of servers with the module, and as many without; their mean counts.
const ALIKE: usize = 3;

/// K of the servers with a fixed K.
const FIXED: [u8; 4] = [1, 5, 10, 16];

/// The recipe that is compared with them; an interval is a thirtieth of a trace.
const DLRU: &str = "larder.act yes\nlarder.recipe dlru:interval=10000:rate=0.03";

/// Misses and reads of a trace in a server.
fn play(server: &Process, trace: &str) -> Result<(f64, f64)> {
    let mut command = Command::new(built("larder")?);
    command.args(["replay", trace, "--to", &format!("redis://127.0.0.1:{}", server.port)]);
    command.args(["--limit", REQUESTS, "--warmup", WARMUP, "--rate-max", RATE, "--json"]);
    command.args(["--connections", "8", "--backend", BACKEND]);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "larder replay failed");
    let all: Value = serde_json::from_slice(&output.stdout)?;
    let tenant = &all["tenants"][0];
    let number = |name: &str| tenant[name].as_f64().unwrap_or_default();
    Ok((number("misses"), number("gets")))
}

/// Miss ratios of a trace in servers with these settings and settings of the module.
fn beside(program: &str, trace: &str, servers: &[(String, Option<&str>)]) -> Result<Vec<f64>> {
    let one = |(settings, module): &(String, Option<&str>)| -> Result<f64> {
        let server = start(&[program], settings, *module)?;
        let (misses, gets) = play(&server, trace)?;
        Ok(misses / gets.max(1.0))
    };
    thread::scope(|scope| {
        let all: Vec<_> = servers.iter().map(|server| scope.spawn(move || one(server))).collect();
        all.into_iter().map(|thread| thread.join().expect("nothing panics")).collect()
    })
}

/// The traces, each with the memory behind its @.
fn pairs(words: impl Iterator<Item = String>) -> Result<Vec<(String, String)>> {
    let pair = |word: String| -> Result<_> {
        let (trace, memory) = word.rsplit_once('@').context(FORM)?;
        Ok((trace.to_owned(), format!("maxmemory {memory}")))
    };
    let all: Vec<_> = words.map(pair).collect::<Result<_>>()?;
    ensure!(!all.is_empty(), FORM);
    Ok(all)
}

/// Compares the server alone with the server and the module, without tenants. The server draws its
/// victims at random, so equal servers differ by half a per cent; so there are several of each.
pub(super) fn singles(mut words: impl Iterator<Item = String>) -> Result<()> {
    let program = words.next().context(FORM)?;
    let module = format!("larder.act yes\nlarder.recipe {}", words.next().context(FORM)?);
    let all = pairs(words)?;
    println!("{:<44} {:>8} {:>8} {:>8}", "misses", "without", "with", "ratio");
    for (trace, memory) in all {
        let mut servers = vec![(memory.clone(), None); ALIKE];
        servers.extend(vec![(memory, Some(module.as_str())); ALIKE]);
        let found = beside(&program, &trace, &servers)?;
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let (without, with) = (mean(&found[..ALIKE]), mean(&found[ALIKE..]));
        println!("{trace:<44} {without:>8.4} {with:>8.4} {:>8.4}", with / without);
    }
    Ok(())
}

/// Compares servers with one K each with a server with the module and `dlru`.
pub(super) fn dlru(mut words: impl Iterator<Item = String>) -> Result<()> {
    let program = words.next().context(FORM)?;
    let all = pairs(words)?;
    let names = FIXED.map(|k| format!("{:>8}", format!("K = {k}"))).join(" ");
    println!("{:<44} {names} {:>8} {:>8}", "misses", "dlru", "ratio");
    for (trace, memory) in all {
        let fixed = |k| (format!("{memory}\nmaxmemory-samples {k}"), None);
        let mut servers = FIXED.map(fixed).to_vec();
        servers.push((memory.clone(), Some(DLRU)));
        let found = beside(&program, &trace, &servers)?;
        let (attached, fixed) = found.split_last().context("no trace was replayed")?;
        let best = fixed.iter().copied().fold(f64::INFINITY, f64::min);
        let shown: Vec<_> = fixed.iter().map(|ratio| format!("{ratio:>8.4}")).collect();
        let ratio = attached / best;
        println!("{trace:<44} {} {attached:>8.4} {ratio:>8.4}", shown.join(" "));
    }
    Ok(())
}
