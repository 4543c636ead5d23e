//! The demo: the same requests to a plain cache and to a tuned one, side by side.

/// Compare a plain cache with a tuned one on this machine, in under a minute.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs the demo.
///
/// # Errors
/// What went wrong, and what would mend it.
pub fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("not available in this build")
}
