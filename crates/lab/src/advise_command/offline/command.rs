//! Advice from requests, from the arguments to the sentences.

use super::args::Args;
use super::load::{self, Load};
use super::verdict::Advice;
use super::{division, page, play};
use crate::report::json;
use crate::whole_file;
use ::load::Place;

/// Runs the command.
///
/// # Errors
/// A sentence that names the failure and its fix.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
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
pub(super) fn advise(load: &Load, seed: u64) -> anyhow::Result<Advice> {
    let division = division::divide(load, load.memory, seed)?;
    let played = play::all(load, seed)?;
    Ok(Advice::of(load, &division, &played, seed))
}
