//! Memory is a promise: writes of mixed sizes, three times as much as fits, for minutes.
//!
//! The chore starts a server with a small `maxmemory`. Four clients write values whose sizes are
//! log-uniform from 16 bytes to 64 KiB. A fifth client disconnects in the middle of commands. With
//! `shift` the range of sizes changes every twenty seconds, so that memory freed by one size must
//! serve another, the worst case for an allocator that moves nothing. Meanwhile the chore reads the
//! accounted bytes every 20 ms, and resident memory from the kernel. At the end everything is
//! flushed; any rest has leaked.
//!
//! With `shift` the clients also read, some keys more often than others, and write the missing
//! ones. The hit ratio of the last quarter of each phase is compared with that of a fresh server
//! that saw only these sizes, for as long; it may be two percentage points lower. *Pace* is the
//! number of reads relative to the fresh server. Far below one, hits recover that much later,
//! because the machine gave less time, or the server had much to move.
//!
//! With `rough` there are misbehaving clients too (`soak/rough.rs`): slow readers, refused writes,
//! scripts that are killed. The server may then use 20 MB for them beyond 1.05 times the limit.

mod rough;

use crate::process::{Process, free_port};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: u64 = 256 << 20;
const WRITERS: u64 = 4;
const PAGE: u64 = 4096;
/// Seconds between two shifts.
const PHASE: usize = 20;
/// Seconds at the end of a phase whose hits count.
const LAST: usize = 5;
/// Percentage points by which the hit ratio may be below that of a fresh server.
const POINTS_MAX: f64 = 2.0;
/// The longest wait for a reply; beyond it the client and the run fail.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// The time between two readings of the server.
const LOOK: Duration = Duration::from_millis(20);
/// Octaves of sizes, from 16 bytes on: up to 1, 8 and 64 KiB, in turn.
const RANGES: [u64; 3] = [6, 9, 12];

/// The kind of soak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Plain,
    /// The range of sizes changes.
    Shift,
    /// Misbehaving clients run beside the writers.
    Rough,
}

/// Resident bytes allowed for misbehaving clients.
const ROUGH: u64 = 20 << 20;

/// The load of the clients, and its results.
struct Load {
    begun: Instant,
    /// Octaves of sizes in each phase, repeated.
    ranges: Vec<u64>,
    /// Whether the clients also read.
    reads: bool,
    stop: AtomicBool,
    written: AtomicU64,
    /// Reads and hits, by second.
    seen: Vec<[AtomicU64; 2]>,
}

impl Load {
    fn new(seconds: u64, ranges: &[u64], reads: bool) -> Self {
        let seen = (0..seconds).map(|_| Default::default()).collect();
        let (begun, ranges) = (Instant::now(), ranges.to_vec());
        Self { begun, ranges, reads, stop: false.into(), written: 0.into(), seen }
    }

    fn octaves(&self) -> u64 {
        self.ranges[self.begun.elapsed().as_secs() as usize / PHASE % self.ranges.len()]
    }

    fn saw(&self, reads: u64, hits: u64) {
        if let Some(seen) = self.seen.get(self.begun.elapsed().as_secs() as usize) {
            seen[0].fetch_add(reads, Relaxed);
            seen[1].fetch_add(hits, Relaxed);
        }
    }

    /// Reads and hits in these seconds.
    fn sum(&self, seconds: Range<usize>) -> [f64; 2] {
        let seen = &self.seen[seconds];
        [0, 1].map(|at| seen.iter().map(|second| second[at].load(Relaxed)).sum::<u64>() as f64)
    }

    /// Hit ratio in these seconds, in per cent.
    fn hits(&self, seconds: Range<usize>) -> f64 {
        let [reads, hits] = self.sum(seconds);
        100.0 * hits / reads.max(1.0)
    }
}

/// The highest figures of a server, in bytes.
#[derive(Default)]
struct Peaks {
    used: u64,
    resident: u64,
    /// The longest delay of a sleep beyond its time, for which the machine stood still.
    standstill: Duration,
    /// Resident memory, by phase.
    phases: Vec<u64>,
}

/// Applies a load to a server, beside other clients that misbehave, and watches the server.
fn apply(server: &Process, load: &Load, others: &[rough::Other]) -> Result<Peaks> {
    let mut peaks = Peaks::default();
    thread::scope(|scope| -> Result<()> {
        let writers: Vec<_> = (0..WRITERS)
            .map(|seed| scope.spawn(move || write(server.address(), seed, load)))
            .collect();
        let quitter = scope.spawn(|| break_off(server.address(), &load.stop));
        let others: Vec<_> = others
            .iter()
            .map(|other| scope.spawn(|| other(server.address(), &load.stop)))
            .collect();
        let watched = (|| -> Result<()> {
            let mut client = Client::connect(server.address())?;
            while load.begun.elapsed() < Duration::from_secs(load.seen.len() as u64) {
                let resident = resident(server.child.id())?;
                let phase = load.begun.elapsed().as_secs() as usize / PHASE;
                peaks.phases.resize(phase + 1, 0);
                peaks.phases[phase] = peaks.phases[phase].max(resident);
                peaks.resident = peaks.resident.max(resident);
                peaks.used = peaks.used.max(client.info("used_memory")?);
                let begun = Instant::now();
                thread::sleep(LOOK);
                peaks.standstill = peaks.standstill.max(begun.elapsed().saturating_sub(LOOK));
            }
            Ok(())
        })();
        load.stop.store(true, Relaxed);
        for writer in writers {
            writer.join().expect("a writer panicked")?;
        }
        quitter.join().expect("the quitter panicked")?;
        for other in others {
            other.join().expect("one of the others panicked")?;
        }
        watched
    })?;
    Ok(peaks)
}

/// Runs as the words say: the seconds and the kind of soak, or a soak of a server with the module.
pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let seconds = words.next();
    if seconds.as_deref() == Some("attach") {
        return super::attach::soak::run(words);
    }
    let seconds = seconds.map_or(Ok(600), |text| text.parse())?;
    let manner = match words.next().as_deref() {
        None => Manner::Plain,
        Some("shift") => Manner::Shift,
        Some("rough") => Manner::Rough,
        Some(word) => bail!("a soak is plain, `shift` or `rough`, not '{word}'"),
    };
    play(seconds, manner)
}

/// Runs for `seconds`, prints the results, and fails if a bound was exceeded.
fn play(seconds: u64, manner: Manner) -> Result<()> {
    super::built::build(&["larder"])?;
    let (server, shift) = (start()?, manner == Manner::Shift);
    let load = Load::new(seconds, if shift { &RANGES } else { &RANGES[2..] }, shift);
    let others = if manner == Manner::Rough { rough::OTHERS } else { &[] };
    let peaks = apply(&server, &load, others)?;
    let mut client = Client::connect(server.address())?;
    thread::sleep(Duration::from_millis(300));
    let clients = client.info("connected_clients")?;
    client.ask(&["FLUSHALL"])?;
    let after = client.info("used_memory")?;
    drop(server);
    let share = |bytes: u64| bytes as f64 / LIMIT as f64;
    println!("limit                          {LIMIT:>12} bytes");
    println!("written                        {:>12.1} x limit", share(load.written.load(Relaxed)));
    println!("accounted bytes, highest       {:>12.4} x limit", share(peaks.used));
    println!("resident memory, highest       {:>12.4} x limit", share(peaks.resident));
    println!("longest stall of the machine   {:>12.1} s", peaks.standstill.as_secs_f64());
    println!("accounted after FLUSHALL       {after:>12} bytes");
    println!("connections left               {clients:>12} (1 is this one)");
    let lost = if shift { compare(&load, &peaks)? } else { 0.0 };
    ensure!(peaks.used <= LIMIT, "accounted bytes exceeded the limit by {}", peaks.used - LIMIT);
    let beside = if manner == Manner::Rough { ROUGH } else { 0 };
    let resident = share(peaks.resident.saturating_sub(beside));
    ensure!(resident <= 1.05, "resident memory exceeded 1.05 x the limit and {beside} bytes");
    ensure!(clients == 1, "{clients} connections are left open");
    ensure!(share(after) < 0.01, "{after} bytes are still accounted after FLUSHALL");
    ensure!(
        lost <= POINTS_MAX,
        "hits stayed {lost:.1} percentage points below those of a fresh server"
    );
    Ok(())
}

/// Prints the hits of each phase beside those of a fresh server; returns the largest loss in
/// percentage points.
fn compare(load: &Load, peaks: &Peaks) -> Result<f64> {
    let mut fresh = vec![];
    for octaves in RANGES {
        let alone = Load::new(PHASE as u64, &[octaves], true);
        apply(&start()?, &alone, &[])?;
        fresh.push((alone.hits(PHASE - LAST..PHASE), alone.sum(0..PHASE)[0]));
    }
    println!("\nphase  up to KB  hits %  fresh  points  back after s  pace  resident, highest");
    let mut most = 0f64;
    for (phase, from) in (0..load.seen.len()).step_by(PHASE).enumerate() {
        if from + PHASE > load.seen.len() {
            break;
        }
        let (fresh, reads) = fresh[phase % 3];
        let hits = load.hits(from + PHASE - LAST..from + PHASE);
        let pace = load.sum(from..from + PHASE)[0] / reads.max(1.0);
        let points = hits - fresh;
        let back = (0..PHASE).find(|&at| load.hits(from + at..from + at + 1) >= fresh - POINTS_MAX);
        let back = back.map_or("-".to_owned(), |seconds| (seconds + 1).to_string());
        let kib = 1 << (RANGES[phase % 3] - 6);
        let resident = peaks.phases[phase] as f64 / LIMIT as f64;
        println!(
            "{phase:>5} {kib:>9} {hits:>7.1} {fresh:>6.1} {points:>+7.1} {back:>13} \
             {pace:>5.2} {resident:>18.3}"
        );
        most = most.max(-points);
    }
    Ok(most)
}

fn start() -> Result<Process> {
    let port = free_port()?;
    let mut larder = Command::new(super::built::path("larder")?);
    larder.args(["serve", "--port", &port.to_string(), "--maxmemory", &LIMIT.to_string()]);
    larder.args(["--busy-reply-threshold", "100"]);
    Process::start(larder.stderr(Stdio::null()), port)
}

/// Resident bytes of a process, from the kernel.
fn resident(pid: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm"))?;
    let pages: u64 = text.split(' ').nth(1).context("statm has no second field")?.parse()?;
    Ok(pages * PAGE)
}

/// A multiplicative generator, which is random enough for sizes and keys.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    *state >> 33
}

/// Writes values until the load ends; if the load reads, half of the writes are of missing keys.
fn write(address: SocketAddr, seed: u64, load: &Load) -> Result<()> {
    let mut client = Client::connect(address)?;
    let mut state = seed + 1;
    let body = vec![b'x'; 64 << 10];
    while !load.stop.load(Relaxed) {
        let octaves = load.octaves();
        let mean = 3 * ((1 << (octaves + 4)) - 16) / (2 * octaves);
        let keys = 3 * LIMIT / mean;
        // The square makes some keys more popular than others.
        let popular = |state: &mut u64| {
            let unit = next(state) as f64 / (1u64 << 31) as f64;
            (unit * unit * keys as f64) as u64
        };
        let mut missing = vec![];
        if load.reads {
            let read: Vec<_> = (0..16).map(|_| popular(&mut state)).collect();
            missing = client.missing(&read, octaves)?;
            load.saw(16, 16 - missing.len() as u64);
        }
        let blind = if load.reads { 8 } else { 16 };
        missing.extend((0..blind).map(|_| next(&mut state) % keys));
        let mut batch = vec![];
        let mut bytes = 0;
        for key in &missing {
            // Where hits count, a key keeps its size; otherwise keys with small values would stay.
            let mut of_key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let of = if load.reads { &mut of_key } else { &mut state };
            _ = next(of);
            let octave = 4 + next(of) % octaves;
            let size = ((1 << octave) + next(of) % (1 << octave)) as usize;
            let key = format!("key:{octaves}:{key}");
            write!(batch, "*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${size}\r\n", key.len())?;
            batch.extend_from_slice(&body[..size]);
            batch.extend_from_slice(b"\r\n");
            bytes += size;
        }
        client.stream.write_all(&batch)?;
        for _ in &missing {
            let reply = client.line()?;
            // A script that never ends blocks the server until it is killed.
            let is_busy = reply.starts_with("-BUSY");
            ensure!(reply == "+OK" || is_busy, "SET was answered with {reply}");
        }
        load.written.fetch_add(bytes as u64, Relaxed);
    }
    Ok(())
}

/// Disconnects in the middle of a command, again and again.
fn break_off(address: SocketAddr, stop: &AtomicBool) -> Result<()> {
    let halves: [&[u8]; 4] = [
        b"*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$1000000\r\nabc",
        b"*3\r\n$3\r\nSE",
        b"GET hal",
        b"*2\r\n$3\r\nGET\r\n$4\r\nhalf\r\n*2\r\n$3",
    ];
    for half in halves.iter().cycle() {
        if stop.load(Relaxed) {
            break;
        }
        TcpStream::connect(address)?.write_all(half)?;
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

struct Client {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
    value: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
        Ok(Self { replies: BufReader::new(stream.try_clone()?), stream, value: vec![] })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.replies.read_line(&mut line)? > 0, "the server closed the connection");
        Ok(line.trim_end().to_owned())
    }

    /// Sends one command of plain words; returns the first line of its reply, or the whole of a
    /// bulk string.
    fn ask(&mut self, words: &[&str]) -> Result<String> {
        let mut command = format!("*{}\r\n", words.len());
        for word in words {
            command.extend(["$", &word.len().to_string(), "\r\n", word, "\r\n"]);
        }
        self.stream.write_all(command.as_bytes())?;
        let first = self.line()?;
        let Some(length) = first.strip_prefix('$') else { return Ok(first) };
        let mut bulk = vec![0; length.parse::<usize>()? + 2];
        self.replies.read_exact(&mut bulk)?;
        Ok(String::from_utf8_lossy(&bulk).into_owned())
    }

    /// The keys without a value.
    fn missing(&mut self, keys: &[u64], octaves: u64) -> Result<Vec<u64>> {
        let mut batch = vec![];
        for key in keys {
            let key = format!("key:{octaves}:{key}");
            write!(batch, "*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len())?;
        }
        self.stream.write_all(&batch)?;
        let mut missing = vec![];
        for &key in keys {
            let first = self.line()?;
            match first.strip_prefix('$').context("the reply is not a string")?.parse::<i64>()? {
                -1 => missing.push(key),
                length => {
                    self.value.resize(length as usize + 2, 0);
                    self.replies.read_exact(&mut self.value)?;
                }
            }
        }
        Ok(missing)
    }

    /// A number in INFO.
    fn info(&mut self, field: &str) -> Result<u64> {
        let mut text = self.ask(&["INFO", "all"])?;
        while text.starts_with("-BUSY") {
            thread::sleep(LOOK);
            text = self.ask(&["INFO", "all"])?;
        }
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .with_context(|| format!("INFO has no {field}"))?;
        Ok(value.trim().parse()?)
    }
}
