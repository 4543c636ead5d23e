//! The cost of the module: instructions of a GET under callgrind, and requests a second.
//!
//! All GETs find their key, and 32 of them are sent at once. Callgrind counts only after the keys
//! were written, and only from the read of the requests to the write of the replies. Otherwise work
//! that the server does ten times a second would weigh fifty times as much as in real use. For the
//! same reason the pilot samples far more keys than in real use. The cost of a sampled key is the
//! difference between a server that samples many keys and one that samples none.
//!
//! Requests a second are those of servers that get bursts in turn. A busy machine changes them, and
//! changes the processor time of a server less. The addresses of a server's tables make a
//! difference of some percent. So each round has servers of its own, and one more without the
//! module. A busy moment spoils one turn, so the median is that of turns.

use super::{FORM, start};
use crate::process::Process;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Commands that are sent at once.
const DEPTH: u64 = 32;

/// Number of keys, in equal parts of four tenants.
const KEYS: u64 = 60_000;

/// Bytes of each value.
const VALUE: usize = 100;

/// Batches that are counted under callgrind.
const COUNTED: u64 = 2_000;

/// Batches of a burst, bursts to each server in a round, warm-up bursts, and rounds.
const BURST: u64 = 500;
const BURSTS: usize = 24;
const WARMUP: usize = 40;
const ROUNDS: usize = 9;

const TENANTS: &str = "\"a match prefix a:; b match prefix b:; c match prefix c:\"";

/// A busy server samples one key in this many.
const SAMPLED: f64 = 128.0;

/// A client that knows the length of each reply.
struct Client {
    stream: TcpStream,
    state: u64,
    batch: Vec<u8>,
    replies: Vec<u8>,
}

impl Client {
    fn connect(server: &Process) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", server.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { stream, state: 1, batch: vec![], replies: vec![] })
    }

    fn send(&mut self, reply: usize) -> Result<()> {
        self.stream.write_all(&self.batch)?;
        self.replies.resize(reply, 0);
        self.stream.read_exact(&mut self.replies)?;
        Ok(())
    }

    fn key(at: u64) -> String {
        let name = ["a", "b", "c", "d"][(at % 4) as usize];
        format!("{name}:{at:014}")
    }

    /// Writes every key once.
    fn fill(&mut self) -> Result<()> {
        let value = "x".repeat(VALUE);
        for from in (0..KEYS).step_by(DEPTH as usize) {
            self.batch.clear();
            for at in from..from + DEPTH {
                let key = Self::key(at % KEYS);
                write!(self.batch, "*3\r\n$3\r\nSET\r\n$16\r\n{key}\r\n${VALUE}\r\n{value}\r\n")?;
            }
            self.send(DEPTH as usize * "+OK\r\n".len())?;
            ensure!(self.replies.starts_with(b"+OK"), "SET was refused");
        }
        Ok(())
    }

    /// Reads keys at random.
    fn get(&mut self, batches: u64) -> Result<()> {
        let reply = format!("${VALUE}\r\n\r\n").len() + VALUE;
        for _ in 0..batches {
            self.batch.clear();
            for _ in 0..DEPTH {
                let step = self.state.wrapping_mul(0x5851_f42d_4c95_7f2d);
                self.state = step.wrapping_add(0x1405_7b7e_f767_814f);
                let key = Self::key((self.state >> 33) % KEYS);
                write!(self.batch, "*2\r\n$3\r\nGET\r\n$16\r\n{key}\r\n")?;
            }
            self.send(DEPTH as usize * reply)?;
        }
        Ok(())
    }

    /// The number of requests that the module has sampled.
    fn samples(&mut self) -> Result<f64> {
        self.stream.write_all(b"INFO larder\r\n")?;
        let mut text = vec![];
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end {
            let mut some = [0; 4_096];
            let length = self.stream.read(&mut some)?;
            text.extend_from_slice(&some[..length]);
            let text = String::from_utf8_lossy(&text);
            let line = text.lines().find_map(|line| line.strip_prefix("larder_samples:"));
            if let Some(value) = line.filter(|_| text.ends_with("\r\n")) {
                return Ok(value.parse()?);
            }
        }
        bail!("INFO larder does not report samples")
    }
}

/// Instructions of a GET, and the share of sampled requests.
fn count(program: &str, module: Option<&str>) -> Result<(f64, f64)> {
    let out = std::env::temp_dir().join(format!("larder-callgrind-{}", std::process::id()));
    let file = format!("--callgrind-out-file={}", out.display());
    let words = [
        "valgrind",
        "--tool=callgrind",
        "--quiet",
        &file,
        "--toggle-collect=readQueryFromClient",
        "--toggle-collect=writeToClient",
        program,
    ];
    let mut server = start(&words, "maxmemory 100mb", module)?;
    let mut client = Client::connect(&server)?;
    client.fill()?;
    // The pilot chooses its sampling rate within a few ticks; then it has the configured one.
    client.get(200)?;
    thread::sleep(Duration::from_secs(if module.is_some() { 10 } else { 0 }));
    // A module that ranks keys learns of those written before it acted when they are first read.
    client.get(if module.is_some_and(|module| module.contains("auto")) { 6_000 } else { 200 })?;
    let before = if module.is_some() { client.samples()? } else { 0.0 };
    let mut zero = Command::new("callgrind_control");
    let zero = zero.args(["-z", &server.child.id().to_string()]).output();
    let zero = zero.context("could not start callgrind_control")?;
    ensure!(zero.status.success(), "{}", String::from_utf8_lossy(&zero.stderr));
    client.get(COUNTED)?;
    let sampled = if module.is_some() { client.samples()? - before } else { 0.0 };
    client.stream.write_all(b"SHUTDOWN NOSAVE\r\n")?;
    server.child.wait()?;
    let text = fs::read_to_string(&out)?;
    let _ = fs::remove_file(&out);
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let total: f64 = total.context("callgrind wrote no totals")?.trim().parse()?;
    ensure!(total > 0.0, "{program} has no symbols: callgrind finds no readQueryFromClient");
    let requests = (COUNTED * DEPTH) as f64;
    Ok((total / requests, sampled / requests))
}

/// Processor time of all threads of a process, in nanoseconds.
fn processor(server: &Process) -> Result<f64> {
    let mut sum = 0.0;
    for task in fs::read_dir(format!("/proc/{}/task", server.child.id()))? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        sum += text.split(' ').next().context("schedstat is empty")?.parse::<f64>()?;
    }
    Ok(sum)
}

/// Seconds and processor time of a burst.
fn burst(server: &Process, client: &mut Client) -> Result<(f64, f64)> {
    let (before, begun) = (processor(server)?, Instant::now());
    client.get(BURST)?;
    Ok((begun.elapsed().as_secs_f64(), processor(server)? - before))
}

/// The first quartile, the median and the third quartile.
fn quartiles(mut all: Vec<f64>) -> [f64; 3] {
    all.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| all[all.len() * quarter / 4])
}

/// Seconds and processor time of each server for the same requests, by turn of one round.
fn round(program: &str) -> Result<Vec<[(f64, f64); 3]>> {
    let module = format!("larder.act yes\nlarder.tenants {TENANTS}");
    let start = |module| super::start(&[program], "maxmemory 100mb", module);
    let servers = [start(None)?, start(None)?, start(Some(&module))?];
    let mut clients = vec![];
    for server in &servers {
        let mut client = Client::connect(server)?;
        client.fill()?;
        clients.push(client);
    }
    // The pilot finds out how busy the server is.
    for _ in 0..WARMUP {
        clients.iter_mut().try_for_each(|client| client.get(BURST))?;
    }
    let mut turns = vec![[(0.0, 0.0); 3]; BURSTS];
    for (turn, took) in turns.iter_mut().enumerate() {
        // Forwards and backwards, so that no server is always first.
        for at in if turn % 2 == 0 { [0, 1, 2] } else { [2, 1, 0] } {
            took[at] = burst(&servers[at], &mut clients[at])?;
        }
    }
    Ok(turns)
}

/// Prints requests a second of a server with the module, relative to one without, and as a measure
/// of chance those of a second server without.
pub(super) fn throughput(mut words: impl Iterator<Item = String>) -> Result<()> {
    let program = words.next().context(FORM)?;
    let rounds = (0..ROUNDS).map(|_| round(&program)).collect::<Result<Vec<_>>>()?;
    let turns = rounds.concat();
    let requests = (BURST * DEPTH) as f64;
    let [_, alone, _] = quartiles(turns.iter().map(|took| requests / took[0].0).collect());
    println!("{alone:.0} requests per second without the module; ratios of {} turns:", turns.len());
    for (name, at) in [("another without the module", 1), ("with the module", 2)] {
        let rates = turns.iter().map(|took| took[0].0 / took[at].0).collect();
        let times = turns.iter().map(|took| took[at].1 / took[0].1).collect();
        for (what, all) in [("requests per second", rates), ("CPU time", times)] {
            let [first, median, third] = quartiles(all);
            println!("{name:<20} {what:<20} {median:.3}, quartiles {first:.3} to {third:.3}");
        }
    }
    Ok(())
}

/// Prints instructions of a GET without the module and with it.
pub(super) fn instructions(mut words: impl Iterator<Item = String>) -> Result<()> {
    let program = words.next().context(FORM)?;
    let (alone, _) = count(&program, None)?;
    println!("{:<30} {alone:>12.0}", "instructions of a GET");
    let with = |recipe: &str| {
        count(&program, Some(&format!("larder.tenants {TENANTS}\nlarder.recipe {recipe}")))
    };
    let (none, _) = with("static")?;
    let (many, sampled) = with("kredis")?;
    let each = (many - none) / sampled.max(f64::MIN_POSITIVE);
    let one = none + each / SAMPLED;
    // Under callgrind the pilot samples far more keys than in real use.
    let (ranked, sampled_ranked) = with("auto\nlarder.act yes")?;
    let ranked = ranked - each * (sampled_ranked - 1.0 / SAMPLED);
    for (name, taken) in [
        ("no key is sampled", none),
        ("one key in 128 is sampled", one),
        ("auto, one in 128", ranked),
    ] {
        println!("{name:<30} {taken:>12.0} {:>+7.1} %", 100.0 * (taken / alone - 1.0));
    }
    println!("{:<30} {each:>12.0}  ({sampled:.3} were)", "additional cost of a sampled key");
    Ok(())
}
