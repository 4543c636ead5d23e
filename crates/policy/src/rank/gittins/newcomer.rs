//! Whether a large newcomer is worth more than those that would have to leave for it.
//!
//! An item that is let in is a candidate of the next eviction at the earliest, and by then a large
//! one has evicted many, each of which may be worth more by its bytes. So some residents are drawn
//! first, and those ranked below the newcomer are counted by their bytes: where they are less of
//! what was drawn than the room it needs is of all that is held, it does not enter.

/// A newcomer of so many mean sizes at least competes.
pub const LARGE: u64 = 4;

/// The bytes of residents drawn that a newcomer is worth more than.
#[derive(Clone, Copy, Debug)]
pub struct Lower {
    rank: f32,
    drawn: u64,
    below: u64,
}

impl Lower {
    /// Before any is drawn, for a newcomer of such a rank.
    pub const fn than(rank: f32) -> Self {
        Self { rank, drawn: 0, below: 0 }
    }

    /// A resident was drawn.
    #[inline]
    pub fn draw(&mut self, rank: f32, size: u64) {
        self.drawn += size;
        self.below += if rank <= self.rank { size } else { 0 };
    }

    /// Whether the newcomer may enter where it needs so many of all the bytes held.
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
