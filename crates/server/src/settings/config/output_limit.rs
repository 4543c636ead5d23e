//! The limits of `client-output-buffer-limit`.

use base::Bytes;
use std::fmt;

/// The limits at which a slow reader is disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimit {
    /// Bytes that disconnect it at once; 0 for no limit.
    pub hard: Bytes,
    /// Bytes that disconnect it after `seconds`; 0 for no limit.
    pub soft: Bytes,
    /// The time above the soft limit, in seconds.
    pub seconds: u64,
}

impl fmt::Display for OutputLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.hard.0, self.soft.0, self.seconds)
    }
}

impl OutputLimit {
    /// The limits in the form of a file.
    pub(super) fn written(self) -> String {
        format!("{} {} {}", self.hard.written(), self.soft.written(), self.seconds)
    }
}
