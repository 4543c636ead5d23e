//! Division of pages into chunks: chunk sizes grow by [`Slabs::factor`] from [`Slabs::least`] up to
//! half a page. Above that, an item has a page to itself, and an item larger than a page is not
//! kept.

use base::{Bytes, Size};

/// Sizes of pages and chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slabs {
    /// Bytes of a page.
    pub page: u32,
    /// Bytes of the smallest chunk.
    pub least: u32,
    /// Factor from one chunk size to the next.
    pub factor: f64,
}

impl Default for Slabs {
    /// The sizes of memcached.
    fn default() -> Self {
        Self { page: 1 << 20, least: 96, factor: 1.25 }
    }
}

impl Slabs {
    /// memcached's chunks, with pages of a size at which the limit holds some hundreds of them.
    pub fn within(limit: Bytes) -> Self {
        let page = (limit.0 / 512).next_power_of_two().clamp(1 << 14, 1 << 20);
        Self { page: page as u32, ..Self::default() }
    }

    /// Bytes that an item takes of its page, by class.
    pub fn shares(&self) -> Vec<u32> {
        self.chunks().into_iter().map(|chunk| self.page / (self.page / chunk)).collect()
    }

    /// Bytes that an item of a size takes of its page; the largest number where no page holds it.
    pub fn charge(&self) -> impl Fn(Size) -> Size + use<> {
        let (chunks, shares) = (self.chunks(), self.shares());
        move |size| {
            let class = chunks.partition_point(|&chunk| chunk < size.as_u32());
            shares.get(class).copied().unwrap_or(u32::MAX).into()
        }
    }

    /// The chunk sizes, the smallest first.
    pub fn chunks(&self) -> Vec<u32> {
        let mut chunks = vec![];
        let mut size = f64::from(self.least);
        while size <= f64::from(self.page / 2) && chunks.len() < usize::from(u8::MAX) - 1 {
            // Multiples of eight, as memcached aligns them.
            let chunk = (size as u32).next_multiple_of(8);
            chunks.push(chunk);
            size = (f64::from(chunk) * self.factor).max(f64::from(chunk) + 8.0);
        }
        chunks.push(self.page);
        chunks
    }
}
