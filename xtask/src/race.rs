//! The simulator beside libCacheSim's, on one trace and one thread: `docs/results/lab.md`, made
//! anew.
//!
//! The trace is written as `oracleGeneral`, which both read, and their commands run in turn. Each
//! has two figures. The rate is the command's own report, by wall time; libCacheSim reads the file
//! during that time, and our command has read it before. The processor time is that of the whole
//! command with its reading, which for our command includes a pass over the whole trace (footprint,
//! kinds of misses). Ratios are of two runs of one round, and medians over the rounds.
//!
//! Without a copy of libCacheSim the rates are compared with our own LRU. Beside them stand the
//! rates of libCacheSim's policies relative to its own LRU.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROUNDS: usize = 5;
const REQUESTS: u32 = 4_000_000;
const SIZES: &str = "1%,10%";
const GENERATED: &str = "synth:zipf:keys=1000000:skew=0.9:requests=4000000";

/// Our policy, the policy of libCacheSim that it is compared with, and the rate of libCacheSim's
/// own form of our policy relative to its LRU (version 0.3.5, ten million requests of a Twitter
/// trace).
const PAIRS: [(&str, &str, f64); 7] = [
    ("lru", "lru", 1.0),
    ("sieve", "sieve", 1.22),
    ("s3fifo", "s3fifo", 0.48),
    ("gdsf", "gdsf", 0.10),
    ("klru:5", "lhd", 0.35),
    ("klru:16", "lhd", 0.16),
    ("lhd", "lhd", 0.26),
];

/// One run of one command.
#[derive(Clone, Copy, Debug)]
struct Lap {
    /// Million requests a second, as the command reports it.
    rate: f64,
    /// Seconds of processor time of the whole command.
    cpu: f64,
    miss_ratio: f64,
}

/// The trace and the program that the command line names.
struct Asked {
    trace: String,
    cachesim: Option<String>,
}

impl Asked {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut asked = Self { trace: GENERATED.to_owned(), cachesim: None };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--libcachesim" => {
                    let path = words.next().context("--libcachesim needs the path to cachesim")?;
                    asked.cachesim = Some(path);
                }
                flag if flag.starts_with('-') => bail!("race has no flag '{flag}'"),
                trace => trace.clone_into(&mut asked.trace),
            }
        }
        Ok(asked)
    }
}

/// Runs all policies and prints the tables.
pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<()> {
    let asked = Asked::parse(words)?;
    super::built::build(&["larder", "lab"])?;
    let folder = std::env::temp_dir().join(format!("larder-race-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let result = race(&asked, &folder);
    fs::remove_dir_all(&folder)?;
    result
}

fn race(asked: &Asked, folder: &Path) -> Result<()> {
    let file = folder.join("trace.oracleGeneral");
    let limit = REQUESTS.to_string();
    let convert = ["trace", "convert", &asked.trace, path(&file)?, "--limit", &limit];
    output(Command::new(larder()?).args(convert))?;
    let runs = ours(&file, "lru", SIZES)?;
    let sizes: Vec<u64> = runs.iter().filter_map(|run| run["size_bytes"].as_u64()).collect();
    println!("{}, values charged, one thread, medians of {ROUNDS} rounds", asked.trace);
    for &size in &sizes {
        println!();
        match &asked.cachesim {
            Some(program) => beside(program, &file, size)?,
            None => alone(&file, size)?,
        }
    }
    asked.cachesim.as_ref().map_or(Ok(()), |program| grid(program, &file, &sizes))
}

/// Measures the main use of both commands: several policies at several sizes at once.
fn grid(program: &str, file: &Path, sizes: &[u64]) -> Result<()> {
    const POLICIES: &str = "lru,sieve,s3fifo,gdsf,lhd";
    let list = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let mut laps = vec![];
    for _ in 0..ROUNDS {
        let start = children_cpu()?;
        ours(file, POLICIES, &list)?;
        let middle = children_cpu()?;
        cachesim(program, file, POLICIES, &list)?;
        laps.push((middle - start, children_cpu()? - middle));
    }
    let of = |figure: fn(&(f64, f64)) -> f64| median(laps.iter().map(figure).collect());
    println!(
        "\n{POLICIES} at both sizes, one command each: CPU s ours {:.2}, its {:.2}, ratio {:.2}",
        of(|(a, _)| *a),
        of(|(_, b)| *b),
        of(|(a, b)| b / a),
    );
    Ok(())
}

/// Runs both commands in turn.
fn beside(program: &str, file: &Path, size: u64) -> Result<()> {
    println!(
        "| policy, {size} bytes | its policy | M/s: ours | its | ratio | CPU s: ours | its | ratio \
         | misses: ours | its |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut laps = vec![vec![]; PAIRS.len()];
    for _ in 0..ROUNDS {
        for (laps, (ours, theirs, _)) in laps.iter_mut().zip(PAIRS) {
            laps.push((our_lap(file, ours, size)?, their_lap(program, file, theirs, size)?));
        }
    }
    for (laps, (ours, theirs, _)) in laps.iter().zip(PAIRS) {
        let of = |figure: fn(&(Lap, Lap)) -> f64| median(laps.iter().map(figure).collect());
        println!(
            "| {ours} | {theirs} | {:.1} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {:.4} | {:.4} |",
            of(|(a, _)| a.rate),
            of(|(_, b)| b.rate),
            of(|(a, b)| a.rate / b.rate),
            of(|(a, _)| a.cpu),
            of(|(_, b)| b.cpu),
            of(|(a, b)| b.cpu / a.cpu),
            of(|(a, _)| a.miss_ratio),
            of(|(_, b)| b.miss_ratio),
        );
    }
    Ok(())
}

/// Runs our command alone, and prints every policy relative to LRU.
fn alone(file: &Path, size: u64) -> Result<()> {
    println!(
        "| policy, {size} bytes | M/s | relative to our lru | libCacheSim's own, relative to its \
         lru |"
    );
    println!("|---|--:|--:|--:|");
    let mut laps = vec![vec![]; PAIRS.len()];
    for _ in 0..ROUNDS {
        for (laps, (ours, ..)) in laps.iter_mut().zip(PAIRS) {
            laps.push(our_lap(file, ours, size)?.rate);
        }
    }
    for (rates, (name, _, known)) in laps.iter().zip(PAIRS) {
        let ratios = rates.iter().zip(&laps[0]).map(|(rate, lru)| rate / lru).collect();
        println!("| {name} | {:.1} | {:.2} | {known:.2} |", median(rates.clone()), median(ratios));
    }
    Ok(())
}

fn our_lap(file: &Path, policy: &str, size: u64) -> Result<Lap> {
    let before = children_cpu()?;
    let runs = ours(file, policy, &size.to_string())?;
    let cpu = children_cpu()? - before;
    let run = runs.first().context("larder simulate printed no run")?;
    let figure =
        |name: &str| run[name].as_f64().with_context(|| format!("there is no run of {name}"));
    Ok(Lap { rate: figure("requests_per_second")? / 1e6, cpu, miss_ratio: figure("miss_ratio")? })
}

fn ours(file: &Path, policy: &str, sizes: &str) -> Result<Vec<Value>> {
    let words = ["--policy", policy, "--size", sizes, "--threads", "1", "--json"];
    let output = output(Command::new(larder()?).arg("simulate").arg(file).args(words))?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn their_lap(program: &str, file: &Path, policy: &str, size: u64) -> Result<Lap> {
    let before = children_cpu()?;
    let text = cachesim(program, file, policy, &size.to_string())?;
    let cpu = children_cpu()? - before;
    let after = |label: &str| -> Result<f64> {
        let rest =
            text.rsplit_once(label).with_context(|| format!("there is no '{label}' in: {text}"))?.1;
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        Ok(rest[..end].trim().parse()?)
    };
    Ok(Lap { rate: after("throughput ")?, cpu, miss_ratio: after("req, miss ratio ")? })
}

fn cachesim(program: &str, file: &Path, policies: &str, sizes: &str) -> Result<String> {
    // cachesim writes a file of results into its working directory.
    let folder = file.parent().context("the file has no folder")?;
    let words = [path(file)?, "oracleGeneral", policies, sizes, "--num-thread", "1"];
    let program = fs::canonicalize(program).with_context(|| format!("there is no {program}"))?;
    let output = output(Command::new(program).args(words).current_dir(folder))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Seconds of processor time of all commands that have ended, in steps of 10 ms.
fn children_cpu() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("this needs /proc")?;
    let fields: Vec<_> =
        text.rsplit_once(')').context("/proc/…/stat is too short")?.1.split(' ').collect();
    // Fields 16 and 17 of the line; the first field here is the third there, after a blank.
    let ticks: u64 = fields[14].parse::<u64>()? + fields[15].parse::<u64>()?;
    Ok(ticks as f64 / 100.0)
}

fn output(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("could not start {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}

fn larder() -> Result<PathBuf> {
    super::built::path("larder")
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("the path is not text")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
