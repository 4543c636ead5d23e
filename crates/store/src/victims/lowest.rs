//! The lowest of a few lines of ranks, in order, without a branch that depends on a rank.
//!
//! About a dozen of four lines of sixteen tags are needed. Searching for each one separately would
//! compare all tags a dozen times. Sorting as a library does would mispredict every second
//! comparison. So the lines are placed one above the other, and a sorting network [1] puts the four
//! ranks of every column in order. Its comparisons do not depend on the ranks, and one instruction
//! makes four of them. From then on only the heads of the columns are compared, all sixteen each
//! time, and the column of the lowest moves up.
//!
//! The origin of a rank is kept in its last bits, which then no longer count: ranks that differ by
//! less than a part in 250 000 may swap places. The heads of the two halves of the columns are
//! compared separately, so the half is known, and within a half no two ranks are equal.
//!
//! [1] Batcher. Sorting Networks and Their Applications. AFIPS '68.

use crate::items::pages::eviction_pool::LINES;

/// Ranks per line.
pub(super) const LINE: usize = 16;
/// Columns whose heads are compared together.
const HALF: usize = LINE / 2;
/// The bits that hold the origin of a rank within its half: line and column.
const ORIGIN: u32 = (LINES * HALF) as u32 - 1;
/// A value above every rank.
const END: f32 = f32::MAX;
/// Values from here on stand for no rank: infinity, with any origin.
const ABSENT: f32 = f32::from_bits(END.to_bits() & !ORIGIN);

/// The pairs of lines that the network compares, in order; the lower rank moves to the first line.
const PAIRS: [(usize, usize); 5] = [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)];

/// Lines of ranks, each column in order.
pub(crate) struct Sorted {
    /// Ranks by their place in the order, then by column.
    rows: [[f32; LINE]; LINES],
}

impl Sorted {
    /// Sorts the columns of up to [`LINES`] lines.
    pub(super) fn new<'a>(lines: impl Iterator<Item = &'a [f32; LINE]>) -> Self {
        let mut rows = [[END; LINE]; LINES];
        for (line, (ranks, row)) in lines.zip(&mut rows).enumerate() {
            *row = std::array::from_fn(|column| {
                let rank = if ranks[column] < END { ranks[column] } else { END };
                let rank = if rank > -END { rank } else { -END };
                f32::from_bits(rank.to_bits() & !ORIGIN | (line * HALF + column % HALF) as u32)
            });
        }
        for (low, high) in PAIRS {
            let (a, b) = (rows[low], rows[high]);
            rows[low] = std::array::from_fn(|at| if b[at] < a[at] { b[at] } else { a[at] });
            rows[high] = std::array::from_fn(|at| if b[at] < a[at] { a[at] } else { b[at] });
        }
        Self { rows }
    }

    /// The origin of the next lowest rank: line and column. `None` if no rank below infinity is
    /// left.
    pub(super) fn next(&mut self) -> Option<(usize, usize)> {
        let [heads, seconds, thirds, fourths] = &mut self.rows;
        let (first, second) = (least(&heads[..HALF]), least(&heads[HALF..]));
        let (half, lowest) = if second < first { (1, second) } else { (0, first) };
        if lowest >= ABSENT {
            return None;
        }
        let origin = (lowest.to_bits() & ORIGIN) as usize;
        let column = half * HALF + origin % HALF;
        let up = seconds[column].to_bits();
        // All heads are written again, because reading several at once would wait for a write of
        // one of them.
        for head in &mut heads.as_chunks_mut::<HALF>().0[half] {
            // Only the lowest itself is equal to the lowest in this half.
            let is_lowest = u32::from(*head == lowest).wrapping_neg();
            *head = f32::from_bits(head.to_bits() & !is_lowest | up & is_lowest);
        }
        (seconds[column], thirds[column], fourths[column]) = (thirds[column], fourths[column], END);
        Some((origin / HALF, column))
    }
}

/// The lowest rank. No rank is NaN.
#[inline]
pub(crate) fn least(ranks: &[f32]) -> f32 {
    // Four minima side by side, or each comparison would wait for the one before.
    let lower = |a: f32, b: f32| if b < a { b } else { a };
    let (fours, rest) = ranks.as_chunks::<4>();
    let [a, b, c, d] = fours.iter().fold([f32::INFINITY; 4], |least, four| {
        std::array::from_fn(|at| lower(least[at], four[at]))
    });
    rest.iter().copied().fold(lower(lower(a, b), lower(c, d)), lower)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rank() -> impl Strategy<Value = f32> {
        prop_oneof![
            8 => -1.0..1e6f32,
            2 => (0u8..4).prop_map(f32::from),
            1 => Just(-0.0),
            1 => Just(f32::INFINITY),
            1 => Just(f32::NEG_INFINITY),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 3 } else { 256 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// Every rank below infinity comes out once, and none comes before one that is lower by
        /// more than the lost bits.
        #[test]
        fn all_come_in_order(
            lines in prop::collection::vec([(); LINE].map(|()| rank()), 0..=LINES)
        ) {
            let mut sorted = Sorted::new(lines.iter());
            let came: Vec<_> = std::iter::from_fn(|| sorted.next()).collect();
            let ranks: Vec<_> = came.iter().map(|&(line, place)| lines[line][place]).collect();
            let is_low = |&(one, other): &(f32, f32)| {
                one <= other || one - other < 4e-6 * other.abs().max(f32::MIN_POSITIVE)
            };
            let pairs = ranks.iter().copied().zip(ranks.iter().skip(1).copied());
            prop_assert!(pairs.clone().all(|pair| is_low(&pair)), "{:?}", ranks);
            let mut places = came.clone();
            places.sort_unstable();
            places.dedup();
            let finite = lines.iter().flatten().filter(|rank| **rank < f32::INFINITY).count();
            prop_assert_eq!((places.len(), came.len()), (finite, finite));
        }
    }
}
