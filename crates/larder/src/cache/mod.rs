//! The cache itself: a handle to a store, a clock that is read only where a call needs the time,
//! and the loop that tunes.
//!
//! An entry's time to live and the samples of the loop need the time of each call. A cache that has
//! neither does not read the clock, which saves a tenth of a read. `is_timed` is raised before the
//! first such entry is written and is never lowered. A read that does not see the flag yet runs
//! beside that write, and an entry that it meets has only just begun to live.
//!
//! A call may remove entries, its own or others. The listener hears of them at the end of the call,
//! when the call holds no lock (`removal.rs`).

mod clock;
mod error;
mod fetch;
mod flight;
mod handle;
mod iter;
mod removal;
mod report;
mod shared;

pub(crate) use clock::Clock;
pub use error::Error;
pub use handle::{Cache, Entry};
pub use iter::Iter;
pub use removal::Removal;
pub(crate) use removal::{Callback, Removals};
pub(crate) use shared::{Cost, Shared};

#[cfg(test)]
mod tests;
