//! Sources of accesses: trace formats and generators.
//!
//! Everything is a [`Source`]: a stream that returns one [`Access`] at a time and keeps none, so a
//! trace may be larger than memory. A format reads from any [`BufRead`]; the caller opens the file
//! and decompresses it.
//!
//! No byte sequence makes a reader panic. A malformed record is an [`Error`] that names it, and a
//! reader goes on after it with the next call: [`SkipBad`] does so and counts.
//!
//! [`BufRead`]: std::io::BufRead
#![forbid(unsafe_code)]

pub mod capture;
mod charge;
pub mod column;
mod command;
mod error;
pub mod file;
pub mod format;
pub mod join;
mod lines;
mod object;
mod ops;
mod options;
mod ranges;
mod records;
mod sink;
mod skip_bad;
mod source;
pub mod synth;
mod tenants;
mod text;
mod timeline;
mod totals;

pub use base::{Access, Micros, Op, TenantId, Tick};
pub use charge::Charge;
pub use error::{Error, Unit};
pub use options::ReadOptions;
pub use sink::Sink;
pub use skip_bad::SkipBad;
pub use source::{Passed, Sample, Sought, Source};
pub use totals::Totals;
