//! The data behind the dashboard, and the decision which clients may see it.

use report::{History, Report};
use std::io;
use std::net::SocketAddr;

/// A cache that has a report.
pub trait Source: Send + Sync + 'static {
    /// The time, in seconds since 1970.
    fn now_unix_s(&self) -> u64;
    /// The current report and the history so far. Called at most once a second, for all readers
    /// together.
    fn report(&self) -> (Report, History);
    /// All metrics in the text format of Prometheus: see [`crate::metrics`].
    fn metrics(&self) -> String;
    /// The reason, in a word, why the cache is not ready; `None` when it is ready.
    fn unready(&self) -> Option<&'static str> {
        None
    }
    /// Whether the cache is ending, and the dashboard with it.
    fn is_ending(&self) -> bool;
    /// The largest number of connections.
    fn places(&self) -> usize;
    /// Checks the header `Authorization` of a request, for the right to see everything.
    ///
    /// # Errors
    /// The reason for the refusal.
    fn admit(
        &self,
        authorization: Option<&str>,
        peer: SocketAddr,
    ) -> impl Future<Output = Result<(), Refused>> + Send;
    /// Whether the cache has this host name, beside the names that `hosts.rs` accepts by itself.
    fn is_named(&self, host: &str) -> bool {
        let _ = host;
        false
    }
    /// Notes a connection that could not be accepted.
    fn note_unaccepted(&self, error: &io::Error);
}

/// The reason why a client may see nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The request has no user name, or a wrong password.
    Unknown,
    /// This user lacks the permission.
    MayNot(String),
}
