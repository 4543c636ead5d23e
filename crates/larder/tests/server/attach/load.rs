//! A cache-aside client of memcached at a steady pace: it reads in bunches, and writes the missing
//! keys.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Reads sent at once.
const BUNCH: usize = 64;

/// The next request: a key, and the size of its value in bytes.
pub(super) type Next = Box<dyn FnMut() -> (u64, usize) + Send>;

/// A running load; it ends when this is dropped.
pub(super) struct Load {
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Counts {
    reads: AtomicU64,
    misses: AtomicU64,
    ends: AtomicBool,
}

impl Load {
    /// Begins to send `per_s` reads a second to the server at `port`.
    pub(super) fn begin(port: u16, per_s: u32, next: Next) -> Self {
        let counts = Arc::new(Counts::default());
        let own = counts.clone();
        let thread = std::thread::spawn(move || ask(port, per_s, next, &own));
        Self { counts, thread: Some(thread) }
    }

    /// Reads and misses so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (of(&self.counts.reads), of(&self.counts.misses))
    }

    /// The miss ratio of the reads during the next `time`.
    pub(super) fn misses_within(&self, time: Duration) -> f64 {
        let (reads, misses) = self.counts();
        std::thread::sleep(time);
        let (reads_then, misses_then) = self.counts();
        (misses_then - misses) as f64 / (reads_then - reads).max(1) as f64
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.counts.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sends requests until the load must end, or the server is gone.
fn ask(port: u16, per_s: u32, mut next: Next, counts: &Counts) {
    let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) else { return };
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::new(stream);
    let (began, mut sent) = (Instant::now(), 0u64);
    let value = vec![b'v'; 1 << 20];
    while !counts.ends.load(Ordering::Relaxed) {
        let due = began + Duration::from_secs_f64(sent as f64 / f64::from(per_s));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        sent += BUNCH as u64;
        let bunch: Vec<_> = (0..BUNCH).map(|_| next()).collect();
        let Some(missed) = bunch_of(&mut stream, &bunch, &value) else { return };
        counts.reads.fetch_add(BUNCH as u64, Ordering::Relaxed);
        counts.misses.fetch_add(missed, Ordering::Relaxed);
    }
}

/// Reads a bunch and writes the missing keys; returns their number, or `None` if the server is
/// gone.
fn bunch_of(
    stream: &mut BufReader<TcpStream>,
    bunch: &[(u64, usize)],
    value: &[u8],
) -> Option<u64> {
    let gets: Vec<_> = bunch.iter().map(|(key, _)| format!("get {key:016x}\r\n")).collect();
    let gets = gets.concat();
    stream.get_mut().write_all(gets.as_bytes()).ok()?;
    let mut missed = vec![];
    let mut held = vec![];
    for one in bunch {
        let mut line = String::new();
        (stream.read_line(&mut line).ok()? > 0).then_some(())?;
        if line.starts_with("END") {
            missed.push(*one);
            continue;
        }
        let length: usize = line.trim_end().rsplit(' ').next()?.parse().ok()?;
        held.resize(length + "\r\nEND\r\n".len(), 0);
        stream.read_exact(&mut held).ok()?;
    }
    let mut sets = vec![];
    for (key, size) in &missed {
        sets.extend(format!("set {key:016x} 0 0 {size}\r\n").bytes());
        sets.extend(&value[..*size]);
        sets.extend(b"\r\n");
    }
    stream.get_mut().write_all(&sets).ok()?;
    for _ in &missed {
        let mut line = String::new();
        (stream.read_line(&mut line).ok()? > 0).then_some(())?;
    }
    Some(missed.len() as u64)
}

/// Pseudo-random numbers that are the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number from 0 to below 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (base::hash::mix(self.0) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of `keys` numbers, all equally likely.
    pub(super) fn below(&mut self, keys: u64) -> u64 {
        (self.unit() * keys as f64) as u64
    }

    /// One of `keys` numbers, by a power law with an exponent below 1.
    pub(super) fn zipf(&mut self, keys: u64, skew: f64) -> u64 {
        (keys as f64 * self.unit().powf(1.0 / (1.0 - skew))) as u64
    }
}
