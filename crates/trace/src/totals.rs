//! What a whole trace holds, for formats that say it at their beginning.

use crate::{Micros, Op};

/// Counts over a whole trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests.
    pub requests: u64,
    /// Objects asked for.
    pub objects: u64,
    /// Bytes of the values, by each request.
    pub request_bytes: u64,
    /// Bytes of the objects, each of the largest size it had.
    pub object_bytes: u64,
    /// Time of the last request.
    pub end: Micros,
    /// Reads.
    pub gets: u64,
    /// Writes.
    pub sets: u64,
    /// Removals.
    pub deletes: u64,
}

impl Totals {
    /// Counts one request.
    pub fn count(&mut self, time: Micros, op: Op, value_size: u64) {
        self.requests += 1;
        self.request_bytes += value_size;
        self.end = self.end.max(time);
        *match op {
            Op::Get => &mut self.gets,
            Op::Set => &mut self.sets,
            Op::Delete => &mut self.deletes,
        } += 1;
    }
}
