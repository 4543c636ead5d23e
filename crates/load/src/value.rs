//! Values whose bytes follow from key and length, so a hit can be checked without a copy of the
//! written value.
//!
//! A value is a stream of 64-bit words, each a mix of its position and a seed from the key and the
//! length. A value of another key or length, or one that is cut short, is wrong in almost every
//! byte. A look at three words detects it without reading the rest.

use base::hash::{bytes, mix};

/// Separates the seeds of values from the hashes that place keys.
const SALT: u64 = 0x5eed_0f0a_11da_7a00;

/// The seed of the value of `key`.
pub fn seed(key: &[u8]) -> u64 {
    bytes(SALT, key)
}

fn start(seed: u64, length: usize) -> u64 {
    mix(seed ^ (length as u64).rotate_left(40))
}

fn word(start: u64, at: usize) -> [u8; 8] {
    mix(start.wrapping_add(at as u64)).to_le_bytes()
}

/// Appends the value of `length` bytes to `out`.
pub fn write(seed: u64, length: usize, out: &mut Vec<u8>) {
    let start = start(seed, length);
    let whole = length / 8;
    out.reserve(length);
    for at in 0..whole {
        out.extend_from_slice(&word(start, at));
    }
    out.extend_from_slice(&word(start, whole)[..length % 8]);
}

/// Whether the first, middle and last words are right for a value of that length.
pub fn is_right(seed: u64, value: &[u8]) -> bool {
    let start = start(seed, value.len());
    let words = value.len().div_ceil(8);
    [0, words / 2, words.saturating_sub(1)].into_iter().all(|at| {
        let part = value.get(at * 8..).unwrap_or_default();
        let part = &part[..part.len().min(8)];
        part == &word(start, at)[..part.len()]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_right(key in "[a-z0-9:]{1,30}", length in 0usize..5_000) {
            let mut value = b"before".to_vec();
            write(seed(key.as_bytes()), length, &mut value);
            prop_assert_eq!(value.len(), 6 + length);
            prop_assert!(is_right(seed(key.as_bytes()), &value[6..]));
        }

        /// The check must reject a server that answers with another key's value, or with a part of
        /// the right one.
        #[test]
        fn other_keys_and_parts_are_wrong(
            a in 0u64..1_000,
            length in 8usize..5_000,
            cut in 1usize..8,
        ) {
            let mut value = vec![];
            write(a, length, &mut value);
            prop_assert!(!is_right(a + 1, &value));
            prop_assert!(!is_right(a, &value[..length - cut.min(length - 4)]));
        }
    }

    #[test]
    fn an_empty_value_is_right() {
        assert!(is_right(7, b""));
    }
}
