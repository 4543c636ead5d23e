//! `larder trace`: look into, convert and generate traces.

mod convert;
mod copy;
mod generate;
mod head;
mod progress;
mod sample;
mod sensitivity;
mod stat;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

/// Look into, convert and generate traces.
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

/// Writes a sample of a trace, for tests of commands that read samples.
#[cfg(test)]
pub(crate) fn sample_for_tests(trace: &str, output: &str, rate: f64) {
    sample::take(trace, &load::open::Options::default(), output, trace::Sample { rate, seed: 1 })
        .unwrap();
}

/// Whether the reader of our output closed it, as `| head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        let json = cause.downcast_ref::<serde_json::Error>();
        io.map(io::Error::kind).or(json.and_then(serde_json::Error::io_error_kind))
            == Some(io::ErrorKind::BrokenPipe)
    })
}

/// Prints a line to standard output.
fn print_line(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
