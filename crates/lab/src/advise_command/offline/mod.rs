//! Advice from a capture or a trace.
//!
//! ```text
//!   server ─▶ capture ─┐            ┌ one shared cache ┐
//!                      ├▶ requests ─┼ fixed shares     ┼▶ waiting, with bands ─▶ sentences, page
//!   file ──────────────┘            └ Larder           ┘   at seven sizes
//! ```
//!
//! The first half of the requests warms the caches up, the second is counted. The advice promises
//! a difference between two caches that saw the same requests. The band of the difference comes
//! from its variation among eighths of the keys.

mod args;
mod command;
mod division;
mod load;
mod page;
mod play;
mod silent;
#[cfg(test)]
mod tests;
mod verdict;

pub(super) use args::{Args, EXAMPLES};
pub(super) use command::run;
