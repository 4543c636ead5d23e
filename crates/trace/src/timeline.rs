//! Converts times of a trace into times of accesses: microseconds since the first request, never
//! decreasing.

use base::Micros;

/// The clock of a trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeline {
    first: Option<u64>,
    last: u64,
}

impl Timeline {
    /// The time of a request whose own clock says `micros`. If that clock goes back, as it may
    /// where several threads wrote the trace, the time stands still.
    #[inline]
    pub(crate) fn at(&mut self, micros: u64) -> Micros {
        let first = *self.first.get_or_insert(micros);
        self.last = self.last.max(micros.saturating_sub(first));
        Micros(self.last)
    }
}
