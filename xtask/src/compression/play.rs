//! Plays requests on a server, and measures misses, processor time and latencies.

use crate::bench_server::Server;
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// Requests that are sent together.
const DEPTH: usize = 16;
/// GETs at depth one for latencies, and the lengths of their values.
const SINGLES: usize = 20_000;
const SINGLE_LENGTHS: std::ops::Range<usize> = 1_500..3_000;

/// A client of a server that speaks RESP.
pub(super) struct Client {
    from: BufReader<TcpStream>,
    to: Vec<u8>,
}

impl Client {
    pub(super) fn new(server: &Server) -> Result<Self> {
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

    pub(super) fn ask(&mut self, words: &[&[u8]]) -> Result<Option<Vec<u8>>> {
        self.command(words);
        self.send()?;
        self.reply()
    }

    /// A field of INFO.
    pub(super) fn info(&mut self, field: &str) -> Result<f64> {
        let text = self.ask(&[b"INFO", b"everything"])?.unwrap_or_default();
        let text = String::from_utf8(text)?;
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        Ok(line.and_then(|number| number.parse().ok()).unwrap_or_default())
    }
}

/// The outcome of a run.
pub(super) struct Outcome {
    pub(super) misses: f64,
    pub(super) cpu_us: f64,
    pub(super) items: f64,
    pub(super) compressed: f64,
    pub(super) ratio: f64,
    pub(super) work_us: f64,
    pub(super) p99_us: f64,
}

impl Outcome {
    /// Microseconds of waiting and processor time for a request.
    pub(super) fn wait(&self, cost: u64) -> f64 {
        self.misses * cost as f64
    }
}

pub(super) fn name(key: u32) -> Vec<u8> {
    format!("document:{key:08}").into_bytes()
}

/// Plays the requests on a server.
pub(super) fn play(
    server: &Server,
    values: &[Vec<u8>],
    keys: &[u32],
    cost: Option<u64>,
) -> Result<Outcome> {
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
