//! The types that all other crates share, and small tools for them.
//!
//! No I/O, no dependencies, no clock. Everything here is a value or a pure function, so that a run
//! of any crate above depends only on trace, configuration and seed.
#![forbid(unsafe_code)]

pub mod access;
pub mod cause;
pub mod clock;
pub mod hash;
pub mod histogram;
pub mod list;
pub mod penalty;
pub mod printable;
pub mod prng;
pub mod sample;
pub mod size;
pub mod units;

pub use access::{Access, Op, TenantId};
pub use cause::{Cause, Causes};
pub use clock::{Clock, VirtualClock};
pub use printable::printable;
pub use prng::Prng;
pub use sample::{Filter, Sample, Sighting};
pub use size::Size;
pub use units::{Bytes, Micros, MissRatio, Tick};
