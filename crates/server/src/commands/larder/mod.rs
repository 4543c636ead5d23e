//! LARDER: the server's knowledge of its own workload, and its decisions.
//!
//! Replies are lines for people; with JSON as the last argument they are one document for programs.

mod answers;
mod curve;
mod output;
mod plan;
mod subcommands;
mod tenants;
mod tides;

pub(crate) use subcommands::COMMANDS;
