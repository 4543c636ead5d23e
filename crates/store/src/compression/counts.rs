//! The compressed items of a tenant in one shard: their dictionaries, counts and bytes.
//!
//! Compression by writes: the form in which a tenant's new values are stored at once.
//!
//! The compression thread decides it for each octave of lengths, by the price of a byte
//! ([`decision`](super::decision)): with an average item's reads, would it compress the new item
//! soon? Then the write compresses it, while the value is at hand, and evicts less. While memory
//! is not short, new values stay plain. The thread learns from the counts what writes see.

use crate::compression::codec::{Plain, compress, decompress};
use crate::compression::dictionary::Dictionaries;
use crate::compression::form::{Corrupt, Form, dictionary_of, plain_len};
use crate::compression::octaves::{OCTAVES, Seen, octave};
use crate::compression::outside::{SharedDictionary, StoredForm};
use crate::compression::work::CodecWork;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The compressed items of a tenant in one shard.
#[derive(Debug)]
pub(crate) struct Compressed {
    pub(crate) known: Arc<Dictionaries>,
    pub(crate) work: Arc<CodecWork>,
    pub(crate) items: u64,
    /// Bytes of their values, plain and as they are stored.
    pub(crate) plain: u64,
    pub(crate) stored: u64,
    /// The form of new values, while writes compress any.
    pub(crate) new: Option<Box<NewValues>>,
    /// Items by the number of the dictionary; the first place counts those without one.
    uses: Vec<u64>,
}

impl Compressed {
    /// No items, with the work of the tenant in all shards.
    pub(crate) fn new(work: &Arc<CodecWork>) -> Self {
        let (known, work) = (Arc::default(), Arc::clone(work));
        Self { known, work, items: 0, plain: 0, stored: 0, new: None, uses: vec![] }
    }

    /// Counts a stored value that enters.
    pub(crate) fn enters(&mut self, stored: &[u8]) {
        let number = usize::from(dictionary_of(stored));
        self.uses.resize(self.uses.len().max(number + 1), 0);
        self.uses[number] += 1;
        self.items += 1;
        self.plain += plain_len(stored) as u64;
        self.stored += stored.len() as u64;
    }

    /// Counts a stored value that leaves.
    pub(crate) fn leaves(&mut self, stored: &[u8]) {
        if let Some(uses) = self.uses.get_mut(usize::from(dictionary_of(stored))) {
            *uses -= 1;
        }
        self.items -= 1;
        self.plain -= plain_len(stored) as u64;
        self.stored -= stored.len() as u64;
    }

    /// Counts the removal of all items.
    pub(crate) fn clear(&mut self) {
        (self.items, self.plain, self.stored) = (0, 0, 0);
        self.uses.clear();
    }

    /// The number of items with a dictionary.
    pub(crate) fn uses(&self, dictionary: u16) -> u64 {
        self.uses.get(usize::from(dictionary)).copied().unwrap_or_default()
    }

    /// The form of a stored value; `None` if it is corrupt, or its dictionary is unknown.
    pub(crate) fn form(&self, stored: &[u8]) -> Option<StoredForm> {
        let number = Form::of(stored).ok()?.dictionary;
        if number == 0 {
            return Some(StoredForm::Compressed(None));
        }
        let dictionary = SharedDictionary(self.known.shared(number)?);
        Some(StoredForm::Compressed(Some(dictionary)))
    }

    /// The plain value of a stored one.
    pub(crate) fn plain(&self, stored: &[u8]) -> Result<Plain, Corrupt> {
        let work = &self.work;
        let began = (work.nanos)();
        let plain = decompress(stored, &self.known);
        let counter = if plain.is_ok() { &work.reads } else { &work.corrupt };
        counter.fetch_add(1, Relaxed);
        work.read_nanos.fetch_add((work.nanos)().saturating_sub(began), Relaxed);
        plain
    }
}

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
