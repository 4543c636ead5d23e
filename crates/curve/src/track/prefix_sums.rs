//! Sums over the first positions of a stack whose positions change all the time.
//!
//! A stack update changes dozens of positions for each sum that is read, so changes must be cheap.
//! Sizes are added up in blocks of 64, these in blocks of 64, and so on. A change is three
//! additions, or none if the size stays the same. A sum reads at most 63 numbers per level and one
//! for every 262 144 positions. (A Fenwick tree makes both logarithmic: slower for changes, which
//! are more frequent.)

use base::Size;

const SHIFT: usize = 6;
const LEVELS: usize = 3;

#[derive(Clone, Debug, Default)]
pub(crate) struct PrefixSums {
    sizes: Vec<Size>,
    /// Sums of 64, 64² and 64³ positions. Differences are added modulo 2⁶⁴.
    blocks: [Vec<u64>; LEVELS],
}

impl PrefixSums {
    pub(crate) fn get(&self, at: usize) -> Size {
        self.sizes[at]
    }

    /// Adds a position at the end.
    pub(crate) fn push(&mut self, size: Size) {
        let at = self.sizes.len();
        self.sizes.push(Size::default());
        for (level, blocks) in self.blocks.iter_mut().enumerate() {
            if at >> (SHIFT * (level + 1)) >= blocks.len() {
                blocks.push(0);
            }
        }
        self.set(at, size);
    }

    /// Removes the last position.
    pub(crate) fn pop(&mut self) {
        if let Some(last) = self.sizes.len().checked_sub(1) {
            self.set(last, Size::default());
            self.sizes.pop();
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, at: usize, size: Size) {
        let old = std::mem::replace(&mut self.sizes[at], size);
        if old != size {
            let change = u64::from(size).wrapping_sub(u64::from(old));
            for (level, blocks) in self.blocks.iter_mut().enumerate() {
                let sum = &mut blocks[at >> (SHIFT * (level + 1))];
                *sum = sum.wrapping_add(change);
            }
        }
    }

    /// The sum of the sizes at positions 0 to `at`, both included.
    pub(crate) fn through(&self, at: usize) -> u64 {
        let end = at + 1;
        let mut sum = 0u64;
        let mut done = 0;
        for level in (0..LEVELS).rev() {
            let shift = SHIFT * (level + 1);
            let until = end >> shift;
            sum += self.blocks[level][done >> shift..until].iter().sum::<u64>();
            done = until << shift;
        }
        sum + self.sizes[done..end].iter().map(|&size| u64::from(size)).sum::<u64>()
    }

    pub(crate) fn bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Vec::capacity).sum();
        self.sizes.capacity() * size_of::<Size>() + blocks * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Prng;

    /// Every sum equals the brute-force sum after 100 000 random changes across block borders.
    #[test]
    fn sums_stay_exact() {
        let mut prng = Prng::new(5);
        let (mut sums, mut plain) = (PrefixSums::default(), Vec::<Size>::new());
        for step in 0..100_000 {
            let size = Size::of(prng.below(1 << 20));
            match prng.below(8) {
                0..4 if plain.len() < 9_000 => {
                    sums.push(size);
                    plain.push(size);
                }
                4 => {
                    sums.pop();
                    plain.pop();
                }
                _ if !plain.is_empty() => {
                    let at = prng.below(plain.len() as u64) as usize;
                    sums.set(at, size);
                    plain[at] = size;
                }
                _ => {}
            }
            if step % 97 == 0 && !plain.is_empty() {
                let at = prng.below(plain.len() as u64) as usize;
                let brute: u64 = plain[..=at].iter().map(|&size| u64::from(size)).sum();
                assert_eq!(sums.through(at), brute, "through {at} of {}", plain.len());
            }
        }
    }
}
