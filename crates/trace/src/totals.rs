//! Totals of a whole trace, for formats that state them at the beginning.

use base::{Micros, Op};

/// Counts over a whole trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of requests.
    pub requests: u64,
    /// Number of distinct objects.
    pub objects: u64,
    /// Bytes of the values, added up over requests.
    pub request_bytes: u64,
    /// Bytes of the objects, each at its largest size.
    pub object_bytes: u64,
    /// Time of the last request.
    pub end: Micros,
    /// Number of reads.
    pub gets: u64,
    /// Number of writes.
    pub sets: u64,
    /// Number of removals.
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
