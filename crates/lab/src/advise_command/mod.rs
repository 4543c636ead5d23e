//! `larder advise`: what would make clients wait less, in sentences.
//!
//! For those who do not run Larder yet ([`offline`]): another server is watched for a while, or a
//! trace is read, and what was asked for is played through caches that do not exist.

mod offline;

use crate::capture_command::ReadRules;

/// Say what would make the clients of a cache wait less: another size, a division, or Larder.
#[derive(clap::Args, Debug)]
#[command(after_help = offline::EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    offline: offline::Args,
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what would mend it.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands are run alike")]
pub fn run(args: Args, rules: ReadRules) -> anyhow::Result<()> {
    offline::run(&args.offline, rules)
}
