//! Copies of items on a disk, from a valley of a tenant's load to the next peak.
//!
//! A copy is older than any later change of its key: a key that is written, removed or fetched
//! meanwhile keeps its new state.

use super::item::Item;
use base::Tick;
use std::collections::HashMap;

/// A copy of an item: its class, the item, and the accesses for which it had been idle.
type Copied = (u8, Item, u64);

/// Copies of items, by tenant and key.
#[derive(Debug, Default)]
pub(super) struct Disk {
    items: HashMap<(usize, u64), Copied>,
    /// Order of the copies, with the most used last.
    order: Vec<(usize, u64)>,
}

impl Disk {
    /// Replaces the copies of a tenant by copies of these items, each with its class.
    pub(super) fn copy(&mut self, at: usize, items: impl Iterator<Item = (u8, Item)>, now: Tick) {
        self.items.retain(|(of, _), _| *of != at);
        for (class, item) in items {
            let idle = now.since(item.last);
            self.items.insert((at, item.key), (class, item, idle));
        }
        let hits = |name: &(usize, u64)| self.items[name].1.hits;
        let mut order: Vec<_> = self.items.keys().copied().collect();
        order.sort_by_key(|name| (hits(name), *name));
        self.order = order;
    }

    /// Removes the copy of a key, which has changed.
    pub(super) fn forget(&mut self, at: usize, key: u64) {
        self.items.remove(&(at, key));
    }

    /// Takes the most used copy, with the number of its tenant.
    pub(super) fn take(&mut self) -> Option<(usize, Copied)> {
        while let Some(name) = self.order.pop() {
            if let Some(copied) = self.items.remove(&name) {
                return Some((name.0, copied));
            }
        }
        None
    }
}
