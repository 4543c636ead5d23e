//! One binary, a subcommand for each thing an operator or a researcher does.
#![forbid(unsafe_code)]

mod demo;
#[cfg(test)]
mod reference;
mod tenants;

/// Values of mixed sizes that come and go leave other allocators with half-used pages: measured
/// under such writes, resident memory was 1.1 times what was asked for, and 1.2 to 1.9 times with
/// the C library's. `.cargo/config.toml` has its settings.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A key-value cache that measures its own workload and spends every byte of memory where it
/// saves the most waiting.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(server::Args),
    Ping(server::PingArgs),
    Demo(demo::Args),
    Replay(lab::replay::Args),
    Simulate(lab::simulate::Args),
    Curve(lab::curve_command::Args),
    Plan(lab::plan_command::Args),
    Experiment(lab::experiment::Args),
    Top(lab::top_command::Args),
    Trace(lab::trace_command::Args),
    Capture(lab::capture_command::Args),
    Advise(lab::advise_command::Args),
    Attach(lab::attach_command::Args),
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    // A reader that has seen enough, as `head` does, ends a command that only prints; a server and
    // what speaks to one outlive theirs.
    let speaks = matches!(
        command,
        Command::Serve(_)
            | Command::Demo(_)
            | Command::Replay(_)
            | Command::Capture(_)
            | Command::Advise(_)
            | Command::Attach(_)
    );
    if !speaks {
        sigpipe::reset();
    }
    let result = match command {
        Command::Serve(args) => server::run(args).map_err(Into::into),
        Command::Ping(args) => server::ping(&args).map_err(Into::into),
        Command::Demo(args) => demo::run(args),
        Command::Replay(args) => lab::replay::run(args),
        Command::Simulate(args) => lab::simulate::run(args),
        Command::Curve(args) => lab::curve_command::run(args),
        Command::Plan(args) => lab::plan_command::run(args),
        Command::Experiment(args) => lab::experiment::run(args),
        Command::Top(args) => lab::top_command::run(&args),
        Command::Trace(args) => lab::trace_command::run(args),
        Command::Capture(args) => lab::capture_command::run(args, tenants::rules),
        Command::Advise(args) => lab::advise_command::run(args, tenants::rules),
        Command::Attach(args) => lab::attach_command::run(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("larder: {error:#}");
            ExitCode::FAILURE
        }
    }
}
