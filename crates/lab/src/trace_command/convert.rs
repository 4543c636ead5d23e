//! `larder trace convert`.

use super::copy::{Target, copy};
use load::open::Options;

/// Write a trace in another format
///
/// The names tell the formats, and compression where they end with .zst. To write lcs and
/// oracleGeneral the trace is read twice, for each request says when its object is asked for next.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  larder trace convert cluster52.csv.zst web.compact --format twitter
  larder trace convert web.csv.zst web.lcs
  redis-cli monitor | larder trace convert - web.csv.zst --format monitor")]
pub(super) struct Args {
    /// Trace to read: a file, - for standard input, or synth:NAME:…
    trace: String,
    /// File to write, - for standard output
    output: String,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    reading: Options,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    copy(&args.trace, &args.reading, &args.output, &args.target)
}
