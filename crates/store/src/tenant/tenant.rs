//! Tenants, which own items: an [`Account`] shared by all shards, and in each shard a
//! [`TenantShard`] with the items.

use crate::bytes::account::Account;
use crate::bytes::freed::Freed;
use crate::bytes::stats::{Counters, Len};
use crate::compression::counts::Compressed;
use crate::compression::work::CodecWork;
use crate::items::dump_index::DumpIndex;
use crate::items::item::{Owned, Ref};
use crate::items::pages::pages::Pages;
use crate::items::pages::victim::Victim;
use crate::items::table::item_table::{ItemTable, Slot};
use crate::items::trees::tree::Tree;
use crate::items::trees::trees::{Trees, has_tree, number};
use crate::items::wheel::Wheel;
use crate::learning::penalty_classes::PenaltyClassCounts;
use crate::learning::removals::Removals;
use std::sync::Arc;

/// One tenant in one shard.
pub(crate) struct TenantShard {
    pub(crate) table: ItemTable,
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
    pub(crate) away: Option<Box<DumpIndex>>,
    pub(crate) compressed: Compressed,
}

impl TenantShard {
    /// Bytes that a tenant takes in a shard without any item.
    pub(crate) const fn fixed_bytes() -> u64 {
        size_of::<Self>() as u64
    }

    pub(crate) fn new(account: Arc<Account>, pages: Pages, work: &Arc<CodecWork>) -> Self {
        Self {
            table: ItemTable::default(),
            pages,
            trees: Trees::default(),
            counters: Counters::default(),
            account,
            classes: None,
            wheel: None,
            lens: vec![],
            removals: None,
            away: None,
            compressed: Compressed::new(work),
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
    pub(crate) fn copy(&mut self, place: Slot, more: &[u8], expires: Option<u64>) -> Owned {
        let item = self.table.get(place);
        self.pages.write(&item.parts([item.value(), more], expires), item.stamps())
    }

    /// Replaces an item by one with the same key; its tree stays.
    pub(crate) fn exchange(&mut self, place: Slot, hash: u64, item: Owned) -> Freed {
        let new = self.chunk_of(item.view());
        if item.view().is_compressed() {
            self.compressed.enters(item.view().value());
        }
        let old = self.table.swap(place, hash, item);
        if old.view().is_compressed() {
            self.compressed.leaves(old.view().value());
        }
        let class = old.view().stamps().penalty_class();
        self.class_leaves(class, self.chunk_of(old.view()));
        self.class_enters(class, new);
        let bytes = self.pages.free(old);
        self.account.release(bytes)
    }

    /// Moves an item to another page of its class that has room.
    pub(crate) fn moves(&mut self, class: usize, index: usize, chosen: &Victim) {
        let place = self.table.find_address(chosen.hash, chosen.addr);
        let place = place.expect("every item is in the table");
        let expires = self.table.get(place).expires();
        let copy = self.copy(place, b"", expires);
        let old = self.table.swap(place, chosen.hash, copy);
        self.pages.vacate(old);
        self.pages.close(class, index);
    }

    /// Removes an item. Returns it, and the bytes of the table and of its tree that are free now.
    pub(crate) fn take(&mut self, place: Slot) -> (Owned, u64) {
        let (item, mut bytes) = self.table.remove(place);
        let view = item.view();
        if let Some(len) = self.lens.get_mut(usize::from(view.db())) {
            len.items -= 1;
            len.expires -= u64::from(view.expires().is_some());
        }
        if view.is_compressed() {
            self.compressed.leaves(view.value());
        }
        let class = view.stamps().penalty_class();
        let charge = self.charge_of(view);
        self.class_leaves(class, charge);
        if has_tree(view.kind()) {
            bytes += self.trees.discard(number(view.value()), &self.account);
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
    pub(crate) fn take_table(&mut self) -> (ItemTable, Pages, Trees) {
        self.wheel = None;
        self.lens.fill(Len::default());
        self.classes_empty();
        self.compressed.clear();
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

impl TenantShard {
    /// Updates the class's bytes after the tree of an item has changed.
    pub(crate) fn tree_grows(&mut self, class: u8, before: u64, after: u64) {
        self.class_enters(class, after);
        self.class_leaves(class, before);
    }

    /// Discards the tree of an item of this class; the item stays.
    pub(crate) fn discard_tree(&mut self, class: u8, number: u32) -> Freed {
        let bytes = self.trees.get(number).map_or(0, Tree::bytes);
        self.class_leaves(class, bytes);
        let bytes = self.trees.discard(number, &self.account);
        self.account.release(bytes)
    }
}
