//! Every policy at every size, over one reading of each trace, on all cores.
//!
//! Each trace is read once. That reading also finds the facts that need the whole trace: the
//! footprint (sizes in per cent refer to it), the next request of each key (the bounds need it),
//! and the answer of an unbounded cache (it tells the causes of misses apart). The trace is
//! spooled, in memory while it is short and in a file beyond. Each core takes one cache after the
//! other and plays the whole trace to it, so that the simulated cache stays in the processor's
//! cache. Where no fact about the whole trace is needed and each simulated cache has a core, the
//! caches play while the trace is read. So memory is bounded by the resident items, not by the
//! trace.

mod annotator;
mod args;
#[cfg(test)]
mod causes;
#[cfg(test)]
mod chains;
mod chunk;
mod command;
#[cfg(test)]
mod conformance;
mod feed;
mod outcome;
mod packed;
#[cfg(test)]
mod peers;
mod play;
mod player;
mod recipe;
mod show;
mod size;
mod spool;

pub use args::Args;
pub use command::run;
