//! Objects that are numbers, in formats that know nothing else.

use crate::{Access, Tick};

/// The decimal text of an object's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    /// The text is at the end.
    digits: [u8; 20],
    start: usize,
}

impl Default for Number {
    fn default() -> Self {
        Self { digits: [b'0'; 20], start: 20 }
    }
}

impl Number {
    /// Writes `object` and hands out its text.
    #[inline]
    pub(crate) fn write(&mut self, mut object: u64) -> &[u8] {
        self.start = self.digits.len();
        // Four digits at a time: each division waits for the one before.
        while object >= 10_000 {
            let four = (object % 10_000) as u32;
            object /= 10_000;
            self.pair(four % 100);
            self.pair(four / 100);
        }
        let mut rest = object as u32;
        if rest >= 100 {
            self.pair(rest % 100);
            rest /= 100;
        }
        self.pair(rest);
        // The first pair may begin with a zero.
        self.start += usize::from(rest < 10);
        self.text()
    }

    #[inline]
    fn pair(&mut self, below_hundred: u32) {
        self.start -= 2;
        let digits = [below_hundred / 10, below_hundred % 10].map(|digit| b'0' + digit as u8);
        self.digits[self.start..self.start + 2].copy_from_slice(&digits);
    }

    /// The text last written, empty before the first.
    #[inline]
    pub(crate) fn text(&self) -> &[u8] {
        &self.digits[self.start..]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_decimal() {
        let mut number = Number::default();
        assert_eq!(number.text(), b"");
        let powers = (0..20).map(|power| 10u64.pow(power));
        let near = powers.flat_map(|power| [power - 1, power, power + 1, power.wrapping_mul(7)]);
        for object in near.chain([u64::MAX]) {
            assert_eq!(number.write(object), object.to_string().as_bytes());
            assert_eq!(number.text(), object.to_string().as_bytes());
        }
    }
}
