//! Tenants, which own items: an [`Account`] shared by all shards, and in each shard a
//! [`TenantShard`] with the items.

use crate::Bounds;
use crate::dump::Away;
use crate::item::{Owned, Ref};
use crate::memory::{Padded, try_add};
use crate::penalty::Measured;
use crate::penalty_classes::{PenaltyClassCounts, SLOTS};
use crate::removal::Removals;
use crate::slab::{Chosen, Pages};
use crate::stats::{Counters, Len};
use crate::sync::{AtomicBool, AtomicU64, Mutex};
use crate::table::{Place, Table};
use crate::trees::{Trees, has_tree, number};
use crate::wheel::Wheel;
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

    /// Gives `bytes` back in favour of another tenant, or nothing if the min forbids it.
    #[inline]
    pub(crate) fn try_give(&self, bytes: u64) -> bool {
        let min = self.min.load(Relaxed);
        let above = |used: u64| used.checked_sub(bytes).filter(|&rest| rest >= min);
        self.used.0.fetch_update(Relaxed, Relaxed, above).is_ok()
    }
}

/// One tenant in one shard.
pub(crate) struct TenantShard {
    pub(crate) table: Table,
    /// The pages with the table's items.
    pub(crate) pages: Pages,
    /// The collections among its items.
    pub(crate) trees: Trees,
    pub(crate) counters: Counters,
    pub(crate) account: Arc<Account>,
    /// Counts of its penalty classes, while pools are made of them.
    pub(crate) classes: Option<Box<PenaltyClassCounts>>,
    /// Expiries of its items, once any item has one.
    pub(crate) wheel: Option<Box<Wheel>>,
    /// Counts by database, up to the last one that has had an item.
    lens: Vec<Len>,
    /// Reports removals, while there is a caller or a listener for them.
    pub(crate) removals: Option<Box<Removals>>,
    /// The index of dumped copies, while there are any.
    pub(crate) away: Option<Box<Away>>,
}

impl TenantShard {
    /// Bytes that a tenant takes in a shard without any item.
    pub(crate) const fn fixed_bytes() -> u64 {
        size_of::<Self>() as u64
    }

    pub(crate) fn new(account: Arc<Account>, pages: Pages) -> Self {
        Self {
            table: Table::default(),
            pages,
            trees: Trees::default(),
            counters: Counters::default(),
            account,
            classes: None,
            wheel: None,
            lens: vec![],
            removals: None,
            away: None,
        }
    }

    /// Counts an item that is being added.
    #[inline]
    pub(crate) fn enters(&mut self, db: u8, expires: bool) {
        let db = usize::from(db);
        if db >= self.lens.len() {
            self.lens.resize(db + 1, Len::default());
        }
        self.lens[db].items += 1;
        self.lens[db].expires += u64::from(expires);
    }

    /// Bytes of an item, including its tree.
    pub(crate) fn charge_of(&self, item: Ref) -> u64 {
        self.chunk_of(item) + self.trees.bytes_of(item)
    }

    /// Bytes of an item in its page.
    fn chunk_of(&self, item: Ref) -> u64 {
        self.pages.classes().charge(item.contents())
    }

    /// Copies an item, with `more` at its end and this expiry, into a free chunk.
    pub(crate) fn copy(&mut self, place: Place, more: &[u8], expires: Option<u64>) -> Owned {
        let item = self.table.get(place);
        self.pages.write(&item.parts([item.value(), more], expires), item.stamps())
    }

    /// Replaces an item by one with the same key; its tree stays. Returns the bytes that are free
    /// now.
    pub(crate) fn exchange(&mut self, place: Place, hash: u64, item: Owned) -> u64 {
        let new = self.chunk_of(item.view());
        let old = self.table.swap(place, hash, item);
        let class = old.view().stamps().penalty_class();
        self.class_leaves(class, self.chunk_of(old.view()));
        self.class_enters(class, new);
        self.pages.free(old)
    }

    /// Moves an item to another page of its class that has room.
    pub(crate) fn moves(&mut self, class: usize, index: usize, chosen: &Chosen) {
        let place = self.table.find_address(chosen.hash, chosen.addr);
        let place = place.expect("every item is in the table");
        let expires = self.table.get(place).expires();
        let copy = self.copy(place, b"", expires);
        let old = self.table.swap(place, chosen.hash, copy);
        self.pages.vacate(old);
        self.pages.close(class, index);
    }

    /// Removes an item. Returns it, and the bytes of the table and of its tree that are free now.
    pub(crate) fn take(&mut self, place: Place) -> (Owned, u64) {
        let (item, mut bytes) = self.table.remove(place);
        let view = item.view();
        if let Some(len) = self.lens.get_mut(usize::from(view.db())) {
            len.items -= 1;
            len.expires -= u64::from(view.expires().is_some());
        }
        let class = view.stamps().penalty_class();
        let charge = self.charge_of(view);
        self.class_leaves(class, charge);
        if has_tree(view.kind()) {
            bytes += self.trees.discard(number(view.value()));
        }
        (item, bytes)
    }

    /// Updates the counts after an item's expiry was added or removed.
    #[inline]
    pub(crate) fn expiry_changes(&mut self, db: u8, from: bool, to: bool) {
        if let Some(len) = self.lens.get_mut(usize::from(db))
            && from != to
        {
            len.expires = if to { len.expires + 1 } else { len.expires - 1 };
        }
    }

    /// Bytes of the timing wheel.
    pub(crate) fn wheel_bytes(&self) -> u64 {
        self.wheel.as_ref().map_or(0, |wheel| wheel.bytes())
    }

    /// Most bytes that one more expiry needs in the wheel.
    pub(crate) fn wheel_cost(&self) -> u64 {
        let new = || Wheel::default().bytes() + Wheel::default().enter_cost();
        self.wheel.as_ref().map_or_else(new, |wheel| wheel.enter_cost())
    }

    /// Leaves the tenant without items, table, wheel, pages and trees, and returns all of them but
    /// the wheel. The caller gives their bytes back.
    pub(crate) fn take_table(&mut self) -> (Table, Pages, Trees) {
        self.wheel = None;
        self.lens.fill(Len::default());
        self.classes_empty();
        let empty = self.pages.without_pages();
        let pages = std::mem::replace(&mut self.pages, empty);
        (std::mem::take(&mut self.table), pages, std::mem::take(&mut self.trees))
    }

    pub(crate) fn len(&self, db: Option<u8>) -> Len {
        match db {
            Some(db) => self.lens.get(usize::from(db)).copied().unwrap_or_default(),
            None => self.lens.iter().fold(Len::default(), |mut sum, &len| {
                sum += len;
                sum
            }),
        }
    }
}
