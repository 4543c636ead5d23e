//! The arguments of `larder curve`.

use super::questions::ratio;
use crate::compressed::CompressArgs;
use base::{Bytes, MissRatio};
use curve::Part;
use load::open::Options;
use std::path::PathBuf;

/// Compute the miss ratio at every size, in one pass over a trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder curve trace.csv.zst
  larder curve trace.csv.zst --model krr,kaet --k 1,5,16 --rate auto --against exact
  larder curve trace.csv.zst --model miniature --policy lru,klru:5 --rate 0.05
  larder curve trace.csv.zst --model shards --rate 0.01 --goal 5% --at 4GiB --step 1GiB
  larder curve trace.csv.zst --compress-ratio 0.4 --goal 5%
  larder curve trace.csv.zst --part 1/4 --state 1.counts
  larder curve merge 1.counts 2.counts 3.counts 4.counts")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub(super) of_parts: Option<OfParts>,
    #[command(flatten)]
    pub(super) of_trace: Draw,
}

#[derive(clap::Subcommand, Debug)]
pub(super) enum OfParts {
    Merge(MergeArgs),
}

/// Arguments of a run over one trace.
#[derive(clap::Args, Debug)]
pub(super) struct Draw {
    /// The trace: a file in any known format
    #[arg(default_value = "", hide_default_value = true)]
    pub(super) trace: String,
    /// Models, comma separated; `list` names them
    #[arg(long, value_delimiter = ',', default_value = "krr", value_name = "MODEL")]
    pub(super) model: Vec<String>,
    /// Candidates of an eviction, comma separated, for models of K-LRU
    #[arg(long, value_delimiter = ',', default_value = "5", value_name = "K",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(policy::K_MAX)))]
    pub(super) k: Vec<u32>,
    /// Evictions keep a pool of 16 candidates, as Redis does
    #[arg(long)]
    pub(super) pool: bool,
    /// Policies, comma separated, for `exact` and `miniature`; without it K-LRU
    #[arg(long, value_delimiter = ',', value_name = "POLICY")]
    pub(super) policy: Vec<String>,
    /// Share of the keys to watch, or `auto` for the share that keeps 8192 keys; comma separated
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "RATE")]
    pub(super) rate: Vec<String>,
    /// Largest number of keys to watch: the rate falls as the trace shows more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) keys_max: Option<u64>,
    /// Draw and compare a curve for each run of this many requests, and report the mean
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), value_name = "REQUESTS")]
    pub(super) interval: Option<u64>,
    /// Compare with this model at rate 1 and give the mean absolute error: `exact` simulates
    #[arg(long, value_name = "MODEL")]
    pub(super) against: Option<String>,
    /// Give a band of two standard errors of sampling to either side, from eight parts of the keys
    #[arg(long)]
    pub(super) bands: bool,
    /// Seed that reproduces the run; another seed watches other keys. Comma separated
    #[arg(long, value_delimiter = ',', default_value = "1")]
    pub(super) seed: Vec<u64>,
    /// Watch this part of the keys, such as 1/4; `larder curve merge` adds parts up
    #[arg(long, value_name = "I/N", value_parser = part,
        conflicts_with_all = ["bands", "against", "interval", "compress_ratio"])]
    pub(super) part: Option<Part>,
    /// Write the counts to a file, for `larder curve merge`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bands", "interval", "compress_ratio"])]
    pub(super) state: Option<PathBuf>,
    #[command(flatten)]
    pub(super) asked: QuestionArgs,
    #[command(flatten)]
    pub(super) compress: CompressArgs,
    #[command(flatten)]
    pub(super) read: Options,
}

/// Questions to ask of the curves, and the form of the answer.
#[derive(clap::Args, Debug)]
pub(super) struct QuestionArgs {
    /// Sizes to report, spread evenly up to all bytes that the trace touches
    #[arg(long, default_value_t = 40, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) sizes: u32,
    /// Print the memory for a miss ratio of at most this, such as 5%
    #[arg(long, value_parser = ratio, value_name = "RATIO")]
    pub(super) goal: Option<MissRatio>,
    /// Print the miss ratio at this size, and the gain of one step more
    #[arg(long, value_parser = some_bytes, value_name = "SIZE")]
    pub(super) at: Option<Bytes>,
    /// The step of --at
    #[arg(long, value_parser = some_bytes, default_value = "1GiB", value_name = "SIZE")]
    pub(super) step: Bytes,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
    /// Write a page with all curves on one chart
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}

/// Parses a size, and refuses zero.
fn some_bytes(text: &str) -> Result<Bytes, String> {
    let size = Bytes::parse(text)?;
    if size == Bytes(0) { Err("write a size of at least one byte".into()) } else { Ok(size) }
}

/// Add up the counts of parts of the keys, and draw the curve of all keys
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  seq 4 | xargs -P 4 -I I larder curve trace.csv.zst --part I/4 --state I.counts
  larder curve merge 1.counts 2.counts 3.counts 4.counts
  larder curve merge *.counts --goal 5% --json")]
pub(super) struct MergeArgs {
    /// Files that `larder curve --state` wrote, in any order
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Write the sum to a file, which may be merged again
    #[arg(long, value_name = "FILE")]
    pub(super) state: Option<PathBuf>,
    #[command(flatten)]
    pub(super) asked: QuestionArgs,
}

/// Reads `1/4`: the first of four parts.
fn part(text: &str) -> Result<Part, String> {
    let (at, of) = text.split_once('/').unwrap_or_default();
    match (at.parse::<u32>(), of.parse::<u32>()) {
        (Ok(at @ 1..), Ok(of)) if at <= of && of <= curve::PARTS_MAX => Ok(Part { at: at - 1, of }),
        _ => Err(format!("'{text}' is not a part: write for example 1/4, the first of four")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read() {
        assert_eq!(part("1/4"), Ok(Part { at: 0, of: 4 }));
        assert_eq!(part("4/4"), Ok(Part { at: 3, of: 4 }));
        for text in ["0/4", "5/4", "4", "", "1/0", "1/99999999", "a/b"] {
            assert!(part(text).unwrap_err().contains("1/4"), "{text}");
        }
    }
}
