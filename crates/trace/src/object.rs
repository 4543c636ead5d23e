//! Objects that are numbers, in formats that know nothing else.

use crate::{Access, Tick};

/// The decimal text of an object's number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Number {
    digits: [u8; 20],
    len: usize,
}

impl Number {
    /// Writes `object` and hands out its text.
    #[inline]
    pub(crate) fn write(&mut self, object: u64) -> &[u8] {
        let mut buffer = itoa::Buffer::new();
        let text = buffer.format(object).as_bytes();
        self.digits[..text.len()].copy_from_slice(text);
        self.len = text.len();
        self.text()
    }

    /// The text last written, empty before the first.
    #[inline]
    pub(crate) fn text(&self) -> &[u8] {
        &self.digits[..self.len]
    }
}

/// The number of an object for a format that knows only numbers: its key where that is a number in
/// decimal, so that it can be read back, else the hash of the key.
pub(crate) fn number_of(access: &Access, key: &[u8]) -> u64 {
    let reads_back = key.len() == 1 || key.first() != Some(&b'0');
    crate::lines::whole_number(key).filter(|_| reads_back).unwrap_or(access.key)
}

/// When an object is asked for again, as libCacheSim's formats say it: -1, or in some traces the
/// largest number, if it is not.
pub(crate) const fn next_request(next: i64) -> Tick {
    if next < 0 || next == i64::MAX { Tick::NEVER } else { Tick(next as u64) }
}

/// The same, to be written.
pub(crate) fn next_field(next: Tick) -> i64 {
    if next == Tick::NEVER { -1 } else { i64::try_from(next.0).unwrap_or(-1) }
}
