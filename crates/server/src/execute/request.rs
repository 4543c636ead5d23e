//! A request of either protocol, its origin, and what becomes of it.

use crate::call::Failure;
use std::cell::{Cell, RefCell};

/// The origin of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin<'a> {
    /// A client sent it.
    Client,
    /// EXEC runs it.
    Exec,
    /// A script runs it.
    Script(&'a Script),
    /// It is a blocked command, which is tried again.
    Retry,
}

/// The end of a request at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Outcome {
    /// The reply is written, or the client is blocked.
    Replied,
    /// The request has not run: CLIENT PAUSE holds it, or its script must end.
    Postponed,
}

/// A running script from the view of its commands: its permissions, and what the commands leave.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// The script may not write.
    pub(crate) is_readonly: bool,
    /// Memory was full when the script began. Until it has written, commands that may add to memory
    /// are refused.
    pub(crate) is_full: bool,
    /// The commands may use keys of several slots.
    pub(crate) crosses_slots: bool,
    /// The slot of the keys so far; `None` outside of a cluster.
    pub(crate) slot: Cell<Option<u16>>,
    /// The error of the last command.
    pub(crate) failure: RefCell<Option<Failure>>,
}

/// A request of either protocol: a `Call` of RESP, or an `Ask` of memcached's protocol.
///
/// `worker` is the number of the worker that runs the request, and has the counters. A method
/// with a body is an observer, and does nothing unless the protocol has that observer.
pub(crate) trait AnyRequest {
    /// The command that the request names.
    type Command: Copy;
    /// The reason why a request does not run.
    type Refused;

    /// Finds the command, and checks that the request may run.
    fn admit(&mut self, origin: Origin<'_>) -> Result<Self::Command, Self::Refused>;

    /// Lets the handler of the command reply.
    fn handle(&mut self, command: Self::Command, origin: Origin<'_>, worker: usize);

    /// Replies to a refused request. Returns its command, if there is one.
    fn refuse(
        &mut self,
        refused: Self::Refused,
        origin: Origin<'_>,
        worker: usize,
    ) -> Option<Self::Command>;

    /// The bytes of output so far.
    fn mark(&self) -> usize;

    /// Whether CLIENT PAUSE holds the request.
    fn is_paused(&self) -> bool;

    /// Refuses the request because a script holds the gate for too long. Returns false for a
    /// request that may run nevertheless, and for one that is refused anyway.
    fn refuse_busy(&mut self, worker: usize) -> bool;

    /// Shows the request to clients that run MONITOR.
    fn show(&self) {}

    /// Notes the keys that a client with a cache is about to read.
    fn remember_reads(&self) {}

    /// Sends invalidations for the keys that the request has changed. Its reply begins at `mark`.
    fn invalidate(&mut self, mark: usize);

    /// The positions of the keys that do not exist before the request runs.
    fn missing_keys(&self) -> Vec<usize> {
        vec![]
    }

    /// Sends events about keys, by their positions, that did not exist before the request ran.
    fn notify_missing(&self, _places: &[usize]) {}

    /// Counts the keys for HOTKEYS. The command took `nanos` nanoseconds, and its reply begins at
    /// `mark`.
    fn count_hot_keys(&self, _nanos: u64, _mark: usize) {}

    /// Counts the command's time in the histogram of latencies, for `weight` batches.
    fn count_time(&self, _command: Self::Command, _micros: u64, _weight: u64, _: usize) {}

    /// Counts the keys for the report's list of the most frequent ones.
    fn count_top_keys(&self, command: Option<Self::Command>, worker: usize);
}
