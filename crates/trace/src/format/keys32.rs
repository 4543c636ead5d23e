//! Lists of keys with 32 bits each, little endian, and nothing else.
//!
//! There is no clock (requests are a millisecond apart) and no size: `--value-size` gives the bytes
//! of a value, or else it is one. The text of a key is its number in decimal. The bytes of such a
//! list do not identify the format, so the user must name it.

use super::FormatSpec;
use crate::object::Number;
use crate::records::Records;
use crate::text::MADE_GAP_US;
use crate::{Charge, Error, ReadOptions, Source};
use base::{Access, Micros};
use std::io::BufRead;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "keys32",
    about: "binary: a key of 32 bits per request, little endian",
    units: "no times: requests are a millisecond apart",
    extensions: &["keys32", "u32"],
    recognises: |_| false,
    open: |reader, options| Ok(Box::new(KeyList::<4>::new(reader, options))),
    create: None,
    looks_ahead: false,
    loses: &[],
};

/// A list of keys of `N` bytes each.
pub(super) struct KeyList<const N: usize> {
    records: Records,
    size: u64,
    charge: Charge,
    key: Number,
}

impl<const N: usize> KeyList<N> {
    pub(super) fn new(reader: Box<dyn BufRead + Send>, options: &ReadOptions) -> Self {
        let (records, key) = (Records::new(reader), Number::default());
        Self { records, size: options.unknown_size(), charge: options.charge, key }
    }
}

impl<const N: usize> Source for KeyList<N> {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        let record = match self.records.take::<N>() {
            Ok(record) => record?,
            Err(error) => return Some(Err(error)),
        };
        let mut number = [0; 8];
        number[..N].copy_from_slice(&record);
        let (key, key_size) = self.key.hash(u64::from_le_bytes(number));
        Some(Ok(Access {
            time: Micros((self.records.at() - 1).saturating_mul(MADE_GAP_US)),
            key_size,
            size: self.charge.size(key_size, self.size),
            value_size: self.size,
            ..Access::get(key, 0)
        }))
    }

    fn key(&self) -> &[u8] {
        self.key.text()
    }
}
