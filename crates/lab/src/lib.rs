//! Everything offline: simulation, curves, plans, experiments and traces; also the commands that
//! watch other cache servers. The program `larder-lab` is its command line.
#![forbid(unsafe_code)]

pub mod advise_command;
pub mod attach_command;
pub mod capture_command;
pub mod cli;
mod compressed;
pub mod curve_command;
#[cfg(feature = "databases")]
pub mod databases;
pub mod experiment;
mod interrupt;
mod nodes;
mod output;
pub mod plan_command;
pub mod plant;
mod progress;
pub mod report;
mod requests;
pub mod simulate;
mod survey;
pub mod top_command;
pub mod trace_command;
mod whole_file;
mod wrapped;
