//! Counters of the lifetimes that end in the live store, which its threads share.

use super::hit_class::{KEPT, row};
use super::model::{AGES, APP_CLASSES, bucket};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Lifetimes that ended since the last take: by class and age, separately for hits and other ends.
#[derive(Debug)]
pub struct Lived {
    apps: usize,
    /// Separate from `ends`: hits come many at a time, and then a cache line with other counts is
    /// no use.
    pub(super) hits: Box<[AtomicU32]>,
    pub(super) ends: Box<[AtomicU32]>,
}

impl Lived {
    /// Zero counts; tenants beyond sixteen share classes.
    pub fn new(tenants: usize) -> Self {
        let apps = tenants.clamp(1, APP_CLASSES);
        let none = || (0..apps * KEPT * AGES).map(|_| AtomicU32::new(0)).collect();
        Self { apps, hits: none(), ends: none() }
    }

    /// Bytes that it takes for this number of tenants.
    pub const fn bytes(tenants: usize) -> u64 {
        let apps = if tenants > APP_CLASSES { APP_CLASSES } else { tenants };
        (apps * KEPT * AGES * 2 * size_of::<AtomicU32>()) as u64
    }

    /// Counts a lifetime that ended at this age, in a hit or otherwise.
    #[inline]
    pub fn count(&self, tenant: u16, class: u8, age: u32, hit: bool) {
        let at = row(self.apps, tenant, class) * AGES + bucket(age);
        let count = if hit { &self.hits[at] } else { &self.ends[at] };
        // A thread that counts alone loses no count, and does not pay for an atomic addition.
        count.store(count.load(Relaxed).saturating_add(1), Relaxed);
    }
}
