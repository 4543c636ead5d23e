//! The miss ratio at every size, from one pass over a trace.
//!
//! The trace is read once. It is read twice where the number of its keys or bytes must be known
//! first: for `--rate auto`, for simulated caches and for intervals. The trace is never kept in
//! memory, so it may be larger than memory.

mod answer;
mod args;
mod command;
mod feed;
mod parts;
mod plan;
mod questions;
mod run;
mod show;
mod survey;
#[cfg(test)]
mod tests;

pub use args::Args;
pub use command::run;
