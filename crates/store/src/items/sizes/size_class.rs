//! Size classes by tenant: their statistics, and moves of pages between them.

use crate::bytes::stats::SizeCounts;
use base::{Bytes, TenantId};
use policy::rank::Victims;

/// A size class of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// The tenant that owns the items.
    pub tenant: TenantId,
    /// Its index in the result of [`Store::size_class_stats`].
    pub class: usize,
}

/// A plan to move pages from one class to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The class that loses the pages.
    pub from: SizeClass,
    /// The class that gets the pages.
    pub to: SizeClass,
    /// Number of pages; a page belongs to one shard.
    pub pages: u64,
}

/// Statistics of a tenant's class, over all shards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SizeClassStats {
    /// Bytes of a chunk; 0 for the last class, whose items have pages to themselves.
    pub chunk: Bytes,
    /// Bytes of a page of the class.
    pub page: Bytes,
    /// Number of pages; a page belongs to one shard.
    pub pages: u64,
    /// Bytes charged for the pages.
    pub bytes: Bytes,
    /// Items.
    pub items: u64,
    /// Chunks without an item.
    pub free: u64,
    /// Items evicted to make room.
    pub evicted: u64,
    /// Recent or next victims: the worth of a byte if ranks measure it, otherwise ages, as negative
    /// numbers.
    pub victims: Victims,
    /// Chunks per page.
    pub slots: u64,
    /// Requests to the class, while [`Store::count_sizes`] is on.
    pub counts: SizeCounts,
}
