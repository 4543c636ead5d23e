//! The offer of an item to whoever judges what compression costs and gains.
//!
//! A shard knows its items, and the compression thread knows how far values shrink and how long
//! that takes. The walk through a page shows each item to the judge while the shard is locked.

use crate::compression::decision::Facts;
use crate::items::sizes::size_classes::SizeClasses;
use base::TenantId;

/// The reason to look at an item.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    /// It is compressed, and used too often for that.
    Plain,
    /// It is to be compressed, again or at first, or to be a sample, or both.
    Work { facts: Facts, is_sample: bool },
}

/// An item that may be compressed, or that is.
#[derive(Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) tenant: TenantId,
    /// Bytes of its plain value, and of its value as it is stored.
    pub(crate) len: usize,
    pub(crate) stored: usize,
    pub(crate) is_compressed: bool,
    /// The dictionary that it is compressed with; 0 for none.
    pub(crate) dictionary: u16,
    /// The facts that the shard knows; times, weight and savings are still zero.
    pub(crate) facts: Facts,
    pub(crate) head: u64,
    pub(crate) classes: &'a SizeClasses,
}

impl Offer<'_> {
    /// Bytes charged with a value of this length.
    pub(crate) fn charge(&self, len: usize) -> u64 {
        self.classes.charge(self.head + len as u64)
    }
}

/// Knows what compression costs and gains.
pub(crate) trait Judge {
    /// Whether a tenant needs memory.
    fn wants(&self, tenant: TenantId) -> bool;

    /// The reason to look at an item, if there is any.
    fn judge(&mut self, offer: &Offer<'_>) -> Option<Verdict>;
}
