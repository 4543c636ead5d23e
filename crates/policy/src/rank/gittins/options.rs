//! Options of a learner: parts of the computation that can be left out.

use super::watched::Watched;

/// The slow rate and the fast one.
pub(super) const RATES: usize = 2;

/// Options of the computation of indices: as described, or without some parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each leaves out a part of its own")]
pub struct LearnerOptions {
    /// Whether ages without any observation have a hazard above zero.
    pub tail: bool,
    /// Whether a policy may give an item up at its best age.
    pub stops: bool,
    /// Whether octaves have parts.
    pub parts: bool,
    /// Whether octaves learn from each other, by age relative to the interval.
    pub profile: bool,
    /// Whether a fast rate of forgetting exists beside the slow one.
    pub fast: bool,
    /// Whether young items get a bonus while nothing is known.
    pub recency: bool,
    /// Whether items that were hit at least twice age slowly.
    pub steady: bool,
}

/// Bytes that a tenant takes in full detail, and without the fast rate.
const DETAIL_ALL: u64 = 200 << 10;
const DETAIL_SLOW: u64 = 120 << 10;

impl LearnerOptions {
    /// The detail that fits in this many bytes for each tenant.
    pub fn within(bytes: u64) -> Self {
        Self { parts: bytes >= DETAIL_SLOW, fast: bytes >= DETAIL_ALL, ..Self::default() }
    }

    /// Number of rates of forgetting.
    pub(super) const fn rates(self) -> usize {
        if self.fast { RATES } else { 1 }
    }

    /// The class in which a key is counted.
    #[inline]
    pub(super) const fn class(self, known: &Watched) -> u8 {
        if self.parts {
            known.past.class(known.last, known.size_class)
        } else {
            known.past.octave(known.last)
        }
    }
}

impl Default for LearnerOptions {
    fn default() -> Self {
        Self {
            tail: true,
            stops: true,
            parts: true,
            profile: true,
            fast: true,
            recency: true,
            steady: true,
        }
    }
}
