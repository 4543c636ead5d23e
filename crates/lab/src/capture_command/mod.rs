//! `larder capture`: watches a live server for a while and writes its requests as a trace.
//!
//! ```text
//!   announce ─▶ measure ─▶ window ─▶ pause ─▶ window ─▶ … ─▶ ask sizes ─▶ write
//!               (cost without)  (cost with)                  (some, slowly)
//! ```
//!
//! Watching costs the server CPU time: Redis under MONITOR writes every command out once more. So
//! the capture watches in windows, and measures the cost by the server's own count of its CPU time.
//! The summary states both. Facts that a server does not report are filled in by rules, which the
//! summary names (`trace::capture`).

mod assumptions;
pub(crate) mod cost;
pub(crate) mod memcached;
pub(crate) mod redis;
mod sizes;
mod summary;
mod tenant_rules;
mod watching;
pub(crate) mod windows;
mod write;

pub(crate) use summary::Server;
pub(crate) use tenant_rules::TenantRules;
pub(crate) use watching::watch;

use crate::report::json;
use crate::whole_file;
use base::Micros;
use load::Place;
use std::path::Path;
use windows::time;

/// Write what is asked of a live Redis, Valkey, memcached or Larder as a trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder capture --from redis://localhost --for 5m -o web.csv.zst
  larder capture --from redis://user:secret@10.0.0.7:6379 --for 30s --window all -o x.csv.zst \\
      --tenant 'web match prefix web:' --tenant 'jobs match db 1'
  larder capture --from memcached://localhost:11211 --for 60s -o items.csv.zst --json

Watching a Redis costs it: MONITOR writes every command out once more. Without --window it is
watched for 10 s in every minute, and the cost is measured and told. A Larder is asked for its own
trace, which has tenants, lives and penalties in it; memcached leaves lines out where it cannot
keep up, and says how many.")]
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

/// How a server is watched.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Watch {
    /// How long in all, pauses included
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = time)]
    span: Micros,
    /// How long at a time, or `all` for no pause
    #[arg(long, value_name = "TIME", default_value = "10s")]
    window: String,
    /// From the start of one window to the start of the next
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    every: Micros,
    /// Tenant that owns a key, as in `larder serve`: 'web match prefix web:', 'jobs match db 1';
    /// without any each database is a tenant
    #[arg(long, value_name = "LINE")]
    pub(crate) tenant: Vec<String>,
    /// Record no more than this many requests
    #[arg(long, value_name = "N", default_value_t = 5_000_000,
        value_parser = clap::value_parser!(u32).range(1..))]
    requests: u32,
    /// Ask for the sizes of at most this many keys that are only read, a thousand a second
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    ask: usize,
}

/// Runs the command.
///
/// # Errors
/// A sentence that names the failure and its fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands are run alike")]
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
