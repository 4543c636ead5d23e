//! The values and the requests: files of folders, sessions, Zipf's law, and a recorded trace.

use anyhow::{Context, Result};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Range of a value's length.
const LENGTHS: std::ops::RangeInclusive<u64> = 100..=65_536;
/// Most values of a mix.
pub(super) const VALUES: usize = 20_000;
/// Requests of a run, unless `REQUESTS` says otherwise.
const REQUESTS: usize = 300_000;
const SKEW: f64 = 0.9;

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
pub(super) fn values(folders: &[String], suffixes: &[&str]) -> Vec<Vec<u8>> {
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
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
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

/// The number of requests of a run.
pub(super) fn count() -> Result<usize> {
    let Ok(text) = std::env::var("REQUESTS") else { return Ok(REQUESTS) };
    text.parse().with_context(|| format!("REQUESTS={text} is no number"))
}

/// The keys of all requests, by the numbers of their values.
pub(super) fn requests(values: usize, count: usize) -> Vec<u32> {
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
    (0..count)
        .map(|_| {
            let u = random.unit() * sum;
            of_rank[below.partition_point(|&below| below < u).min(values - 1)]
        })
        .collect()
}

/// The keys of a trace's first requests, numbered from 0, and their number. The trace is CSV with
/// the key in the second column, compressed by zstd.
pub(super) fn recorded(trace: &str, count: usize) -> Result<(Vec<u32>, usize)> {
    let mut zstd = Command::new("zstd").args(["-dc", trace]).stdout(Stdio::piped()).spawn()?;
    let text = zstd.stdout.take().context("zstd writes nothing")?;
    let (mut numbers, mut keys) = (HashMap::new(), vec![]);
    for line in BufReader::new(text).lines().take(count) {
        let line = line?;
        let key = line.split(',').nth(1).context("a line without a key")?;
        let next = numbers.len() as u32;
        keys.push(*numbers.entry(key.to_owned()).or_insert(next));
    }
    zstd.wait()?;
    Ok((keys, numbers.len()))
}
