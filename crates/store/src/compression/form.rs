//! The stored form of a compressed value, and its limits.
//!
//! ```text
//!   0            2            3              4 or 5
//!  ┌────────────┬────────────┬──────────────┬─────────┐
//!  │ dictionary │ descriptor │ plain length │ blocks… │
//!  └────────────┴────────────┴──────────────┴─────────┘
//!                └─ a frame of zstd (RFC 8878), without its magic number ─┘
//! ```
//!
//! The dictionary is a number in the tenant's list ([`Dictionaries`](super::dictionary)); 0 stands
//! for none. The frame's own header has the plain length, one byte long up to 255 and two bytes
//! long above. So a length is read without decompression, and nobody has to trust two lengths.
//! Frames have one segment, no checksum and no number of a dictionary; other headers are refused.
//!
//! The bytes come from this process only, and still nothing here trusts them. The plain length is
//! checked before a byte is written: at most [`PLAIN_MAX`], so a bomb is refused. The output has
//! exactly that length, and a frame that fills more or less of it is corrupt.

use std::fmt;
use std::ops::RangeInclusive;

/// Bytes of the longest plain value that is compressed. Decompressing one takes less than a tenth
/// of a millisecond, and a longer value would keep other clients of its shard waiting.
pub(crate) const PLAIN_MAX: usize = 64 << 10;
/// Bytes of the shortest plain value that is compressed: shorter ones gain no chunk.
pub(crate) const PLAIN_MIN: usize = 64;

/// Lengths of plain values that are compressed.
pub const COMPRESSIBLE: RangeInclusive<usize> = PLAIN_MIN..=PLAIN_MAX;

/// Bytes of the number of the dictionary.
pub(crate) const NUMBER: usize = 2;
/// Bytes of the magic number, which is not stored.
pub(crate) const MAGIC: usize = 4;

/// The descriptor of a frame with one segment, whose plain length has one byte.
const SHORT: u8 = 0b0010_0000;
/// The descriptor if the plain length has two bytes, which count from 256.
const LONG: u8 = 0b0110_0000;

/// A stored value that is no compressed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the compressed value is corrupt")
    }
}

impl std::error::Error for Corrupt {}

/// A stored value, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form<'a> {
    /// Number of the dictionary; 0 for none.
    pub(crate) dictionary: u16,
    /// Bytes of the plain value, at most [`PLAIN_MAX`].
    pub(crate) plain_len: usize,
    /// The frame without its magic number.
    pub(crate) frame: &'a [u8],
}

impl<'a> Form<'a> {
    /// Takes a stored value apart.
    ///
    /// # Errors
    /// The head is none, or claims more than [`PLAIN_MAX`] bytes.
    pub(crate) fn of(stored: &'a [u8]) -> Result<Self, Corrupt> {
        let (number, frame) = stored.split_first_chunk::<NUMBER>().ok_or(Corrupt)?;
        let plain_len = match *frame {
            [SHORT, len, ..] => usize::from(len),
            [LONG, a, b, ..] => usize::from(u16::from_le_bytes([a, b])) + 256,
            _ => return Err(Corrupt),
        };
        if plain_len > PLAIN_MAX {
            return Err(Corrupt);
        }
        Ok(Self { dictionary: u16::from_le_bytes(*number), plain_len, frame })
    }
}

/// Bytes of the plain value of a stored one; 0 if that is corrupt.
pub(crate) fn plain_len(stored: &[u8]) -> usize {
    Form::of(stored).map_or(0, |form| form.plain_len)
}

/// The number of the dictionary of a stored value; 0 for none.
pub(crate) fn dictionary_of(stored: &[u8]) -> u16 {
    stored.first_chunk().map_or(0, |number| u16::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_claims_too_much_or_is_none_is_refused() {
        let of = |bytes: &[u8]| Form::of(bytes).map(|form| (form.dictionary, form.plain_len));
        assert_eq!(of(&[7, 1, SHORT, 200, 0]), Ok((263, 200)));
        assert_eq!(of(&[0, 0, LONG, 0, 255]), Ok((0, 65_536)));
        assert_eq!(of(&[0, 0, LONG, 1, 255]), Err(Corrupt), "65 537 bytes");
        assert_eq!(of(&[0, 0, 0b1010_0000, 255, 255, 255, 255]), Err(Corrupt), "four bytes");
        assert_eq!(of(&[0, 0, SHORT | 4, 200]), Err(Corrupt), "with a checksum");
        assert_eq!(of(&[0, 0, LONG, 1]), Err(Corrupt));
        assert_eq!(of(&[0]), Err(Corrupt));
        assert_eq!((plain_len(b""), dictionary_of(&[5])), (0, 0));
    }
}
