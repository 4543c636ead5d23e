//! The division of memory into shards, pages and classes for a limit.

use crate::bytes::config::Slab;
use crate::items::sizes::size_classes::SizeClasses;

/// Least and most bytes of a page, by default. The items of one page are removed in far less than a
/// millisecond.
const PAGE_MIN: u64 = 4 << 10;
const PAGE_MAX: u64 = 64 << 10;
/// Least number of pages of a tenant in a shard, by default, and the number wanted for larger
/// pages. With fewer pages, some of thirty classes have one or two and cannot lose half of them.
pub(crate) const PAGES: u64 = 64;
/// If pages are short, some classes have longer pages: by this factor at most, and with at most
/// this many bytes.
const LONGER: u64 = 4;
const LONGEST: u64 = 16 << 10;
/// Growth factors for so few pages that not every class could have several.
const COARSE: [(u64, f64); 2] = [(24, 2.0), (48, 1.5)];

/// Most bytes of a page of a fitted class.
const FITTED_MAX: u64 = 256 << 10;
const PAGE_MID: u64 = 32 << 10;
const PAGES_WANTED: u64 = 1024;

/// Bytes of a store from which on it has the configured number of shards. Below, each shard has at
/// least the second number of bytes. With less memory, divided among classes, each class would have
/// too few items to measure their worth.
const SHARDED: u64 = 256 << 20;
const SHARD_MIN: u64 = 16 << 20;

impl Slab {
    /// The suitable bytes of a page, for a tenant with `bytes` bytes in a shard.
    fn suits(bytes: u64) -> u64 {
        let page = (bytes / PAGES_WANTED).max(PAGE_MID.min(bytes / PAGES)).max(1);
        page.next_power_of_two().clamp(PAGE_MIN, PAGE_MAX)
    }

    /// The number of shards of a store with a limit of `limit` bytes, 0 for none, if `asked` shards
    /// are configured. If there are few pages, all classes need to be balanced in one shard.
    pub(crate) fn shards(&self, limit: u64, asked: usize) -> usize {
        if self.page > 0 || limit == 0 || limit >= SHARDED {
            return asked;
        }
        asked.min(1 << (limit / SHARD_MIN).max(1).ilog2())
    }

    /// The classes for a store with this limit in bytes, 0 for none, and with these shards and
    /// tenants.
    pub(crate) fn classes(&self, limit: u64, shards: usize, tenants: usize) -> SizeClasses {
        let bytes = if limit == 0 { u64::MAX } else { limit / (shards * tenants.max(1)) as u64 };
        let page = match self.page {
            0 => Self::suits(bytes),
            page => page.next_power_of_two().max(PAGE_MIN),
        };
        let factor = if self.factor > 1.0 { self.factor } else { Self::default().factor };
        let coarse = COARSE.iter().find(|(pages, _)| bytes / page < *pages);
        SizeClasses::new(
            page,
            (LONGER * page).min(page.max(LONGEST)),
            self.chunk_min.clamp(32, 1 << 16),
            coarse.map_or(factor, |(_, coarse)| factor.max(*coarse)),
        )
    }
}

impl Slab {
    /// Most bytes of a fitted page: not more than the configured length of a page.
    pub(crate) const fn page_max(&self) -> u64 {
        if self.page > 0 { self.page } else { FITTED_MAX }
    }
}
