//! The module in a stock server, beside the same server without it: recorded traces of three
//! tenants are played to both at the same time, and what their misses cost is compared.
//!
//! Misses are counted and multiplied with what each is said to cost: the machine's load changes
//! what clients wait, and hardly what is missed.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The tenants, and what their misses cost in microseconds.
const TENANTS: [(&str, u32); 3] = [("web", 5_000), ("kv", 1_000), ("blocks", 200)];

/// Requests of each tenant, of which the first half is not counted.
const REQUESTS: &str = "60000";

/// Requests a second.
const RATE: &str = "1500";

const MODULE: &str = "target/release/liblarder_module.so";
const LARDER: &str = "target/release/larder";

struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(program: &str, memory: &str, has_module: bool) -> Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut lines =
            format!("port {port}\nsave \"\"\nmaxmemory {memory}\nmaxmemory-policy allkeys-lru\n");
        if has_module {
            let module = fs::canonicalize(MODULE).context(MODULE)?;
            let tenants = TENANTS.map(|(name, _)| format!("{name} match prefix {name}:"));
            lines.extend([format!(
                "loadmodule {}\nlarder.act yes\nlarder.tenants \"{}\"\n",
                module.display(),
                tenants.join("; ")
            )]);
        }
        let file = std::env::temp_dir().join(format!("larder-attach-{port}.conf"));
        fs::write(&file, lines)?;
        let child = Command::new(program).arg(&file).stdout(Stdio::null()).spawn();
        let child = child.with_context(|| format!("{program} could not be started"))?;
        let server = Self { child, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(begun.elapsed() < Duration::from_secs(10), "{program} does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        let _ = fs::remove_file(file);
        Ok(server)
    }

    /// Plays the traces; misses of each tenant, and the wait that they stand for, in
    /// microseconds a request.
    fn play(&self, traces: &[String]) -> Result<(Vec<u64>, f64)> {
        let mut command = Command::new(LARDER);
        command.arg("replay").args(traces);
        command.args(["--to", &format!("redis://127.0.0.1:{}", self.port)]);
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
}

/// Plays three traces to a server with the module and to one without.
pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let form = "cargo x bench attach SERVER MEMORY TRACE TRACE TRACE";
    let program = words.next().context(form)?;
    let memory = words.next().context(form)?;
    let traces: Vec<_> = words.collect();
    ensure!(traces.len() == TENANTS.len(), form);
    for built in [MODULE, LARDER] {
        let fix = "cargo build --release -p larder -p attach-module";
        ensure!(Path::new(built).exists(), "there is no {built}: {fix}");
    }
    let play =
        |has_module| -> Result<_> { Server::start(&program, &memory, has_module)?.play(&traces) };
    let (with, without) = thread::scope(|scope| {
        let with = scope.spawn(|| play(true));
        let without = play(false);
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
