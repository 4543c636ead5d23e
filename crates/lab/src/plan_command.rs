//! Divide a memory among the tenants of a trace.

/// Divide a memory among the tenants of a trace.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what would mend it.
pub fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("not available in this build")
}
