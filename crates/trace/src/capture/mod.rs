//! Capture: the requests that a server reports while it serves, and the trace made from them.
//!
//! ```text
//!  bytes of MONITOR ──────▶ monitor ─┐
//!  bytes of watch ────────▶ watch  ──┼──▶ Event ──▶ Recorder ──▶ accesses with sizes, lives,
//!  bytes of MONITOR TRACE ▶ lines  ──┘                            tenants and penalties
//! ```
//!
//! The parsers take bytes as they arrive, in any pieces, and keep only the length of a value. No
//! bytes make them panic; a line that they cannot parse is counted and skipped.
//!
//! The recorder turns events into requests: a write that fills a miss is no request of its own,
//! because another cache might not have missed there.

mod asks;
mod event;
mod line;
mod lines;
mod monitor;
mod record;
mod recorded;
#[cfg(test)]
mod tests;
mod watch;

pub use event::{Deed, Event, Parser};
pub use lines::TraceLines;
pub use monitor::Monitor;
pub use record::{Fills, KeyNumber, Owner, Recorder};
pub use recorded::{Filled, Recorded, TenantSeen};
pub use watch::Watch;
