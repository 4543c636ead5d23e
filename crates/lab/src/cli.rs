//! Commands of `larder-lab`. Users type them as commands of `larder`, which starts this program.

use clap::{Parser, Subcommand};

/// Everything of Larder that is no server: simulation, curves, plans, experiments, traces.
#[derive(Debug, Parser)]
#[command(name = "larder-lab", bin_name = "larder", version, about)]
pub struct Lab {
    /// Command to run.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// A command with its arguments.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "each is described where its arguments are")]
pub enum LabCommand {
    Replay(load::Args),
    Simulate(crate::simulate::Args),
    Curve(crate::curve_command::Args),
    Plan(crate::plan_command::Args),
    Experiment(crate::experiment::Args),
    Top(crate::top_command::Args),
    Trace(crate::trace_command::Args),
    Capture(crate::capture_command::Args),
    Advise(crate::advise_command::Args),
    Attach(crate::attach_command::Args),
}

/// Kinds of databases that a replay may ask beside files.
#[cfg(feature = "databases")]
const DATABASES: &[load::Kind] = crate::databases::KINDS;
#[cfg(not(feature = "databases"))]
const DATABASES: &[load::Kind] = &[];

impl LabCommand {
    /// Whether the command talks to servers. Such a command continues when the reader of its output
    /// closes the pipe.
    pub const fn talks(&self) -> bool {
        matches!(self, Self::Replay(_) | Self::Capture(_) | Self::Advise(_) | Self::Attach(_))
    }

    /// Runs the command.
    ///
    /// # Errors
    /// A message that states the cause and the fix.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Replay(args) => load::run(args, DATABASES),
            Self::Simulate(args) => crate::simulate::run(args),
            Self::Curve(args) => crate::curve_command::run(args),
            Self::Plan(args) => crate::plan_command::run(args),
            Self::Experiment(args) => crate::experiment::run(args),
            Self::Top(args) => crate::top_command::run(&args),
            Self::Trace(args) => crate::trace_command::run(args),
            Self::Capture(args) => crate::capture_command::run(args),
            Self::Advise(args) => crate::advise_command::run(args),
            Self::Attach(args) => crate::attach_command::run(args),
        }
    }
}
