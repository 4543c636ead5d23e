//! The bytes of one tenant in all shards, its bounds, and the times of its fetches.

use crate::Bounds;
use crate::bytes::freed::Freed;
use crate::bytes::measured::{Measured, SLOTS};
use crate::sync::shim::{AtomicBool, AtomicU64, Mutex, Padded, try_add};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The bytes of one tenant in all shards, its bounds, and the times of its fetches.
#[derive(Debug)]
pub(crate) struct Account {
    used: Padded<AtomicU64>,
    min: AtomicU64,
    /// `u64::MAX` for no max.
    max: AtomicU64,
    /// Bytes of items by penalty class, while they are counted.
    classes: [AtomicU64; SLOTS],
    /// Whether classes come from hints and not from measurements.
    hinted: AtomicBool,
    /// Large collections without an item: those still to be freed, and those freed.
    dying_trees: AtomicU64,
    freed_trees: AtomicU64,
    /// A leaf lock: it is taken under a shard's lock, and no lock is taken under it.
    pub(crate) measured: Mutex<Measured>,
}

impl Account {
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        let account = Self {
            used: Padded::default(),
            min: AtomicU64::new(0),
            max: AtomicU64::new(0),
            classes: std::array::from_fn(|_| AtomicU64::new(0)),
            hinted: AtomicBool::new(false),
            dying_trees: AtomicU64::new(0),
            freed_trees: AtomicU64::new(0),
            measured: Mutex::default(),
        };
        account.set_bounds(bounds);
        Arc::new(account)
    }

    pub(crate) fn set_bounds(&self, bounds: Bounds) {
        self.min.store(bounds.min.0, Relaxed);
        self.max.store(bounds.max.map_or(u64::MAX, |max| max.0), Relaxed);
    }

    /// Bytes of the items of a class.
    #[inline]
    pub(crate) fn class(&self, class: u8) -> &AtomicU64 {
        &self.classes[usize::from(class).min(SLOTS - 1)]
    }

    pub(crate) fn set_hinted(&self, hinted: bool) {
        self.hinted.store(hinted, Relaxed);
    }

    pub(crate) fn is_hinted(&self) -> bool {
        self.hinted.load(Relaxed)
    }

    /// Notes a large collection without an item, to be freed later.
    pub(crate) fn tree_dies(&self) {
        self.dying_trees.fetch_add(1, Relaxed);
    }

    /// Notes that large collections without an item are freed.
    pub(crate) fn trees_are_freed(&self, trees: u64) {
        self.dying_trees.fetch_sub(trees, Relaxed);
        self.freed_trees.fetch_add(trees, Relaxed);
    }

    /// Counts the freed ones from 0 again.
    pub(crate) fn forget_freed_trees(&self) {
        self.freed_trees.store(0, Relaxed);
    }

    /// Large collections without an item: the number still to be freed, and of those freed.
    pub(crate) fn trees_without_item(&self) -> (u64, u64) {
        (self.dying_trees.load(Relaxed), self.freed_trees.load(Relaxed))
    }

    #[inline]
    pub(crate) fn used(&self) -> u64 {
        self.used.0.load(Relaxed)
    }

    #[inline]
    pub(crate) fn max(&self) -> u64 {
        self.max.load(Relaxed)
    }

    /// Bytes in use above the max, after it was lowered.
    pub(crate) fn excess(&self) -> u64 {
        self.used().saturating_sub(self.max())
    }

    /// Whether the use, with `bytes` more, stays within the min that is protected from other
    /// tenants.
    #[inline]
    pub(crate) fn is_below_min(&self, bytes: u64) -> bool {
        let min = self.min.load(Relaxed);
        min > 0 && self.used() + bytes <= min
    }

    /// Bytes that other tenants can never evict.
    pub(crate) fn protected(&self) -> u64 {
        self.used().min(self.min.load(Relaxed))
    }

    /// Bytes that other tenants may evict.
    #[inline]
    pub(crate) fn loose(&self) -> u64 {
        self.used().saturating_sub(self.min.load(Relaxed))
    }

    /// Takes `bytes` in any case, independent of writes.
    pub(crate) fn take(&self, bytes: u64) {
        self.used.0.fetch_add(bytes, Relaxed);
    }

    /// Reserves `bytes`, or nothing if the max does not allow it.
    #[inline]
    pub(crate) fn try_take(&self, bytes: u64) -> bool {
        match self.max() {
            u64::MAX => {
                self.used.0.fetch_add(bytes, Relaxed);
                true
            }
            max => try_add(&self.used.0, bytes, max),
        }
    }

    /// Gives `bytes` back.
    #[inline]
    pub(crate) fn give(&self, bytes: u64) {
        if bytes > 0 {
            self.used.0.fetch_sub(bytes, Relaxed);
        }
    }

    /// Gives `bytes` back, for the store's counter to follow.
    #[inline]
    pub(crate) fn release(&self, bytes: u64) -> Freed {
        self.give(bytes);
        Freed::new(bytes)
    }

    /// Gives `bytes` back in favour of another tenant, or nothing if the min forbids it.
    #[inline]
    pub(crate) fn try_release(&self, bytes: u64) -> Option<Freed> {
        let min = self.min.load(Relaxed);
        let above = |used: u64| used.checked_sub(bytes).filter(|&rest| rest >= min);
        let given = self.used.0.fetch_update(Relaxed, Relaxed, above);
        given.is_ok().then(|| Freed::new(bytes))
    }
}
