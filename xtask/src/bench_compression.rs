//! Compression by price, with real values: misses, waiting and processor time with it and without.
//!
//! The values are the files of the given folders, such as the documents of installed packages. A
//! key is one file, and no two keys have the same contents, so that a dictionary cannot learn a
//! value by heart. Keys are requested by Zipf's law with exponent 0.9, 16 GETs at a time. Each miss
//! is written at once with its stated cost (`SET … COST`), so a run takes no longer than the server
//! needs. Waiting is the number of misses times that cost. The first half of the requests warms the
//! cache and counts for nothing.
//!
//! Processor time is what the kernel charged to all threads of the server, the compression thread
//! included, divided by the requests. `LARDER` may name a binary to measure.

use crate::bench_server::{Server, binary, prepare};
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Range of a value's length.
const LENGTHS: std::ops::RangeInclusive<u64> = 100..=65_536;
/// Most values of a mix.
const VALUES: usize = 20_000;
/// Requests of a run, and of each of its commands.
const REQUESTS: usize = 600_000;
const DEPTH: usize = 16;
const SKEW: f64 = 0.9;
/// Memory of a run, as a share of what all values take.
const SHARE: f64 = 0.2;
/// Memory that a plain server gets to be compared with.
const MORE: f64 = 1.8;
/// Cost of a miss in microseconds, and those of the ladder.
const COST: u64 = 10_000;
const LADDER: [u64; 4] = [100, 1_000, 10_000, 100_000];
/// GETs at depth one for latencies, and the lengths of their values.
const SINGLES: usize = 20_000;
const SINGLE_LENGTHS: std::ops::Range<usize> = 1_500..3_000;

/// The mixes: their names, and the suffixes of their files.
const MIXES: [(&str, &[&str]); 3] = [
    ("JSON and HTML", &["json", "html", "htm"]),
    ("source text", &["rs", "js", "py", "c", "h", "ts", "md"]),
    ("images", &["png", "jpg", "jpeg", "gif", "webp", "woff2"]),
];

/// The files below a folder with one of these suffixes.
fn files(folder: &Path, suffixes: &[&str], into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        if kind.is_dir() {
            files(&path, suffixes, into);
        } else if kind.is_file() && suffix.is_some_and(|suffix| suffixes.contains(&suffix)) {
            into.push(path);
        }
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Different values of a mix; as many of each suffix as there are, up to an equal part.
fn values(folders: &[String], suffixes: &[&str]) -> Vec<Vec<u8>> {
    let (mut values, mut seen) = (vec![], HashSet::new());
    for suffix in suffixes {
        let mut found = vec![];
        for folder in folders {
            files(folder.as_ref(), &[suffix], &mut found);
        }
        // Neighbours in a folder are alike, so the files are taken in an order that mixes them.
        found.sort_by_key(hash);
        let wanted = values.len() + VALUES / suffixes.len().min(2);
        for path in found {
            if values.len() >= wanted {
                break;
            }
            let Ok(bytes) = std::fs::read(path) else { continue };
            let is_fit = LENGTHS.contains(&(bytes.len() as u64));
            if is_fit && seen.insert(hash(&bytes)) {
                values.push(bytes);
            }
        }
    }
    values.truncate(VALUES);
    values
}

/// A generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The keys of all requests, by the numbers of their values.
fn requests(values: usize) -> Vec<u32> {
    let mut random = Random(7);
    let mut of_rank: Vec<u32> = (0..values as u32).collect();
    for at in (1..values).rev() {
        of_rank.swap(at, (random.next() % (at as u64 + 1)) as usize);
    }
    let mut sum = 0.0;
    let below: Vec<f64> = (1..=values)
        .map(|rank| {
            sum += (rank as f64).powf(-SKEW);
            sum
        })
        .collect();
    (0..REQUESTS)
        .map(|_| {
            let u = random.unit() * sum;
            of_rank[below.partition_point(|&below| below < u).min(values - 1)]
        })
        .collect()
}

/// A client of a server that speaks RESP.
struct Client {
    from: BufReader<TcpStream>,
    to: Vec<u8>,
}

impl Client {
    fn new(server: &Server) -> Result<Self> {
        let stream = TcpStream::connect(server.process.address())?;
        stream.set_nodelay(true)?;
        Ok(Self { from: BufReader::with_capacity(1 << 20, stream), to: vec![] })
    }

    fn command(&mut self, words: &[&[u8]]) {
        // Writing to a Vec does not fail.
        let _ = write!(self.to, "*{}\r\n", words.len());
        for word in words {
            let _ = write!(self.to, "${}\r\n", word.len());
            self.to.extend_from_slice(word);
            self.to.extend_from_slice(b"\r\n");
        }
    }

    fn send(&mut self) -> Result<()> {
        self.from.get_mut().write_all(&self.to)?;
        self.to.clear();
        Ok(())
    }

    /// The next reply; `None` if it is a null.
    fn reply(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let (kind, rest) = line.trim_end().split_at_checked(1).context("an empty reply")?;
        match (kind, rest) {
            ("$", "-1") => Ok(None),
            ("$" | "=", len) => {
                let mut bytes = vec![0; len.parse::<usize>()? + 2];
                self.from.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Ok(Some(bytes))
            }
            ("+" | ":", word) => Ok(Some(word.into())),
            _ => bail!("the server answers {line}"),
        }
    }

    fn ask(&mut self, words: &[&[u8]]) -> Result<Option<Vec<u8>>> {
        self.command(words);
        self.send()?;
        self.reply()
    }

    /// A field of INFO.
    fn info(&mut self, field: &str) -> Result<f64> {
        let text = self.ask(&[b"INFO", b"everything"])?.unwrap_or_default();
        let text = String::from_utf8(text)?;
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        Ok(line.and_then(|number| number.parse().ok()).unwrap_or_default())
    }
}

/// The outcome of a run.
struct Outcome {
    misses: f64,
    cpu_us: f64,
    items: f64,
    compressed: f64,
    ratio: f64,
    work_us: f64,
    p99_us: f64,
}

impl Outcome {
    /// Microseconds of waiting and processor time for a request.
    fn wait(&self, cost: u64) -> f64 {
        self.misses * cost as f64
    }
}

fn name(key: u32) -> Vec<u8> {
    format!("document:{key:08}").into_bytes()
}

/// Plays the requests on a server.
fn play(server: &Server, values: &[Vec<u8>], keys: &[u32], cost: Option<u64>) -> Result<Outcome> {
    let mut client = Client::new(server)?;
    let cost = cost.map(|cost| cost.to_string().into_bytes());
    let (mut misses, mut before) = (0, [0.0; 2]);
    let half = keys.len() / 2;
    for (at, batch) in keys.chunks(DEPTH).enumerate() {
        if at * DEPTH == half / DEPTH * DEPTH {
            let work = client.info("compression_compress_seconds")?
                + client.info("compression_decompress_seconds")?;
            before = [server.cpu_seconds()?, work];
        }
        for &key in batch {
            client.command(&[b"GET", &name(key)]);
        }
        client.send()?;
        let mut missed = vec![];
        for &key in batch {
            match client.reply()? {
                None => missed.push(key),
                Some(value) => {
                    ensure!(value == values[key as usize], "key {key} has another value");
                }
            }
        }
        misses += if at * DEPTH >= half { missed.len() } else { 0 };
        missed.sort_unstable();
        missed.dedup();
        for &key in &missed {
            let value = &values[key as usize];
            match &cost {
                Some(cost) => client.command(&[b"SET", &name(key), value, b"COST", cost]),
                None => client.command(&[b"SET", &name(key), value]),
            }
        }
        client.send()?;
        for _ in missed {
            client.reply()?;
        }
    }
    let cpu = server.cpu_seconds()? - before[0];
    let work = client.info("compression_compress_seconds")?
        + client.info("compression_decompress_seconds")?
        - before[1];
    let counted = (keys.len() - half) as f64;
    let items = client.ask(&[b"DBSIZE"])?.unwrap_or_default();
    Ok(Outcome {
        misses: misses as f64 / counted,
        cpu_us: 1e6 * cpu / counted,
        items: String::from_utf8(items)?.parse()?,
        compressed: client.info("compression_items")?,
        ratio: client.info("compression_ratio")?,
        work_us: 1e6 * work / counted,
        p99_us: singles(&mut client, values, keys)?,
    })
}

/// The 99th percentile of the time of a GET of about two kilobytes that hits, in microseconds.
fn singles(client: &mut Client, values: &[Vec<u8>], keys: &[u32]) -> Result<f64> {
    let is_fit = |key: &&u32| SINGLE_LENGTHS.contains(&values[**key as usize].len());
    let mut times = vec![];
    for &key in keys.iter().rev().filter(is_fit).take(SINGLES) {
        let began = Instant::now();
        if client.ask(&[b"GET", &name(key)])?.is_some() {
            times.push(began.elapsed().as_nanos() as f64 / 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(times.len() * 99 / 100).copied().unwrap_or_default())
}

fn larder(memory: u64, more: &str) -> Result<Server> {
    let binary = std::env::var("LARDER").map_or_else(|_| binary(), Ok)?;
    let words = format!("{binary} serve --maxmemory {memory} --io-threads 1 --http-port 0 {more}");
    Server::start("larder", "0", &words.split_whitespace().collect::<Vec<_>>())
}

/// Bytes that all values take in a plain server.
fn working_set(values: &[Vec<u8>]) -> Result<u64> {
    let server = larder(0, "")?;
    let mut client = Client::new(&server)?;
    for (key, value) in values.iter().enumerate() {
        client.ask(&[b"SET", &name(key as u32), value])?;
    }
    Ok(client.info("used_memory")? as u64)
}

fn row(title: &str, outcome: &Outcome, cost: u64) {
    let Outcome { misses, cpu_us, items, compressed, ratio, work_us, p99_us } = outcome;
    println!(
        "| {title} | {:.2} % | {:.0} | {cpu_us:.2} | {:.0} % | {ratio:.2} | {work_us:.2} | \
         {p99_us:.0} |",
        100.0 * misses,
        outcome.wait(cost),
        100.0 * compressed / items.max(1.0)
    );
}

fn head(title: &str) {
    println!(
        "\n{title}\n\n| server | misses | wait, µs | CPU, µs | compressed items | ratio | of CPU \
         for zstd, µs | p99, µs |\n|---|---|---|---|---|---|---|---|"
    );
}

/// Prints the tables.
pub(crate) fn run(folders: &[String]) -> Result<()> {
    ensure!(!folders.is_empty(), "where are the values? cargo x bench compression DIR…");
    if std::env::var_os("LARDER").is_none() {
        prepare()?;
    }
    for (mix, suffixes) in MIXES {
        let values = values(folders, suffixes);
        if values.len() < 500 {
            println!("\n{mix}: only {} files, so this mix is left out", values.len());
            continue;
        }
        let keys = requests(values.len());
        let plain: usize = values.iter().map(Vec::len).sum();
        let all = working_set(&values)?;
        let memory = (all as f64 * SHARE) as u64;
        head(&format!(
            "{mix}: {} values, {} bytes on average; memory {:.1} MiB, {:.0} % of the working set; \
             a miss costs {} ms",
            values.len(),
            plain / values.len(),
            memory as f64 / f64::from(1 << 20),
            100.0 * SHARE,
            COST / 1_000
        ));
        let run = |memory: u64, more: &str, cost| {
            play(&larder(memory, more)?, &values, &keys, Some(cost))
        };
        row("no", &run(memory, "--compression no", COST)?, COST);
        let more = (memory as f64 * MORE) as u64;
        row("no, 1.8 times the memory", &run(more, "--compression no", COST)?, COST);
        row("auto", &run(memory, "--compression auto", COST)?, COST);
        let fits = all + all / 10;
        row("no, all fits", &run(fits, "--compression no", COST)?, COST);
        row("auto, all fits", &run(fits, "--compression auto", COST)?, COST);
        if let Ok(other) = std::env::var("BESIDE") {
            let memory = memory.to_string();
            let words = [&other, "--maxmemory", &memory, "--maxmemory-policy", "allkeys-lru"];
            let server = Server::start("other", "0", &[&words[..], &["--save", ""]].concat())?;
            row(&format!("{other}, LRU"), &play(&server, &values, &keys, None)?, COST);
        }
        if mix == MIXES[0].0 {
            for cost in LADDER {
                head(&format!("{mix}, a miss costs {} ms", cost as f64 / 1e3));
                row("no", &run(memory, "--compression no", cost)?, cost);
                row("auto", &run(memory, "--compression auto", cost)?, cost);
                let everything = "--compression auto --compression-weight 0";
                row("weight 0", &run(memory, everything, cost)?, cost);
            }
        }
    }
    Ok(())
}
