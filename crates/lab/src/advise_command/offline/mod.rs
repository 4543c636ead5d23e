//! Advice from a capture or a trace.
//!
//! ```text
//!   server ─▶ capture ─┐            ┌ one shared cache ┐
//!                      ├▶ requests ─┼ fixed shares     ┼▶ waiting, with bands ─▶ sentences, page
//!   file ──────────────┘            └ Larder           ┘   at seven sizes
//! ```
//!
//! The first half of the requests warms the caches up, the second is counted. The advice promises
//! a difference between two caches that saw the same requests. The band of the difference comes
//! from its variation among eighths of the keys.

mod division;
mod load;
mod page;
mod play;
mod silent;
#[cfg(test)]
mod tests;
mod verdict;

use crate::capture_command::Watch;
use crate::report::json;
use crate::whole_file;
use ::load::Place;
use ::load::open::Options;
use load::Load;
use std::path::PathBuf;
use verdict::Advice;

pub(super) const EXAMPLES: &str = "\
Examples:
  larder advise redis://localhost
  larder advise --cluster redis://localhost
  larder advise --from redis://localhost --for 5m --tenant 'web match prefix web:' --html out.html
  larder advise --from memcached://localhost --for 60s --window all
  larder advise --from web.csv.zst --memory 512mb --penalty 2ms --json";

/// The source of the requests, and the advice to give on them.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(super) struct Args {
    /// Source of the requests: a server to watch (redis://HOST, memcached://HOST), or a trace
    #[arg(long, value_name = "URL|FILE", default_value = "", hide_default_value = true)]
    pub(super) from: String,
    /// The memory there is now; a server says it itself
    #[arg(long, value_name = "SIZE", value_parser = base::Bytes::parse)]
    memory: Option<base::Bytes>,
    /// Cost of a miss, instead of what was measured: of one tenant (web=2ms) or of all (0.5ms)
    #[arg(long, value_name = "[TENANT=]TIME")]
    penalty: Vec<String>,
    /// Write a page with charts and tables
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
    /// Reproduces the run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    read: Options,
}

/// Runs the command.
///
/// # Errors
/// A sentence that names the failure and its fix.
pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let inputs = [args.from.clone()];
    if let Some(path) = &args.html {
        whole_file::check(path, &inputs)?;
    }
    let load = if Place::is_url(&args.from) { load::watched(args)? } else { load::read(args)? };
    let advice = advise(&load, args.seed)?;
    if let Some(path) = &args.html {
        whole_file::write(path, &inputs, &page::page(&advice).to_string())?;
        eprintln!("wrote {}", path.display());
    }
    if args.json {
        return json::print(&advice);
    }
    print!("{advice}");
    Ok(())
}

/// Plays the load and draws the conclusions.
fn advise(load: &Load, seed: u64) -> anyhow::Result<Advice> {
    let division = division::divide(load, load.memory, seed)?;
    let played = play::all(load, seed)?;
    Ok(Advice::of(load, &division, &played, seed))
}
