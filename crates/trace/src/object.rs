//! Objects that are numbers, for formats without other keys.

use base::{Access, Tick, hash};

/// The decimal text of an object's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    /// The text is right-aligned.
    digits: [u8; 24],
    start: usize,
}

impl Default for Number {
    fn default() -> Self {
        Self { digits: [b'0'; 24], start: 24 }
    }
}

const EIGHT_DIGITS: u64 = 100_000_000;

/// The digits of a number below 10^8, the first in the lowest byte. They are split by halves, all
/// parts at once: x / 100 is x · 10486 / 2^20 below 10 000, x / 10 is x · 103 / 2^10 below 100.
#[inline]
const fn eight(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - 10 * tens) << 8)
}

impl Number {
    /// Writes `object`, and returns the hash and the length of its text.
    #[inline]
    pub(crate) fn hash(&mut self, object: u64) -> (u64, u32) {
        let words = self.put(object);
        let len = self.digits.len() - self.start;
        (hash::last_bytes(words, len), len as u32)
    }

    /// Writes `object` and returns its text.
    pub(crate) fn write(&mut self, object: u64) -> &[u8] {
        self.put(object);
        self.text()
    }

    /// Writes `object`, and returns the words whose last bytes are its text.
    #[inline]
    fn put(&mut self, object: u64) -> [u64; 3] {
        let high = object / EIGHT_DIGITS;
        let parts = [high / EIGHT_DIGITS, high % EIGHT_DIGITS, object % EIGHT_DIGITS].map(eight);
        let words = parts.map(|part| part | u64::from_le_bytes([b'0'; 8]));
        for (text, word) in self.digits.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *text = word.to_le_bytes();
        }
        let first = parts[..2].iter().position(|&part| part > 0).unwrap_or(2);
        // The last digit is shown, even if it is a zero.
        let zeros = (parts[first] | (1 << 56)).trailing_zeros() / 8;
        self.start = 8 * first + zeros as usize;
        words
    }

    /// The last written text, empty before the first.
    #[inline]
    pub(crate) fn text(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

/// Objects whose hashes are known, in a table by their last bits: 48 KiB, which fit the
/// processor's second cache.
const RECENT: usize = 1 << 11;

/// The hashes and the lengths of the texts of recent objects: a request repeats a recent object
/// more often than not, and its text takes as long as a simulated hit.
#[derive(Debug)]
pub(crate) struct RecentHashes(Box<[(u64, u64, u32)]>);

impl Default for RecentHashes {
    fn default() -> Self {
        // No place is for the number that it holds here.
        Self((0..RECENT as u64).map(|at| (!at, 0, 0)).collect())
    }
}

impl RecentHashes {
    /// The hash and the length of the text of `object`.
    #[inline]
    pub(crate) fn of(&mut self, object: u64, number: &mut Number) -> (u64, u32) {
        let known = &mut self.0[object as usize % RECENT];
        if known.0 != object {
            let (hash, len) = number.hash(object);
            *known = (object, hash, len);
        }
        (known.1, known.2)
    }
}

/// The number of an object for a format that has only numbers: its key if that is a decimal number
/// that reads back, else the hash of the key.
pub(crate) fn number_of(access: &Access, key: &[u8]) -> u64 {
    number(key).unwrap_or(access.key)
}

/// Whether a key is a decimal number that reads back.
pub(crate) fn is_number(key: &[u8]) -> bool {
    number(key).is_some()
}

fn number(key: &[u8]) -> Option<u64> {
    let reads_back = key.len() == 1 || key.first() != Some(&b'0');
    crate::lines::whole_number(key).filter(|_| reads_back)
}

/// The tick of an object's next request, from a field of libCacheSim's formats: -1, or in some
/// traces the largest number, means none.
pub(crate) const fn next_request(next: i64) -> Tick {
    if next < 0 || next == i64::MAX { Tick::NEVER } else { Tick(next as u64) }
}

/// The field of libCacheSim's formats for the tick of the next request.
pub(crate) fn next_field(next: Tick) -> i64 {
    if next == Tick::NEVER { -1 } else { i64::try_from(next.0).unwrap_or(-1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_decimal() {
        let (mut number, mut recent) = (Number::default(), RecentHashes::default());
        assert_eq!(number.text(), b"");
        let powers = (0..20).map(|power| 10u64.pow(power));
        let near = powers.flat_map(|power| [power - 1, power, power + 1, power.wrapping_mul(7)]);
        for object in near.chain([u64::MAX]) {
            assert_eq!(number.write(object), object.to_string().as_bytes());
            let text = object.to_string();
            assert_eq!(number.hash(object), (hash::bytes(0, text.as_bytes()), text.len() as u32));
            assert_eq!(number.text(), text.as_bytes());
            for _ in 0..2 {
                assert_eq!(recent.of(object, &mut number), number.hash(object));
            }
        }
    }
}
