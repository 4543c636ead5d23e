//! The lowest of a few lines of ranks, in their order, without a branch that depends on a rank.
//!
//! Of four lines of sixteen tags some dozen are wanted. To look for each anew would compare them
//! all a dozen times; to sort them as a library does would guess wrong at every second comparison.
//! So the lines stand side by side, one to a column, and a sorting network [1] puts all columns in
//! order at once: its comparisons are the same whatever the ranks are, and one instruction makes
//! four of them. Then the lowest is at the head of a column.
//!
//! Where a rank came from is kept in its last bits, which so no longer count: ranks that differ by
//! less than a part in 500 000 may change places.
//!
//! [1] Batcher. Sorting Networks and Their Applications. AFIPS '68.

/// Lines, at most.
pub(super) const LINES: usize = 4;
/// Ranks of a line.
pub(super) const LINE: usize = 16;
/// The bits that tell where in its line a rank stands.
const PLACE: u32 = LINE as u32 - 1;
/// Behind every rank.
const END: f32 = f32::MAX;
/// From here on there is none: infinity, wherever it stands.
const ABSENT: f32 = f32::from_bits(END.to_bits() & !PLACE);

/// Which rows a network compares, one pair after the other: the lower comes to the first.
const PAIRS: [(u8, u8); 63] = {
    let (mut pairs, mut count) = ([(0, 0); 63], 0);
    let mut sorted = 1;
    while sorted < LINE {
        let mut apart = sorted;
        while apart > 0 {
            let mut first = apart % sorted;
            while first + apart < LINE {
                let mut low = first;
                while low < first + apart && low + apart < LINE {
                    if low / (2 * sorted) == (low + apart) / (2 * sorted) {
                        pairs[count] = (low as u8, (low + apart) as u8);
                        count += 1;
                    }
                    low += 1;
                }
                first += 2 * apart;
            }
            apart /= 2;
        }
        sorted *= 2;
    }
    assert!(count == pairs.len());
    pairs
};

/// Lines of ranks, each in order.
pub(super) struct Sorted {
    /// By place in the order, then by line. The last is no rank.
    rows: [[f32; LINES]; LINE + 1],
    /// What is next of each line.
    heads: [usize; LINES],
}

impl Sorted {
    /// Puts up to [`LINES`] lines in order.
    pub(super) fn new<'a>(lines: impl Iterator<Item = &'a [f32; LINE]>) -> Self {
        let mut rows = [[END; LINES]; LINE + 1];
        for (line, ranks) in lines.enumerate() {
            for (place, rank) in ranks.iter().enumerate() {
                let bits = rank.clamp(-END, END).to_bits();
                rows[place][line] = f32::from_bits(bits & !PLACE | place as u32);
            }
        }
        for (low, high) in PAIRS {
            let (a, b) = (rows[usize::from(low)], rows[usize::from(high)]);
            let lower = |at: usize| if b[at] < a[at] { b[at] } else { a[at] };
            let higher = |at: usize| if b[at] < a[at] { a[at] } else { b[at] };
            rows[usize::from(low)] = std::array::from_fn(lower);
            rows[usize::from(high)] = std::array::from_fn(higher);
        }
        Self { rows, heads: [0; LINES] }
    }

    /// Where the next lowest stands: line and place. None where no rank below infinity is left.
    pub(super) fn next(&mut self) -> Option<(usize, usize)> {
        let head: [f32; LINES] = std::array::from_fn(|line| self.rows[self.heads[line]][line]);
        let lower = |one: usize, other: usize| if head[other] < head[one] { other } else { one };
        let line = lower(lower(0, 1), lower(2, 3));
        self.heads[line] = (self.heads[line] + 1).min(LINE);
        (head[line] < ABSENT).then_some((line, (head[line].to_bits() & PLACE) as usize))
    }
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
