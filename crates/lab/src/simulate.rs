//! Every policy at every size, in one pass over a trace.

/// Every policy at every size, in one pass over a trace.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what would mend it.
pub fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("not available in this build")
}
