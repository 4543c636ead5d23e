//! The class of a key from its past: the mean interval between its hits, and their number or its
//! size.
//!
//! Three fields of a live item's [stamps](crate::rank::Stamps) suffice. Two of them are here,
//! without the time of the last use: the birth, in steps of 512 requests, and the number of hits. A
//! watched key and an evicted one keep the same two, so simulator, store and learner class a key
//! alike.
//!
//! A class is the octave of the mean interval, and a part of it. For keys never hit, the part is
//! their size relative to the mean size. For others it is the number of hits, as a mean of many
//! intervals is more reliable.
//!
//! ```text
//! part          0           1            2          3
//! never hit     below 1/4   1/4 to 1     1 to 4     4 mean sizes and more
//! hit           once        2 to 3       4 and more
//! ```
//!
//! Ages fall into buckets, eight an octave. With eight added, the first bits of an age as a float
//! are its bucket, so a processor finds several buckets at once.
//!
//! ```text
//! age       0  1 …  7 │  8  10 …  22 │ 24  28 …  52 │ 56 …
//! width     1  1 …  1 │  2   2 …   2 │  4   4 …   4 │  8 …
//! bucket    0  1 …  7 │  8   9 …  15 │ 16  17 …  23 │ 24 …
//! ```

/// One step of a birth, in requests, as a power of two.
pub const BORN_STEP: u32 = 9;
/// Interval classes: never hit, and the octaves of the mean interval between hits.
pub(super) const OCTAVES: usize = 32;
/// Parts of an interval class.
pub(super) const PARTS: usize = 4;
/// Classes: part by part, the interval classes of each.
pub const CLASSES: usize = PARTS * OCTAVES;
/// Buckets of ages: all below 2^31 requests.
pub const AGES: usize = 28 << FRACTION;

/// Buckets an octave, as a power of two.
pub(super) const FRACTION: u32 = 3;
/// The width of the buckets of the first octave is one.
const FIRST: u32 = 1 << FRACTION;
/// Ages from here on share one bucket; the rest below 2^31 allows for a float that rounds up.
const AGE_MAX: u32 = (1 << 31) - 1024;
/// Longer lives, in steps, are halved before they wrap.
const LIFE_MAX: u16 = 1 << 15;

/// The class of an item by the mean interval between its hits: 0 without a hit, else the octave of
/// the interval plus one.
#[inline]
pub const fn interval_class(last_minus_born: u32, hits: u8) -> u8 {
    if hits == 0 {
        return 0;
    }
    let (time, hits) = (last_minus_born, hits as u32);
    // The octave of the quotient, without a division.
    let octave = (time | 1).ilog2().saturating_sub(hits.ilog2());
    let below = octave > 0 && time >> octave < hits;
    let class = 1 + octave - below as u32;
    if class < OCTAVES as u32 { class as u8 } else { OCTAVES as u8 - 1 }
}

/// The size class relative to the mean size: below a quarter, below one, below four times, or more.
#[inline]
pub fn size_class(size: f32, mean: f32) -> u8 {
    u8::from(4.0 * size >= mean) + u8::from(size >= mean) + u8::from(size >= 4.0 * mean)
}

/// The class of an item with this interval class, number of hits and size class.
#[inline]
pub const fn class_of(octave: u8, hits: u8, size_class: u8) -> u8 {
    let part = if hits == 0 { size_class } else { (if hits < 4 { hits } else { 4 }).ilog2() as u8 };
    octave + part % PARTS as u8 * OCTAVES as u8
}

/// The interval class of a class.
pub(super) const fn octave_of(class: usize) -> usize {
    class % OCTAVES
}

/// The bucket of an age in requests.
#[inline]
pub const fn bucket(age: u32) -> usize {
    const fn top(age: u32) -> u32 {
        (age as i32 as f32).to_bits() >> (f32::MANTISSA_DIGITS - 1 - FRACTION)
    }
    let age = if age < AGE_MAX { age } else { AGE_MAX };
    (top(age + FIRST) - top(FIRST)) as usize
}

const _: () = assert!(bucket(0) == 0 && bucket(u32::MAX) == AGES - 1);

/// Requests that a bucket spans.
pub(super) const fn width(bucket: usize) -> u32 {
    1 << (bucket >> FRACTION)
}

/// The youngest age of a bucket.
pub(super) const fn age_of(bucket: usize) -> u32 {
    ((FIRST + bucket as u32 % FIRST) << (bucket >> FRACTION)) - FIRST
}

/// The birth of a key, to a step, and its hits since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    /// The birth in steps of 512 requests, wrapping.
    pub born: u16,
    /// The number of hits, halved before it overflows.
    pub hits: u8,
}

impl Past {
    /// The past of a key at its first use.
    #[inline]
    pub const fn new(now: u64) -> Self {
        Self { born: (now >> BORN_STEP) as u16, hits: 0 }
    }

    /// Counts a hit at `now`. Where the hits or the life would overflow, both are halved: the mean
    /// interval stays, and new hits weigh more.
    #[inline]
    pub const fn hit(&mut self, now: u64) {
        let step = (now >> BORN_STEP) as u16;
        let life = step.wrapping_sub(self.born);
        self.hits = self.hits.saturating_add(1);
        if self.hits == u8::MAX || life > LIFE_MAX {
            self.hits = if self.hits > 1 { self.hits / 2 } else { 1 };
            self.born = step.wrapping_sub(life / 2);
        }
    }

    /// The interval class of a key with its last use at `last`.
    #[inline]
    pub const fn octave(self, last: u32) -> u8 {
        let steps = ((last >> BORN_STEP) as u16).wrapping_sub(self.born);
        interval_class((steps as u32) << BORN_STEP, self.hits)
    }

    /// The class of a key with its last use at `last` and this size class.
    #[inline]
    pub const fn class(self, last: u32, size_class: u8) -> u8 {
        class_of(self.octave(last), self.hits, size_class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_is_the_octave_of_the_mean_interval() {
        for hits in [1u8, 2, 3, 5, 7, 100, 254] {
            for time in (0..3_000).chain([1 << 20, (1 << 28) - 1, u32::MAX]) {
                let interval = (time / u32::from(hits)).max(1);
                let want = (1 + interval.ilog2()).min(31) as u8;
                assert_eq!(interval_class(time, hits), want, "{time} / {hits}");
            }
        }
        assert_eq!(interval_class(1_000, 0), 0);
    }

    #[test]
    fn a_class_is_an_octave_and_a_part_of_it() {
        let sizes = [10.0, 24.9, 25.0, 99.0, 100.0, 399.0, 400.0, 1e9];
        assert_eq!(sizes.map(|size| size_class(size, 100.0)), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!([0, 1, 2, 3].map(|size| class_of(0, 0, size)), [0, 32, 64, 96]);
        assert_eq!([1, 2, 3, 4, 200].map(|hits| class_of(9, hits, 3)), [9, 41, 41, 73, 73]);
        assert!(usize::from(class_of(31, 0, 3)) < CLASSES && octave_of(73) == 9);
    }

    /// Every age has its bucket, buckets are adjacent, and none is wider than an eighth of its age
    /// plus one.
    #[test]
    fn buckets_cover_all_ages() {
        let mut start = 0u64;
        for at in 0..AGES {
            let width = u64::from(width(at));
            assert_eq!(u64::from(age_of(at)), start);
            assert_eq!(bucket(start as u32), at);
            // A float of many bits may round up.
            let last = start + width - 1 - (start >> 20);
            assert_eq!(bucket(last as u32), at);
            assert!(width == 1 || width << FRACTION <= start + 8, "{at}: {width} at {start}");
            start += width;
        }
        assert_eq!(start, (1 << 31) - 8);
    }

    #[test]
    fn a_key_hit_for_ever_keeps_its_class() {
        for interval in [70_000u64, 1 << 22] {
            let mut past = Past::new(0);
            let classes: Vec<u8> = (1..2_000)
                .map(|hit| {
                    past.hit(hit * interval);
                    past.octave((hit * interval) as u32)
                })
                .collect();
            let want = 1 + interval.ilog2() as u8;
            // Halving and steps can shift the result by one octave at a power of two.
            assert!(classes.iter().all(|&class| class.abs_diff(want) <= 1), "{classes:?}");
        }
    }
}
