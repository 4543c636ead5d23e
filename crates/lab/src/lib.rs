//! Everything offline, and the load client: what reads files and clocks, and is not the server.
#![forbid(unsafe_code)]

pub mod advise_command;
pub mod attach_command;
pub mod capture_command;
pub mod curve_command;
pub mod experiment;
mod interrupt;
pub mod open;
mod output;
pub mod plan_command;
pub mod plant;
mod product;
pub mod replay;
pub mod report;
mod requests;
pub mod simulate;
pub mod simulation;
pub mod slab_plant;
mod survey;
pub mod top_command;
pub mod trace_command;
mod whole_file;
mod wrapped;
