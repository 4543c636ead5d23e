//! The decision to compress an item: the waiting that its freed bytes save, against the time that
//! its reads and writes take longer.
//!
//! ```text
//! price · saved · (1 + t_miss / wait)
//!     >  weight · ( reads · t_decompress + writes · t_compress )
//! ```
//!
//! The price of a byte is the worth of the items that the shard would evict next: microseconds of
//! waiting that one byte saves per access. Rates are per access to the shard too, so no clock is
//! needed. A miss that memory saves also saves processor time: that of the lookup and of the write
//! that follows (`t_miss`). The weight converts processor time to waiting. Without a price, because
//! nothing is evicted or no miss was timed, nothing is worth compressing.

/// Turns after which an item that is never used has probably left the cache, in accesses for each
/// item beside it. The first compression is spread over that time.
const STAYS: f64 = 4.0;

/// A compressed item that is used so often that it would cost this many times its gain becomes
/// plain again. The gap keeps items from going back and forth.
const BACK: f64 = 2.0;

/// Microseconds of processor time of a miss and of the write that follows it, for values of some
/// kilobytes (docs/results/compression.md). It is a rough figure, so it counts as waiting at most
/// once, however high the weight: who says that processor time is dear wants less compression.
const MISS_US: f64 = 40.0;

/// An item must become shorter by one part in this many of its charge.
const MUCH: u64 = 8;

/// Whether so many bytes of a charge are worth another form.
pub(crate) const fn is_much(saved: u64, charge: u64) -> bool {
    saved * MUCH >= charge
}

/// The facts about an item that decide whether it is worth compressing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Microseconds of waiting that a free byte saves per access to the shard.
    pub(crate) price: f64,
    /// Microseconds that a miss makes its client wait.
    pub(crate) wait: f64,
    /// Bytes that the item takes less if it is compressed.
    pub(crate) saved: u64,
    /// Reads of the item per access to the shard.
    pub(crate) reads: f64,
    /// Writes of the item for each of its reads.
    pub(crate) writes_per_read: f64,
    /// Microseconds to compress and to decompress it.
    pub(crate) compress_us: f64,
    pub(crate) decompress_us: f64,
    /// Items in the shard.
    pub(crate) items: usize,
    /// Microseconds of waiting that one of processor time counts as.
    pub(crate) weight: f64,
}

impl Facts {
    fn gain(&self) -> f64 {
        let work = self.weight.min(1.0) * MISS_US / self.wait.max(1.0);
        self.price * self.saved as f64 * (1.0 + work)
    }

    fn cost_of_use(&self) -> f64 {
        self.weight * self.reads * (self.decompress_us + self.writes_per_read * self.compress_us)
    }

    /// Whether the item should be compressed.
    pub(crate) fn is_worth(&self) -> bool {
        let first = self.weight * self.compress_us / (STAYS * self.items.max(1) as f64);
        self.price.is_finite() && self.gain() > self.cost_of_use() + first
    }

    /// Whether the item, which is compressed, should be plain.
    pub(crate) fn is_too_hot(&self) -> bool {
        self.price.is_finite() && self.cost_of_use() > BACK * self.gain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A miss costs 1 ms. Victims of 2 KB are hit once in 100 000 accesses; 1 400 bytes are saved.
    fn item(interval: f64) -> Facts {
        Facts {
            price: 1_000.0 / 100_000.0 / 2_000.0,
            wait: 1_000.0,
            saved: 1_400,
            reads: 1.0 / interval,
            writes_per_read: 0.1,
            compress_us: 6.0,
            decompress_us: 3.0,
            items: 10_000,
            weight: 1.0,
        }
    }

    #[test]
    fn a_cold_item_is_compressed_and_a_hot_one_stays_plain() {
        assert!(item(10_000.0).is_worth() && !item(100.0).is_worth());
        assert!(item(100.0).is_too_hot() && !item(10_000.0).is_too_hot());
    }

    #[test]
    fn no_item_is_both_worth_it_and_too_hot() {
        for octave in 0..30 {
            let item = item(f64::from(1 << octave));
            assert!(!(item.is_worth() && item.is_too_hot()), "{octave}");
        }
    }

    #[test]
    fn without_a_price_nothing_is_worth_it() {
        for price in [0.0, f64::NAN, f64::INFINITY] {
            assert!(!Facts { price, ..item(1e9) }.is_worth());
            assert!(!Facts { price, weight: 0.0, ..item(1e9) }.is_worth());
        }
    }

    #[test]
    fn a_higher_weight_keeps_more_items_plain() {
        assert!(item(1_000.0).is_worth());
        assert!(!Facts { weight: 10.0, ..item(1_000.0) }.is_worth());
    }
}
