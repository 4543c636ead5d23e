//! The command: one of its subcommands.

use super::output::is_closed_pipe;
use super::{convert, generate, head, sample, stat};

/// Inspect, convert and generate traces.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: larder trace stat web.csv.zst", after_long_help = long_help())]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Stat(stat::Args),
    Convert(convert::Args),
    Generate(generate::Args),
    Head(head::Args),
    Sample(sample::Args),
}

fn long_help() -> String {
    format!("{}\n\nExample: larder trace stat web.csv.zst", load::open::formats_help())
}

/// Runs the command.
///
/// # Errors
/// A message that states the cause and the fix.
pub fn run(args: Args) -> anyhow::Result<()> {
    let done = match args.command {
        Command::Stat(args) => stat::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Head(args) => head::run(&args),
        Command::Sample(args) => sample::run(&args),
    };
    match done {
        Err(error) if is_closed_pipe(&error) => Ok(()),
        done => done,
    }
}
