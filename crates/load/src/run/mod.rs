//! A run: the same requests to one server, in the order and at the pace of its options.

mod options;
mod replay;

pub use options::{Options, Progress, Recent, ReplayTenant};
pub use replay::run_replay;

#[cfg(test)]
mod tests;
