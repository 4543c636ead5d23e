//! Spatial sampling, and what a sampled request looks like to a model.
//!
//! A key is sampled iff the top 24 bits of its hash fall below a threshold. All requests to a key
//! are kept or none is, so the sampled stream is a smaller stream of the same shape [1]. A filter
//! of a lower rate keeps a subset of the keys that one of a higher rate keeps, so filters nest.
//!
//! [1] Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC Construction with SHARDS. FAST '15.

use crate::{Micros, TenantId};

/// Hashes are compared modulo this many values.
pub const MODULUS: u64 = 1 << 24;

/// Keeps a key iff the top 24 bits of its hash are below a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    threshold: u64,
}

impl Filter {
    /// Keeps every key.
    pub const ALL: Self = Self { threshold: MODULUS };
    /// Keeps no key.
    pub const NONE: Self = Self { threshold: 0 };

    /// Keeps about the share `rate` of the keys; at least one hash value where `rate` is above 0.
    pub fn with_rate(rate: f64) -> Self {
        let threshold = (rate.clamp(0.0, 1.0) * MODULUS as f64).round() as u64;
        Self { threshold: if rate > 0.0 { threshold.max(1) } else { 0 } }
    }

    /// Keeps the keys whose sampled bits are below `threshold`, of [`MODULUS`].
    pub const fn below(threshold: u64) -> Self {
        Self { threshold }
    }

    /// The threshold, of [`MODULUS`].
    pub const fn threshold(self) -> u64 {
        self.threshold
    }

    /// The share of keys kept: exactly threshold / modulus.
    pub const fn rate(self) -> f64 {
        self.threshold as f64 / MODULUS as f64
    }

    /// The bits of a hash that are compared.
    #[inline]
    pub const fn bits(hash: u64) -> u64 {
        hash >> 40
    }

    /// Whether the key with this hash is sampled.
    #[inline]
    pub const fn keeps(self, hash: u64) -> bool {
        Self::bits(hash) < self.threshold
    }
}

/// What happened in a sampled request to the live store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// A read that found its item.
    Hit,
    /// A read that found none; the size is not known until the key is written.
    Miss,
    /// A write. Following a miss of the same key it is a *fill*, and both are one access.
    Write,
    /// A removal on request. (Evictions are never reported: a model describes the requests, not
    /// the cache that answers them.)
    Delete,
}

/// One sampled request, as the store hands it to the pilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When, on the clock of whoever drives the store.
    pub time: Micros,
    /// The hash of the key.
    pub key: u64,
    /// Whose key.
    pub tenant: TenantId,
    /// What happened.
    pub sighting: Sighting,
    /// Bytes charged for the item with its metadata; zero for a miss.
    pub size: u32,
    /// Time left to live, zero for no limit.
    pub ttl: Micros,
    /// About what a miss of the key costs, zero where that is not known.
    pub penalty: Micros,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn keeps_the_share_it_says_and_nests() {
        let (wide, narrow) = (Filter::with_rate(0.1), Filter::with_rate(0.01));
        let hashes = || (0..200_000).map(mix);
        let kept = hashes().filter(|&hash| wide.keeps(hash)).count();
        assert!((19_000..21_000).contains(&kept), "{kept}");
        assert!(hashes().all(|hash| !narrow.keeps(hash) || wide.keeps(hash)));
        assert!(hashes().all(|hash| Filter::ALL.keeps(hash) && !Filter::NONE.keeps(hash)));
    }
}
