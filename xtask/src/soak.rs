//! Memory is a promise: writes of mixed sizes, three times as much as fits, for minutes.
//!
//! A server of its own is started with a small `maxmemory`. Four clients write values whose sizes
//! are log-uniform from 16 bytes to 64 KiB. A fifth client breaks off in the middle of commands.
//! With `shift` the range of sizes changes every twenty seconds, so that memory freed by one size
//! has to serve another: the worst that can be done to an allocator that moves nothing. With `slab`
//! the server keeps items in pages, and the bound is 1.05 instead of 1.15. Meanwhile
//! the accounted bytes are asked for every 20 ms and the resident memory is read from the kernel.
//! At the end everything is flushed: what remains has leaked.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: u64 = 256 << 20;
const WRITERS: u64 = 4;
const PAGE: u64 = 4096;

/// Ends the server with the test, whatever happens.
struct Server(Child, SocketAddr);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs for `seconds`, prints what was seen, and fails where a bound was passed.
pub(crate) fn run(seconds: u64, shift: bool, slab: bool) -> Result<()> {
    super::run("cargo build --release --quiet", &[])?;
    let server = start(if slab { "slab" } else { "heap" })?;
    let (pid, address) = (server.0.id(), server.1);
    let stop = AtomicBool::new(false);
    let written = AtomicU64::new(0);
    let mut used_max = 0;
    let mut resident_max = 0;
    let mut over_max = 0;
    thread::scope(|scope| -> Result<()> {
        let writers: Vec<_> = (0..WRITERS)
            .map(|seed| {
                let (stop, written) = (&stop, &written);
                scope.spawn(move || write(address, seed, shift, stop, written))
            })
            .collect();
        let quitter = scope.spawn(|| break_off(address, &stop));
        let start = Instant::now();
        let watched = (|| -> Result<()> {
            let mut client = Client::connect(address)?;
            while start.elapsed() < Duration::from_secs(seconds) {
                let used = client.info("used_memory")?;
                used_max = used_max.max(used);
                over_max = over_max.max(used.saturating_sub(LIMIT));
                resident_max = resident_max.max(resident(pid)?);
                thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        })();
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().expect("a writer panicked")?;
        }
        quitter.join().expect("the quitter panicked")?;
        watched
    })?;
    let mut client = Client::connect(address)?;
    thread::sleep(Duration::from_millis(300));
    let clients = client.info("connected_clients")?;
    client.ask(&["FLUSHALL"])?;
    let after = client.info("used_memory")?;
    let share = |bytes: u64| bytes as f64 / LIMIT as f64;
    println!("limit                          {LIMIT:>12} bytes");
    println!("written                        {:>12.1} x limit", share(written.into_inner()));
    println!("accounted bytes, highest       {:>12.4} x limit", share(used_max));
    println!("resident memory, highest       {:>12.4} x limit", share(resident_max));
    println!("accounted after FLUSHALL       {after:>12} bytes");
    println!("connections left               {clients:>12} (1 is this one)");
    ensure!(over_max == 0, "accounted bytes passed the limit by {over_max}");
    let bound = if slab { 1.05 } else { 1.15 };
    ensure!(share(resident_max) <= bound, "resident memory passed {bound} x the limit");
    ensure!(clients == 1, "{clients} connections are left open");
    ensure!(share(after) < 0.01, "{after} bytes are still accounted after FLUSHALL");
    Ok(())
}

fn start(layout: &str) -> Result<Server> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
    let larder = format!("{target}/release/larder");
    let child = Command::new(&larder)
        .args(["serve", "--port", &port.to_string(), "--maxmemory", &LIMIT.to_string()])
        .args(["--layout", layout])
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{larder} could not be started"))?;
    let server = Server(child, SocketAddr::from(([127, 0, 0, 1], port)));
    for _ in 0..100 {
        if TcpStream::connect(server.1).is_ok() {
            return Ok(server);
        }
        thread::sleep(Duration::from_millis(50));
    }
    bail!("the server does not answer on port {port}")
}

/// Resident bytes of a process, from the kernel.
fn resident(pid: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm"))?;
    let pages: u64 = text.split(' ').nth(1).context("statm has no second field")?.parse()?;
    Ok(pages * PAGE)
}

/// A multiplicative generator is random enough for sizes and keys.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    *state >> 33
}

fn write(
    address: SocketAddr,
    seed: u64,
    shift: bool,
    stop: &AtomicBool,
    written: &AtomicU64,
) -> Result<()> {
    let mut client = Client::connect(address)?;
    let mut state = seed + 1;
    let body = vec![b'x'; 64 << 10];
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        // From 16 bytes to 64 KiB; with `shift` the upper end is 1 KiB, 8 KiB and 64 KiB in turn.
        let octaves = if shift { 6 + start.elapsed().as_secs() / 20 % 3 * 3 } else { 12 };
        let mean = 3 * ((1 << (octaves + 4)) - 16) / (2 * octaves);
        let keys = 3 * LIMIT / mean;
        let mut batch = vec![];
        let mut bytes = 0;
        for _ in 0..16 {
            let octave = 4 + next(&mut state) % octaves;
            let size = ((1 << octave) + next(&mut state) % (1 << octave)) as usize;
            let key = format!("key:{}", next(&mut state) % keys);
            write!(batch, "*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${size}\r\n", key.len())?;
            batch.extend_from_slice(&body[..size]);
            batch.extend_from_slice(b"\r\n");
            bytes += size;
        }
        client.stream.write_all(&batch)?;
        for _ in 0..16 {
            let reply = client.line()?;
            ensure!(reply == "+OK", "SET was answered with {reply}");
        }
        written.fetch_add(bytes as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Leaves in the middle of a command, again and again.
fn break_off(address: SocketAddr, stop: &AtomicBool) -> Result<()> {
    let halves: [&[u8]; 4] = [
        b"*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$1000000\r\nabc",
        b"*3\r\n$3\r\nSE",
        b"GET hal",
        b"*2\r\n$3\r\nGET\r\n$4\r\nhalf\r\n*2\r\n$3",
    ];
    for half in halves.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
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
}

impl Client {
    fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self { replies: BufReader::new(stream.try_clone()?), stream })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.replies.read_line(&mut line)? > 0, "the server closed the connection");
        Ok(line.trim_end().to_owned())
    }

    /// One command of plain words; the first line of its reply, or the whole of a bulk string.
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

    /// One number of INFO.
    fn info(&mut self, field: &str) -> Result<u64> {
        let text = self.ask(&["INFO", "all"])?;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .with_context(|| format!("INFO has no {field}"))?;
        Ok(value.trim().parse()?)
    }
}
