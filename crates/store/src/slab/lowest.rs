//! The lowest of a few lines of ranks, in their order, without a branch that depends on a rank.
//!
//! Of four lines of sixteen tags some dozen are wanted. To look for each anew would compare them
//! all a dozen times; to sort them as a library does would guess wrong at every second comparison.
//! So the lines lie one above the other, and a sorting network [1] puts the four ranks of every
//! column in order: its comparisons are the same whatever the ranks are, and one instruction makes
//! four of them. From then on only the heads of the columns are compared, all sixteen each time,
//! and the column of the lowest moves up.
//!
//! Where a rank came from is kept in its last bits, which so no longer count: ranks that differ by
//! less than a part in 250 000 may change places. Two halves of the columns have their heads
//! compared apart, so the half is known, and of a half no two ranks are equal.
//!
//! [1] Batcher. Sorting Networks and Their Applications. AFIPS '68.

/// Lines, at most.
pub(super) const LINES: usize = 4;
/// Ranks of a line.
pub(super) const LINE: usize = 16;
/// Columns whose heads are compared together.
const HALF: usize = LINE / 2;
/// The bits that tell where in its half a rank is from: line and column.
const ORIGIN: u32 = (LINES * HALF) as u32 - 1;
/// Behind every rank.
const END: f32 = f32::MAX;
/// From here on there is none: infinity, wherever it is from.
const ABSENT: f32 = f32::from_bits(END.to_bits() & !ORIGIN);

/// Which lines the network compares, one pair after the other: the lower rank comes to the first.
const PAIRS: [(usize, usize); 5] = [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)];

/// Lines of ranks, each column in order.
pub(super) struct Sorted {
    /// By place in the order, then by column.
    rows: [[f32; LINE]; LINES],
}

impl Sorted {
    /// Puts the columns of up to [`LINES`] lines in order.
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

    /// Where the next lowest stands: line and column. None where no rank below infinity is left.
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
        // All are written anew: to read several at once waits for a write of one of them.
        for head in &mut heads.as_chunks_mut::<HALF>().0[half] {
            // No number of this half but itself is equal to the lowest.
            let is_lowest = u32::from(*head == lowest).wrapping_neg();
            *head = f32::from_bits(head.to_bits() & !is_lowest | up & is_lowest);
        }
        (seconds[column], thirds[column], fourths[column]) = (thirds[column], fourths[column], END);
        Some((origin / HALF, column))
    }
}

/// The lowest rank; none is NaN.
#[inline]
pub(super) fn least(ranks: &[f32]) -> f32 {
    // Four side by side, or each comparison would wait for the one before.
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

        /// Every rank below infinity comes once, and none before one that is lower by more than
        /// the bits that are lost.
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
