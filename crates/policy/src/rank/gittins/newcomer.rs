//! Whether a large newcomer is worth more than the items that would be evicted for it.
//!
//! A new item is a candidate of the next eviction at the earliest. By then a large one has evicted
//! many items, each of which may be worth more per byte. So some residents are drawn first, and the
//! bytes of those ranked below the newcomer are counted. It does not enter if their share of the
//! bytes drawn is less than the share of all held bytes that it needs.

/// The size, in mean sizes, from which on a newcomer competes.
pub const LARGE: u64 = 4;

/// The bytes of drawn residents, in total and ranked at most as high as a newcomer.
#[derive(Clone, Copy, Debug)]
pub struct Lower {
    rank: f32,
    drawn: u64,
    below: u64,
}

impl Lower {
    /// Starts the count for a newcomer of this rank.
    pub const fn than(rank: f32) -> Self {
        Self { rank, drawn: 0, below: 0 }
    }

    /// Counts a drawn resident of this rank and size.
    #[inline]
    pub fn draw(&mut self, rank: f32, size: u64) {
        self.drawn += size;
        self.below += if rank <= self.rank { size } else { 0 };
    }

    /// Whether the newcomer may enter, if it needs `need` of the `held` bytes.
    pub fn yields(self, need: u64, held: u64) -> bool {
        u128::from(self.below) * u128::from(held) >= u128::from(self.drawn) * u128::from(need)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newcomer_enters_where_what_leaves_is_worth_less() {
        let mut lower = Lower::than(2.0);
        for rank in [1.0, 2.0, 3.0, 9.0] {
            lower.draw(rank, 100);
        }
        assert!(lower.yields(500, 1_000) && !lower.yields(501, 1_000));
        assert!(Lower::than(0.0).yields(9, 10), "nothing was drawn");
    }
}
