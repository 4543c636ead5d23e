//! Dumping a tenant to a disk and loading it back, in virtual time.
//!
//! A copy is older than any later change of its key: a key that is written, removed or fetched
//! meanwhile keeps its new state.

use super::{Item, SimulatedPlant};
use base::{Bytes, TenantId, Tick};
use std::collections::HashMap;

/// Copies of items, from a valley to the next peak.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// Copies by tenant and key: class, item, and the accesses for which it had been idle.
    pub(super) items: HashMap<(usize, u64), (u8, Item, u64)>,
    /// Order of the copies, with the most used last.
    order: Vec<(usize, u64)>,
}

impl SimulatedPlant {
    /// Copies the items of a tenant to the disk. Any later change of a key makes its copy obsolete.
    pub fn dump(&mut self, tenant: TenantId) {
        let at = usize::from(tenant);
        self.disk.items.retain(|(of, _), _| *of != at);
        for (bucket, class) in self.members[at].buckets.iter().zip(0u8..) {
            for item in &bucket.items {
                let idle = self.tick.since(item.last);
                self.disk.items.insert((at, item.key), (class, *item, idle));
            }
        }
        let hits = |name: &(usize, u64)| self.disk.items[name].1.hits;
        let mut order: Vec<_> = self.disk.items.keys().copied().collect();
        order.sort_by_key(|name| (hits(name), *name));
        self.disk.order = order;
    }

    /// Loads items back from the disk, up to `most` bytes, the most used first. It leaves out items
    /// that are resident, and those that were written, removed or expired meanwhile. Returns false
    /// when no item is left, or no room.
    pub fn load(&mut self, most: Bytes) -> bool {
        let mut left = most;
        while let Some((at, key)) = self.disk.order.pop() {
            let Some((class, item, idle)) = self.disk.items.remove(&(at, key)) else { continue };
            let size = Bytes(u64::from(item.size));
            let is_dead = item.expires <= self.now;
            if is_dead || self.members[at].places.contains_key(&key) {
                continue;
            }
            if !self.make_room(at, class, size) {
                return false;
            }
            let last = Tick(self.tick.0.saturating_sub(idle));
            self.put(at, class, Item { last, born: last, ..item });
            left = left.saturating_sub(size);
            if left == Bytes(0) {
                return true;
            }
        }
        false
    }
}
