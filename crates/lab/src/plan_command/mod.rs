//! Divide a memory among the tenants of a trace, or among classes of penalties or of sizes, as a
//! recipe does.
//!
//! The traces are read three times. The first reading finds the tenants and the bytes that they
//! touch. The second gives the curves of each pool, from which the recipe's planner makes its
//! division. The third simulates the requests, with evictions: in a shared cache without a
//! division, with equal shares, and with the planned division. So a forecast stands beside a
//! simulated result.

mod answer;
mod args;
mod command;
mod learned;
mod partition;
mod replayed;
mod show;
mod wishes;

pub use args::Args;
pub use command::run;

#[cfg(test)]
mod tests;
