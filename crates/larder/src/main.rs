//! One command, with a subcommand for each task of an operator or a researcher.
//!
//! This program has the subcommands that serve and that load a server. The others are in
//! `larder-lab`, which this program becomes when one of them is asked for (`elsewhere.rs`).
#![forbid(unsafe_code)]

mod demo;
mod elsewhere;
#[cfg(test)]
mod reference;

/// The allocator. Values of mixed sizes that are written and deleted leave other allocators with
/// half-used pages. Measured under such writes, resident memory was 1.1 times the bytes allocated,
/// and 1.2 to 1.9 times with the C library's allocator. `.cargo/config.toml` has the settings.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use load::programs;
use std::ffi::OsString;
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
    Config(server::ConfigArgs),
    Demo(demo::Args),
    Replay(Box<load::Args>),
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if elsewhere::is_asked(&words) {
        return ended(Err(programs::become_lab(words, env!("CARGO_PKG_VERSION"))));
    }
    let command = elsewhere::listed(Cli::command()).get_matches();
    let command = match Cli::from_arg_matches(&command) {
        Ok(cli) => cli.command,
        Err(error) => error.exit(),
    };
    ended(match command {
        Command::Serve(args) => server::run(args).map_err(Into::into),
        Command::Ping(args) => server::ping(&args).map_err(Into::into),
        Command::Config(args) => server::check_config(args).map_err(Into::into),
        Command::Demo(args) => demo::run(args),
        Command::Replay(args) if args.asks_elsewhere() => {
            Err(programs::become_lab(words, env!("CARGO_PKG_VERSION")))
        }
        Command::Replay(args) => load::run(*args, &[]),
    })
}

fn ended(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            programs::complain(&error);
            ExitCode::FAILURE
        }
    }
}
