//! Compression by writes: the form in which a tenant's new values are stored at once.
//!
//! The compression thread decides it for each octave of lengths, by the price of a byte
//! ([`decision`](super::decision)): with an average item's reads, would it compress the new item
//! soon? Then the write compresses it, while the value is at hand, and evicts less. While memory
//! is not short, new values stay plain. The thread learns from the counts what writes see.

use crate::compression::codec::compress;
use crate::compression::dictionary::Dictionaries;
use crate::compression::octaves::{OCTAVES, Seen, octave};
use crate::compression::work::CodecWork;
use std::sync::atomic::Ordering::Relaxed;

/// The values that a shard's writes compress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnWrite {
    /// Nothing.
    #[default]
    Nothing,
    /// Values of some tenants, by [`NewValues`].
    ByOctave,
    /// All values, for tests.
    All,
}

/// The form of new values of each octave: compressed, with the dictionary of this number (0 for
/// none), or plain.
pub(crate) type Forms = [Option<u16>; OCTAVES];

/// The form of a tenant's new values in a shard.
#[derive(Debug, Default)]
pub(crate) struct NewValues {
    pub(crate) forms: Forms,
    /// Counts since the thread looked last.
    pub(crate) seen: [Seen; OCTAVES],
}

impl NewValues {
    /// The stored form of a value, if values of its octave are to be compressed.
    pub(crate) fn stored(
        &mut self,
        value: &[u8],
        known: &Dictionaries,
        work: &CodecWork,
    ) -> Option<Vec<u8>> {
        let at = octave(value.len())?;
        let number = self.forms[at]?;
        let dictionary = known.get(number).ok()?;
        let began = (work.nanos)();
        let stored = compress(value, dictionary.map(|known| (number, known)))?;
        let nanos = (work.nanos)().saturating_sub(began);
        work.writes.fetch_add(1, Relaxed);
        work.write_nanos.fetch_add(nanos, Relaxed);
        let seen = &mut self.seen[at];
        seen.count += 1;
        seen.plain += value.len() as u64;
        seen.stored += stored.len() as u64;
        seen.nanos += nanos;
        Some(stored)
    }
}
