//! What a server tells of its requests while it serves, and the trace that comes of it.
//!
//! ```text
//!  bytes of MONITOR ──────▶ monitor ─┐
//!  bytes of watch ────────▶ watch  ──┼──▶ Event ──▶ Recorder ──▶ accesses with sizes, lives,
//!  bytes of MONITOR TRACE ▶ lines  ──┘                            tenants and penalties
//! ```
//!
//! The parsers take bytes as they arrive, in whatever pieces, and keep nothing of a value but its
//! length. No bytes make them panic; a line that cannot be understood is counted and passed over.
//!
//! The recorder turns what happened into what was asked for: a write that fills a miss is no
//! request of its own, for another cache would not have missed there.

mod asks;
mod line;
mod lines;
mod monitor;
mod record;
mod recorded;
#[cfg(test)]
mod tests;
mod watch;

pub use lines::TraceLines;
pub use monitor::Monitor;
pub use record::{Fills, KeyNumber, Owner, Recorder};
pub use recorded::{Filled, Recorded, TenantSeen};
pub use watch::Watch;

use crate::Micros;

/// Takes bytes off a connection as they arrive.
pub trait Parser: Send {
    /// Reads the next bytes, and shows the requests that end in them.
    fn feed(&mut self, bytes: &[u8], see: &mut dyn FnMut(&Event<'_>));

    /// The connection has ended: shows what was held back.
    fn end(&mut self, _see: &mut dyn FnMut(&Event<'_>)) {}

    /// Lines that could not be understood.
    fn malformed(&self) -> u64;

    /// Requests that the server did not tell of, because it could not keep up.
    fn lost(&self) -> u64 {
        0
    }
}

/// What a request does to the item of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Reads it.
    Read,
    /// Writes the whole value.
    Write,
    /// Changes a part of the value.
    Change,
    /// Removes it.
    Delete,
    /// Sets how long it lives, and nothing else.
    Expire,
}

/// A request for one key, as a server tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event<'a> {
    /// On the server's clock, in microseconds.
    pub time_us: u64,
    /// The connection it came by.
    pub connection: u64,
    /// The host it came from.
    pub host: u64,
    /// The database.
    pub db: u32,
    /// The key; of a very long one the beginning, and a hash.
    pub key: &'a [u8],
    /// What was asked for.
    pub deed: Deed,
    /// Bytes of the value, of a change those that it brings; `None` where the server does not say.
    pub size: Option<u64>,
    /// Whether a read found the item, where the server says so.
    pub found: Option<bool>,
    /// How long the item lives from now on, zero for no limit; `None` where that is not said.
    pub ttl: Option<Micros>,
    /// The class of sizes of the item, where the server says so.
    pub class: Option<u8>,
    /// Whose the key is, where the server says so.
    pub tenant: Option<&'a str>,
    /// What a miss of the key costs, where the server says so.
    pub penalty: Micros,
}

impl<'a> Event<'a> {
    /// A request of which nothing else is known.
    pub const fn new(time_us: u64, key: &'a [u8], deed: Deed) -> Self {
        Self {
            time_us,
            connection: 0,
            host: 0,
            db: 0,
            key,
            deed,
            size: None,
            found: None,
            ttl: None,
            class: None,
            tenant: None,
            penalty: Micros(0),
        }
    }
}
