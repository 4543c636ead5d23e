//! The arguments of advice from requests.

use crate::capture_command::Watch;
use load::open::Options;
use std::path::PathBuf;

/// Examples of the command.
pub(crate) const EXAMPLES: &str = "\
Examples:
  larder advise redis://localhost
  larder advise --cluster redis://localhost
  larder advise --from redis://localhost --for 5m --tenant 'web match prefix web:' --html out.html
  larder advise --from memcached://localhost --for 60s --window all
  larder advise --from web.csv.zst --memory 512mb --penalty 2ms --json";

/// The source of the requests, and the advice to give on them.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(crate) struct Args {
    /// Source of the requests: a server to watch (redis://HOST, memcached://HOST), or a trace
    #[arg(long, value_name = "URL|FILE", default_value = "", hide_default_value = true)]
    pub(crate) from: String,
    /// Memory of the cache now; a server reports its own
    #[arg(long, value_name = "SIZE", value_parser = base::Bytes::parse)]
    pub(super) memory: Option<base::Bytes>,
    /// Cost of a miss, instead of what was measured: of one tenant (web=2ms) or of all (0.5ms)
    #[arg(long, value_name = "[TENANT=]TIME")]
    pub(super) penalty: Vec<String>,
    /// Write a page with charts and tables
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Seed that reproduces the run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) watch: Watch,
    #[command(flatten)]
    pub(super) read: Options,
}
