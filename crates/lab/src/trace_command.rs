//! Look into, convert and generate traces.

/// Look into, convert and generate traces.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what would mend it.
pub fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("not available in this build")
}
