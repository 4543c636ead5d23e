//! What is served, and to whom.

use report::{History, Report};
use std::io;
use std::net::SocketAddr;

/// A cache that has a report.
pub trait Source: Send + Sync + 'static {
    /// The time, in seconds since 1970.
    fn now_unix_s(&self) -> u64;
    /// All that is known now, and what happened so far. It is asked for once a second at most,
    /// however many look.
    fn report(&self) -> (Report, History);
    /// All metrics, in the text format of Prometheus: see [`crate::metrics`].
    fn metrics(&self) -> String;
    /// Why nothing should be asked of the cache yet, in a word; nothing where it is ready.
    fn unready(&self) -> Option<&'static str> {
        None
    }
    /// Whether the cache is ending, and everything with it.
    fn is_ending(&self) -> bool;
    /// Connections at most.
    fn places(&self) -> usize;
    /// Whether somebody may see all this, by the header `Authorization` of a request.
    ///
    /// # Errors
    /// Why not.
    fn admit(
        &self,
        authorization: Option<&str>,
        peer: SocketAddr,
    ) -> impl Future<Output = Result<(), Refused>> + Send;
    /// Whether this is a name of the cache that `hosts.rs` does not know by itself.
    fn is_named(&self, host: &str) -> bool {
        let _ = host;
        false
    }
    /// A connection could not be accepted.
    fn note_unaccepted(&self, error: &io::Error);
}

/// Why somebody sees nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No name, or a wrong password.
    Unknown,
    /// This user has not the right.
    MayNot(String),
}
