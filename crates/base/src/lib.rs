//! The words all other crates share, and the small tools they lean on.
//!
//! No I/O, no dependencies, no clock: whatever is here is a value or a pure function, so that a
//! run of anything above is a function of trace, configuration and seed.
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
