//! A watched key, and the events that change it.

use super::class::Past;

/// An event of a watched key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEvent {
    /// It was read, found or not.
    Read,
    /// A read did not find it, and the client will write the value: that write belongs to the same
    /// access.
    Missed,
    /// It was written: the value before the write ends unread.
    Write,
    /// It was deleted or expired.
    Gone,
}

/// The state of a watched key: twelve bytes with the padding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    /// Request count at its last use, wrapping.
    pub(super) last: u32,
    pub(super) past: Past,
    pub(super) app: u8,
    /// Its size class at its first use, relative to the mean size.
    pub(super) size_class: u8,
    /// The penalty class of its last fetch; 0 without a timed fetch.
    pub(super) penalty: u8,
    /// Whether the client is about to write it after a miss.
    pub(super) missed: bool,
}

impl Watched {
    pub(super) const fn age(self, now: u64) -> u32 {
        (now as u32).wrapping_sub(self.last)
    }

    /// Its age at the last look; 0 if it was used since.
    pub(super) const fn seen(self, looked: u64) -> u32 {
        let age = (looked as u32).wrapping_sub(self.last);
        if age < u32::MAX / 2 { age } else { 0 }
    }
}
