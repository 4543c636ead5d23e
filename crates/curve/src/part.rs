//! Parts of the keys, by bits of their hash.

use base::hash::mix;
use serde::{Deserialize, Serialize};

/// Makes the parts independent of every other split by the hash of keys.
const SALT: u64 = 0x2545_f491_4f6c_dd1d;

/// Most parts of a trace.
pub const PARTS_MAX: u32 = 65_536;

/// One of several parts of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Part {
    /// Index of the part, from 0.
    pub at: u32,
    /// Number of parts.
    pub of: u32,
}

impl Part {
    /// All keys.
    pub const WHOLE: Self = Self { at: 0, of: 1 };

    /// Whether the index is below the number of parts, and that number is allowed.
    pub const fn is_sound(self) -> bool {
        self.at < self.of && self.of <= PARTS_MAX
    }

    /// Whether a key belongs to the part.
    #[inline]
    pub fn has(self, key: u64) -> bool {
        self.of == 1 || ((mix(key ^ SALT) >> 32) * u64::from(self.of)) >> 32 == u64::from(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_of_one_part() {
        for of in [1, 2, 7, 16] {
            let mut counts = vec![0; of as usize];
            for key in 0..20_000 {
                let has = |at: &u32| Part { at: *at, of }.has(mix(key));
                let parts: Vec<u32> = (0..of).filter(has).collect();
                assert_eq!(parts.len(), 1, "{key} of {of}");
                counts[parts[0] as usize] += 1;
            }
            let even = 20_000 / of;
            assert!(counts.iter().all(|&count| even.abs_diff(count) < 300), "{counts:?}");
        }
    }
}
