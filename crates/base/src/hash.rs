//! The one hash used everywhere: 64 well-mixed bits from a key and a seed.
//!
//! Sixteen bytes at a time are folded by one 64 × 64 → 128 bit multiplication whose halves are
//! xored, the construction of wyhash and its relatives. A key of up to 16 bytes costs two such
//! folds, about 3 ns. It is not a cryptographic hash: a server that fears chosen keys gives it a
//! secret seed.
//!
//! The users of the hash have to be independent of each other, so each has bits of its own. This is
//! the only list of them:
//!
//! ```text
//!   63            40 39          32 31                                0
//!  ┌────────────────┬──────────────┬───────────────────────────────────┐
//!  │ spatial filter │ shard        │ bucket                            │
//!  └────────────────┴──────────────┴───────────────────────────────────┘
//!     24 bits          8 bits         32 bits; fingerprints use bits 40..56, which say nothing
//!                                     about bucket or shard
//! ```
//!
//! The store finds fetches under way by the low bits of the bucket and by its upper eight.
//!
//! Code that needs a split independent of all three (halves for cross-checking, confidence bands)
//! first applies [`mix`] with a constant of its own.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Maps hashes of keys to values. Watched keys share their top bits, so [`Ready`] spreads them
/// again.
pub type KeyMap<T> = HashMap<u64, T, BuildHasherDefault<Ready>>;

/// A set of hashes of keys, spread in the same way.
pub type KeySet = HashSet<u64, BuildHasherDefault<Ready>>;

/// A hasher for keys that are hashes already: one multiplication.
#[derive(Clone, Debug, Default)]
pub struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key.wrapping_mul(A);
    }
}

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xd6e8_feb8_6659_fd93;
const C: u64 = 0xa076_1d64_78bd_642f;

/// Multiplies to 128 bits and xors the halves.
const fn fold(a: u64, b: u64) -> u64 {
    let product = (a as u128) * (b as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The hash of `key` under `seed`.
#[inline]
pub fn bytes(seed: u64, key: &[u8]) -> u64 {
    // Spread over all bits: similar seeds must not cancel out against similar keys.
    let mut state = seed.wrapping_mul(C) ^ A;
    let mut rest = key;
    while rest.len() > 16 {
        let (head, tail) = rest.split_at(16);
        state = fold(word(&head[..8]) ^ state ^ B, word(&head[8..]) ^ C);
        rest = tail;
    }
    let (low, high) = tail_words(rest);
    mix(fold(low ^ state ^ B, high ^ A) ^ (key.len() as u64).wrapping_mul(C))
}

#[inline]
fn word(eight: &[u8]) -> u64 {
    let mut array = [0; 8];
    array.copy_from_slice(eight);
    u64::from_le_bytes(array)
}

#[inline]
fn half(four: &[u8]) -> u64 {
    let mut array = [0; 4];
    array.copy_from_slice(four);
    u64::from(u32::from_le_bytes(array))
}

/// Up to 16 bytes as two words; overlapping reads avoid a loop.
#[inline]
fn tail_words(rest: &[u8]) -> (u64, u64) {
    let n = rest.len();
    match n {
        8..=16 => (word(&rest[..8]), word(&rest[n - 8..])),
        4..=7 => (half(&rest[..4]), half(&rest[n - 4..])),
        1..=3 => {
            let (first, middle, last) = (rest[0], rest[n / 2], rest[n - 1]);
            (u64::from(first) << 16 | u64::from(middle) << 8 | u64::from(last), 0)
        }
        _ => (0, 0),
    }
}

/// The hash under seed 0 of a text of 1 to 24 bytes that ends with the last of three words. It is
/// that of [`bytes`], for a text that is still in registers: a processor waits when it reads words
/// from memory that were just written in other words.
#[inline]
pub fn last_bytes(words: [u64; 3], len: usize) -> u64 {
    let start = 24 - len;
    let all = [words[0], words[1], words[2], 0];
    let word_at = |at: usize| {
        let pair = u128::from(all[at / 8 % 4]) | u128::from(all[(at / 8 + 1) % 4]) << 64;
        (pair >> (8 * (at % 8))) as u64
    };
    let mut state = A;
    let mut rest = len;
    if len > 16 {
        state = fold(word_at(start) ^ state ^ B, word_at(start + 8) ^ C);
        rest -= 16;
    }
    let last = words[2];
    let (low, high) = match rest {
        8.. => (word_at(24 - rest), last),
        4..8 => ((last >> (8 * (8 - rest))) & 0xffff_ffff, last >> 32),
        _ => {
            let text = last >> ((8 * (8 - rest)) % 64);
            let middle = (text >> (8 * (rest / 2))) & 0xff;
            (((text & 0xff) << 16) | (middle << 8) | (last >> 56), 0)
        }
    };
    mix(fold(low ^ state ^ B, high ^ A) ^ (len as u64).wrapping_mul(C))
}

/// Mixes a number: every bit of the result depends on every bit of `x`, and no two numbers give
/// the same result (the finaliser of SplitMix64).
#[inline]
pub const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(A);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_last_bytes_of_words_have_the_hash_of_the_text() {
        let mut text = [0u8; 24];
        for (at, byte) in text.iter_mut().enumerate() {
            *byte = mix(at as u64) as u8;
        }
        let words = [0, 8, 16].map(|at| word(&text[at..at + 8]));
        for len in 1..=24 {
            assert_eq!(last_bytes(words, len), bytes(0, &text[24 - len..]), "{len}");
        }
    }

    /// All users of the hash rely on each of its bits being fair, whatever the keys look like.
    #[test]
    fn every_bit_is_fair_on_structured_keys() {
        let n = 20_000u64;
        let mut ones = [0u64; 64];
        for i in 0..n {
            let hash = bytes(7, format!("user:{i}").as_bytes());
            for (bit, count) in ones.iter_mut().enumerate() {
                *count += hash >> bit & 1;
            }
        }
        // Five standard deviations of a fair coin.
        let band = 5.0 * (n as f64).sqrt() / 2.0;
        for (bit, count) in ones.iter().enumerate() {
            assert!((*count as f64 - n as f64 / 2.0).abs() < band, "bit {bit}: {count} of {n}");
        }
    }

    #[test]
    fn lengths_and_zero_bytes_are_told_apart() {
        let keys =
            [&b""[..], b"\0", b"\0\0", b"\0\0\0\0", b"\0\0\0\0\0\0\0\0\0", &[0; 33], &[0; 34]];
        let hashes: HashSet<u64> = keys.iter().map(|key| bytes(0, key)).collect();
        assert_eq!(hashes.len(), keys.len());
        assert_ne!(bytes(0, b"key"), bytes(1, b"key"));
    }

    /// Seeds are small numbers, and keys often differ in one digit: neither may cancel the other.
    #[test]
    fn related_seeds_and_keys_do_not_meet() {
        let hashes: HashSet<u64> = (0..8)
            .flat_map(|seed| (0..1_000).map(move |i| bytes(seed, format!("{i:08}").as_bytes())))
            .collect();
        assert_eq!(hashes.len(), 8_000);
    }
}
