//! The arguments of `larder simulate`.

use super::size::Size;
use crate::compressed::CompressArgs;
use load::open::Options;
use std::path::PathBuf;

/// Prefix of a name that stands for the live store under a policy or a recipe.
pub(super) const LIVE: &str = "store:";

/// Simulate every policy at every size, in one pass over a trace
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "larder simulate [OPTIONS] <TRACE>...",
    after_help = "\
Examples:
  larder simulate trace.csv.zst
  larder simulate trace.csv.zst --policy lru,klru:5,sieve --size 0.1%,1%,10%,1GiB
  larder simulate a.csv.zst b.csv.zst --ignore-size --size 1%,10% --json
  larder simulate synth:zipf:keys=100000:skew=0.9 --policy lru,lhd+tinylfu --html report.html
  larder simulate trace.csv.zst --policy lhd --size 10%,20% --compress-ratio 0.4
  larder simulate web.csv.zst cart.csv.zst --recipe static,kredis --size 10% --penalty cart=2ms

A size in per cent is of the footprint: the sum over all keys of the largest size each had.
`--policy list` names the policies and their parameters; `--policy all` takes every one.
`store:lhd` is the live store itself under that policy, with all that it takes beside its items;
`store:kredis` as a recipe has the pilot steer it."
)]
pub struct Args {
    /// Traces: files in any known format, or generators
    #[arg(value_name = "TRACE")]
    pub(super) traces: Vec<String>,
    /// Policies, comma separated; parameters follow with colons: klru:k=16:pool=16
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "lru,klru:5,sieve,s3fifo,gdsf,lhd",
        value_name = "POLICY"
    )]
    pub(super) policy: Vec<String>,
    /// Sizes of the cache, comma separated: bytes, or per cent of the footprint
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0.1%,0.3%,1%,3%,10%,25%",
        value_parser = Size::parse,
        value_name = "SIZE"
    )]
    pub(super) size: Vec<Size>,
    /// Recipes instead of policies, comma separated: they run the server's pilot in virtual time.
    /// Each trace is a tenant; in a single trace each client is one
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "RECIPE",
        conflicts_with_all = ["policy", "tenant", "interval", "csv"]
    )]
    pub(super) recipe: Vec<String>,
    /// Cost of a miss, with --recipe: of one tenant (web=2ms) or of all (0.5ms)
    #[arg(long, value_name = "[TENANT=]TIME", requires = "recipe")]
    pub(super) penalty: Vec<String>,
    /// Size of an object after a read that shows another size than the stored one
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", conflicts_with = "recipe")]
    pub(super) read_size: ReadSize,
    /// Count each tenant of the trace separately; they share the cache
    #[arg(long)]
    pub(super) tenant: bool,
    /// Seed that reproduces the run
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) seed: u64,
    /// Also print the miss ratio over time, one figure for every N requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) interval: Option<u64>,
    /// Number of cores to simulate on, instead of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,
    /// Print one JSON document: an array of results
    #[arg(long, conflicts_with = "csv")]
    pub(super) json: bool,
    /// Print comma-separated values
    #[arg(long)]
    pub(super) csv: bool,
    /// Write a page with charts and tables
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) compress: CompressArgs,
    #[command(flatten)]
    pub(super) read: Options,
}

/// Which size an object has after a read that shows another than is stored.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReadSize {
    /// The new size: the trace lacks the write between
    #[default]
    New,
    /// The size at its insertion, until it is written or evicted, as in libCacheSim
    First,
}
