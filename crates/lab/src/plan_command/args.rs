//! The arguments of `larder plan`.

use load::open::Options;
use std::path::PathBuf;
use tune::Objective;

/// Divide memory among the tenants of a trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder plan web.csv.zst cart.csv.zst --memory 512mb --penalty web=0.2ms --penalty cart=2ms
  larder plan mixed.csv.zst --memory 10% --objective hits --json
  larder plan web.csv.zst cart.csv.zst --memory 512mb --recipe predis
  larder plan 'synth:mix:zipf:keys=100k+loop:keys=20k' --memory 16mb")]
pub struct Args {
    /// Traces: each is a tenant, named after its file; a single one is divided by its clients
    #[arg(required = true, value_name = "TRACE")]
    pub(super) traces: Vec<String>,
    /// Memory to divide: a size, or a share of all bytes that the traces touch, such as 10%
    #[arg(long, value_name = "SIZE|%")]
    pub(super) memory: String,
    /// Recipe that divides it, as `recipe` in the configuration
    #[arg(long, default_value = "kredis")]
    pub(super) recipe: String,
    /// Cost of a miss: of one tenant (web=2ms) or of all (0.5ms); us, ms and s are known
    #[arg(long, value_name = "[TENANT=]TIME")]
    pub(super) penalty: Vec<String>,
    /// Weight of a tenant's misses, instead of 1
    #[arg(long, value_name = "TENANT=WEIGHT")]
    pub(super) weight: Vec<String>,
    /// Least memory of a tenant
    #[arg(long, value_name = "TENANT=SIZE")]
    pub(super) min: Vec<String>,
    /// Most memory of a tenant
    #[arg(long, value_name = "TENANT=SIZE")]
    pub(super) max: Vec<String>,
    /// Figure to minimise: latency (time waited for misses) or hits (hits lost)
    #[arg(long, value_parser = Objective::parse)]
    pub(super) objective: Option<Objective>,
    /// Seed that reproduces the run
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
    /// Write a page with charts and tables
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) read: Options,
}
