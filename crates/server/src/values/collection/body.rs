//! The bodies of a sorted set: scores with members behind them, in the order of both.

use std::cmp::Ordering;
use store::Probe;

/// The lowest rank in the order of scores. The ranks below it are hashes of members.
pub(super) const BY_SCORE: u32 = 1 << 31;
/// The size of a score in bytes.
pub(super) const SCORE: usize = 8;

/// A score as bytes that compare like numbers. Minus zero becomes zero.
pub(super) fn ordered(score: f64) -> [u8; SCORE] {
    let bits = (score + 0.0).to_bits();
    let bits = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    bits.to_be_bytes()
}

fn number(ordered: &[u8]) -> f64 {
    let bits = ordered.first_chunk().map_or(1 << 63, |bytes| u64::from_be_bytes(*bytes));
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

pub(super) fn parts(body: &[u8]) -> (&[u8], &[u8]) {
    body.split_at_checked(SCORE).unwrap_or_default()
}

/// The member and the score of a body.
pub(crate) fn pair(body: &[u8]) -> (&[u8], f64) {
    let (score, member) = parts(body);
    (member, number(score))
}

/// The body for a member and its score.
pub(crate) fn body(member: &[u8], score: f64) -> Vec<u8> {
    [&ordered(score)[..], member].concat()
}

pub(super) fn rank_of_score(score: &[u8]) -> u32 {
    score.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes)) >> 1 | BY_SCORE
}

pub(super) fn by_score<R>(wanted: &[u8], look: impl FnOnce(&Probe<'_>) -> R) -> R {
    let order = |body: &[u8]| -> Ordering { body.cmp(wanted) };
    look(&Probe { rank: rank_of_score(wanted), order: &order })
}

/// Shows the probe for the place before the first body with this score.
pub(super) fn first_of<R>(score: f64, look: impl FnOnce(&Probe<'_>) -> R) -> R {
    by_score(&ordered(score), look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scores_compare_as_bytes(a: f64, b: f64) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            prop_assert_eq!(ordered(a).cmp(&ordered(b)), a.partial_cmp(&b).unwrap());
            prop_assert_eq!(number(&ordered(a)), a);
        }
    }
}
