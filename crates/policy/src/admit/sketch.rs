//! Recent request counts of keys: a count-min sketch of four-bit counters that are halved at
//! intervals.
//!
//! Sixteen counters share a word. A key has one counter in each of four words, and its frequency is
//! the least of them. After ten requests for each object held, all counters are halved, so that old
//! fame fades.
//!
//! The sketch grows with the number of objects that the cache holds, which is unknown beforehand. A
//! key's word is its hash modulo the number of words. So a sketch of twice the width that repeats
//! the old one gives the same answers.

use base::hash::mix;

const WORDS_MIN: usize = 64;
/// Requests for each object held after which all counters are halved.
const REQUESTS_PER_OBJECT: u64 = 10;
/// Keeps the low three bits of each four-bit counter: a shift of the word puts a bit of the
/// neighbour into the fourth.
const HALVES: u64 = 0x7777_7777_7777_7777;

/// Approximate recent frequencies, from 0 to 15.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    words: Vec<u64>,
    additions: u64,
}

impl Default for Sketch {
    fn default() -> Self {
        Self { words: vec![0; WORDS_MIN], additions: 0 }
    }
}

impl Sketch {
    /// Widens the sketch to at least one word for each of `objects`.
    pub(crate) fn fit(&mut self, objects: usize) {
        while self.words.len() < objects {
            self.words.extend_from_within(..);
        }
    }

    /// Counts a request for `key` while the cache holds `objects`.
    pub(crate) fn add(&mut self, key: u64, objects: usize) {
        let mut grown = false;
        for (word, shift) in self.places(key) {
            let counter = self.words[word] >> shift & 15;
            if counter < 15 {
                self.words[word] += 1 << shift;
                grown = true;
            }
        }
        self.additions += u64::from(grown);
        if self.additions >= REQUESTS_PER_OBJECT * (objects as u64).max(WORDS_MIN as u64) {
            self.words.iter_mut().for_each(|word| *word = *word >> 1 & HALVES);
            self.additions /= 2;
        }
    }

    /// The recent request count of `key`, up to 15. Collisions only raise it; halving lowers it.
    pub(crate) fn frequency(&self, key: u64) -> u8 {
        let counters = self.places(key).map(|(word, shift)| (self.words[word] >> shift & 15) as u8);
        counters.into_iter().min().unwrap_or(0)
    }

    fn places(&self, key: u64) -> [(usize, u32); 4] {
        let hash = mix(key);
        std::array::from_fn(|row| {
            let own = hash.wrapping_mul(2 * row as u64 + 1).rotate_left(16 * row as u32);
            let word = own as usize & (self.words.len() - 1);
            (word, ((own >> 60) as u32) << 2)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_forgets_nothing() {
        let mut sketch = Sketch::default();
        (0..9).for_each(|_| sketch.add(7, 1000));
        (100..130).for_each(|key| sketch.add(key, 1000));
        assert_eq!(sketch.frequency(7), 9);
        sketch.fit(10_000);
        assert_eq!(sketch.frequency(7), 9);
        assert_eq!(sketch.frequency(8), 0);
    }

    #[test]
    fn old_fame_fades() {
        let mut sketch = Sketch::default();
        (0..15).for_each(|_| sketch.add(7, 64));
        (0..2000).for_each(|key| sketch.add(1000 + key, 64));
        assert!(sketch.frequency(7) <= 4, "{}", sketch.frequency(7));
    }
}
