//! Compression by price, with real values: misses, waiting and processor time with it and without.
//!
//! The values are the files of the given folders, such as the documents of installed packages, and
//! serialized sessions. A key is one value, and no two keys have the same contents, so that a
//! dictionary cannot learn a value by heart. Keys are requested by Zipf's law with exponent 0.9, 16
//! GETs at a time. Each miss is written at once with its stated cost (`SET … COST`), so a run takes
//! no longer than the server needs. Waiting is the number of misses times that cost. The first half
//! of the requests warms the cache and counts for nothing.
//!
//! Processor time is what the kernel charged to all threads of the server, the compression thread
//! included, divided by the requests. It differs from run to run by more than a hundredth, so
//! where that matters, servers with compression and without run by turns, and the ratio of the
//! medians counts.
//!
//! `LARDER` may name a binary to measure, `BESIDE` another server, `TRACE` a recorded trace that is
//! played with sessions as values, `MIX` the first letters of the only mix to play, and `REQUESTS`
//! the number of requests: the default shows how a server starts, ten times as many how it goes on.

use super::play::{Client, Outcome, name, play};
use super::sessions::session;
use super::values::{VALUES, count, recorded, requests, values};
use crate::bench_server::{Server, binary, prepare};
use anyhow::{Result, ensure};

/// Memory of a run, as a share of what all values take.
const SHARE: f64 = 0.2;
/// Memory that a plain server gets to be compared with.
const MORE: f64 = 1.8;
/// Cost of a miss in microseconds, and those of the ladder.
const COST: u64 = 10_000;
const LADDER: [u64; 4] = [100, 1_000, 10_000, 100_000];
/// Runs with compression and without whose medians are compared.
const PAIRS: usize = 5;

/// The mixes of files: their names, and the suffixes of the files.
const MIXES: [(&str, &[&str]); 3] = [
    ("JSON and HTML", &["json", "html", "htm"]),
    ("source text", &["rs", "js", "py", "c", "h", "ts", "md"]),
    ("images", &["png", "jpg", "jpeg", "gif", "webp", "woff2", "gz"]),
];

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

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Compares misses, processor time and latencies without compression and with it.
fn pairs(title: &str, one: &dyn Fn(&str) -> Result<Outcome>) -> Result<()> {
    let mut outcomes = [vec![], vec![]];
    for _ in 0..PAIRS {
        for (mode, outcomes) in ["no", "auto"].iter().zip(&mut outcomes) {
            outcomes.push(one(&format!("--compression {mode}"))?);
        }
    }
    let of = |read: fn(&Outcome) -> f64| {
        let [no, auto] = outcomes.each_ref().map(|all| median(all.iter().map(read).collect()));
        (no, auto)
    };
    let (misses, cpu, p99) = (of(|one| one.misses), of(|one| one.cpu_us), of(|one| one.p99_us));
    println!(
        "{title}, medians of {PAIRS}: misses {:.2} and {:.2} %, CPU {:.2} and {:.2} µs, a ratio of \
         {:.3}; p99 of a GET {:.0} and {:.0} µs; compressed items {:.0}",
        100.0 * misses.0,
        100.0 * misses.1,
        cpu.0,
        cpu.1,
        cpu.1 / cpu.0,
        p99.0,
        p99.1,
        of(|one| one.compressed).1
    );
    Ok(())
}

/// Prints the tables of one mix.
fn tables(mix: &str, values: &[Vec<u8>], keys: &[u32]) -> Result<()> {
    let plain: usize = values.iter().map(Vec::len).sum();
    let all = working_set(values)?;
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
    let run =
        |memory: u64, more: &str, cost| play(&larder(memory, more)?, values, keys, Some(cost));
    row("no", &run(memory, "--compression no", COST)?, COST);
    let more = (memory as f64 * MORE) as u64;
    row("no, 1.8 times the memory", &run(more, "--compression no", COST)?, COST);
    row("auto", &run(memory, "--compression auto", COST)?, COST);
    if let Ok(other) = std::env::var("BESIDE") {
        let memory = memory.to_string();
        let words = [&other, "--maxmemory", &memory, "--maxmemory-policy", "allkeys-lru"];
        let server = Server::start("other", "0", &[&words[..], &["--save", ""]].concat())?;
        row(&format!("{other}, LRU"), &play(&server, values, keys, None)?, COST);
    }
    if mix == MIXES[0].0 {
        for cost in LADDER {
            head(&format!("{mix}, a miss costs {} ms", cost as f64 / 1e3));
            row("no", &run(memory, "--compression no", cost)?, cost);
            row("auto", &run(memory, "--compression auto", cost)?, cost);
            let everything = "--compression auto --compression-weight 0";
            row("weight 0", &run(memory, everything, cost)?, cost);
        }
        pairs("all fits", &|more| run(all + all / 10, more, COST))?;
    } else if mix == MIXES[2].0 {
        pairs(mix, &|more| run(memory, more, COST))?;
    }
    Ok(())
}

/// Prints all tables.
pub(crate) fn run(folders: &[String]) -> Result<()> {
    ensure!(!folders.is_empty(), "where are the values? cargo x bench compression DIR…");
    if std::env::var_os("LARDER").is_none() {
        prepare()?;
    }
    let only = std::env::var("MIX").unwrap_or_default();
    for (mix, suffixes) in MIXES.into_iter().filter(|(mix, _)| mix.starts_with(&only)) {
        let values = values(folders, suffixes);
        if values.len() < 500 {
            println!("\n{mix}: only {} files, so this mix is left out", values.len());
            continue;
        }
        tables(mix, &values, &requests(values.len(), count()?))?;
    }
    let sessions = |count| (0..count as u64).map(session).collect::<Vec<_>>();
    if "sessions".starts_with(&only) {
        tables("sessions", &sessions(VALUES), &requests(VALUES, count()?))?;
    }
    if let Ok(trace) = std::env::var("TRACE")
        && "trace".starts_with(&only)
    {
        let (keys, count) = recorded(&trace, count()?)?;
        tables("trace, with sessions", &sessions(count), &keys)?;
    }
    Ok(())
}
