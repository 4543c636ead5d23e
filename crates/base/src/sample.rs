//! Spatial sampling, and the form in which a model receives a sampled request.
//!
//! A key is sampled iff the top 24 bits of its hash fall below a threshold. The filter keeps all
//! requests to a key or none, so the sampled stream is a smaller stream of the same shape [1]. A
//! filter of a lower rate keeps a subset of the keys that a filter of a higher rate keeps, so
//! filters nest.
//!
//! [1] Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC Construction with SHARDS. FAST '15.

use crate::{Micros, TenantId};

/// The number of values that the sampled bits of a hash can have.
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

    /// The bits of a hash that are compared with the threshold.
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

/// The kind and outcome of a sampled request to the live store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// A read that found its item.
    Hit,
    /// A read that did not find its item. The size is unknown until the key is written.
    Miss,
    /// A write. After a miss of the same key it is a *fill*, and both are one access.
    Write,
    /// A removal on request. (The store never reports evictions: a model describes the requests,
    /// not the cache that answers them.)
    Delete,
}

/// One sampled request, as the store passes it to the pilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time of the request, on the clock of the store's caller.
    pub time: Micros,
    /// The hash of the key.
    pub key: u64,
    /// The tenant that owns the key.
    pub tenant: TenantId,
    /// The kind and outcome of the request.
    pub sighting: Sighting,
    /// Bytes charged for the item with its metadata; zero for a miss.
    pub size: u32,
    /// Time left to live, zero for no limit.
    pub ttl: Micros,
    /// Estimated cost of a miss of the key, zero where it is not known.
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
