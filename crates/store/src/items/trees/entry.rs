//! An entry of a collection, and how it is found.

use std::cmp::Ordering;
use std::fmt;

/// The expiry of entries that never expire.
pub(crate) const NEVER: u64 = u64::MAX;

/// An entry of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key by which entries are ordered first.
    pub rank: u32,
    /// Its expiry, in Unix milliseconds. It is already dead at that millisecond.
    pub dies: Option<u64>,
    /// The value.
    pub body: &'a [u8],
}

impl Entry<'_> {
    /// Whether the entry is dead by `now_ms`.
    pub fn is_dead(&self, now_ms: u64) -> bool {
        self.dies.is_some_and(|dies| dies <= now_ms)
    }
}

/// The description of an entry to find.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    /// Its rank.
    pub rank: u32,
    /// Compares a body of the same rank with the wanted entry.
    pub order: &'a dyn Fn(&[u8]) -> Ordering,
}

impl Probe<'_> {
    pub(crate) fn order_of(&self, entry: &Entry<'_>) -> Ordering {
        entry.rank.cmp(&self.rank).then_with(|| (self.order)(entry.body))
    }
}

impl fmt::Debug for Probe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").field("rank", &self.rank).finish_non_exhaustive()
    }
}

/// The place of an entry in the tree or in a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot<'a> {
    /// The entry that the probe finds.
    Probe(&'a Probe<'a>),
    /// The entry after this many others.
    Position(u64),
    /// A new entry after this many others.
    Before(u64),
}

/// An entry to be written, in place of the one that is found at its spot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct New<'a> {
    pub(crate) spot: Spot<'a>,
    pub(crate) rank: u32,
    pub(crate) dies: Option<u64>,
    pub(crate) body: &'a [u8],
}
