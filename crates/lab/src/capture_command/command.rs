//! The command: watches, writes, and prints a summary.

use super::watch_args::Watch;
use super::{watching, write};
use crate::report::json;
use crate::whole_file;
use load::Place;
use std::path::Path;

/// Record the requests to a live Redis, Valkey, memcached or Larder as a trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder capture --from redis://localhost --for 5m -o web.csv.zst
  larder capture --from redis://user:secret@10.0.0.7:6379 --for 30s --window all -o x.csv.zst \\
      --tenant 'web match prefix web:' --tenant 'jobs match db 1'
  larder capture --from memcached://localhost:11211 --for 60s -o items.csv.zst --json

Watching costs a Redis CPU time: MONITOR writes every command once more. Without --window the
capture watches for 10 s of every minute, and it measures and prints the cost. A Larder sends its
own trace, with tenants, times to live and penalties. memcached drops lines when it cannot keep
up, and reports how many.")]
pub struct Args {
    /// The server: redis://[user:password@]host[:port], or memcached://host[:port]
    #[arg(long, value_name = "URL")]
    from: String,
    /// The trace to write: with all columns as text, unless the name ends with .compact; packed
    /// where it ends with .zst
    #[arg(short, long, value_name = "FILE")]
    output: String,
    /// Format to write instead: columns, compact, csv, lcs or oracleGeneral
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    watch: Watch,
}

/// Runs the command.
///
/// # Errors
/// A sentence that names the failure and its fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands have the same signature")]
pub fn run(args: Args) -> anyhow::Result<()> {
    let place = Place::parse(&args.from)?;
    let spec = write::chosen(&args.output, args.to.as_deref())?;
    if args.output != "-" {
        whole_file::check(Path::new(&args.output), &[])?;
    }
    let captured = watching::watch(&place, &args.watch)?;
    let (mut summary, recorded) = (captured.summary, captured.recorded);
    let written = write::write(&args.output, spec, &recorded)?;
    summary.wrote(&args.output, spec.name, written);
    if args.json && args.output != "-" {
        return json::print(&summary);
    }
    let text = summary.to_string();
    if args.output == "-" {
        eprint!("{text}");
    } else {
        print!("{text}");
    }
    Ok(())
}
