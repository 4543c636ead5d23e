//! `larder-lab`: the commands that need no server, as a program of its own.
#![forbid(unsafe_code)]

use clap::Parser;
use lab::cli::Lab;
use std::process::ExitCode;

/// The allocator of the server, so that the store of a simulation takes the same memory.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Err(why) = load::programs::check_caller(env!("CARGO_PKG_VERSION")) {
        eprintln!("larder: {why}");
        return ExitCode::FAILURE;
    }
    let command = Lab::parse().command;
    // A reader that closes the pipe early, such as `head`, ends a command that only prints.
    if !command.talks() {
        sigpipe::reset();
    }
    match command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            load::programs::complain(&error);
            ExitCode::FAILURE
        }
    }
}
