//! Trees that become items.

use crate::contents::need::Need;
use crate::items::item::Parts;
use crate::items::table::item_table::Slot;
use crate::items::trees::tree::Tree;
use crate::items::trees::trees::TREE;
use crate::items::view::Saved;
use crate::shard::shard::Shard;
use crate::victims::budget::Around;
use crate::{Change, Error, Key, Now};
use base::TenantId;
use base::penalty::CLASSES;

impl Shard {
    /// Reserves `step` bytes for a tree that will have at least `all` bytes, and that the item of a
    /// key will own. The item that the tree replaces is spared, unless there cannot be room for
    /// both. `is_charged` says that the store's counter has the bytes already.
    pub(crate) fn reserve_for_tree(
        &mut self,
        around: &Around<'_>,
        key: &Key<'_>,
        (all, step): (u64, u64),
        is_charged: bool,
        now: Now,
    ) -> Result<(), Error> {
        let (contents, budget) = (self.contents_mut(), around.budget);
        budget.check_fit(contents, key.tenant, all)?;
        let pinned = contents.find(key, now, &budget.memory).map_or(0, |place| {
            let tenant = contents.tenant(key.tenant);
            let old = tenant.charge_of(tenant.table.get(place));
            let both = budget.check_fit(contents, key.tenant, old.saturating_add(all));
            if both.is_ok() { tenant.table.word(place) } else { 0 }
        });
        let need = Need { is_charged, ..Need::bytes(key.tenant, step, pinned) };
        self.reserve(around, &need, now).map(drop)
    }

    /// Does the work of [`Shard::load_back`] for a collection whose tree is already charged. On
    /// failure returns the tree, still charged.
    pub(crate) fn load_tree_back(
        &mut self,
        around: &Around<'_>,
        key: &Key<'_>,
        saved: &Saved<'_>,
        tree: Box<Tree>,
        now: Now,
    ) -> Result<(), (Option<Box<Tree>>, Error)> {
        let bytes = tree.bytes();
        let number = self.contents_mut().add_tree(key, tree);
        let value = [&number.to_le_bytes(), saved.value].concat();
        let back = Saved { value: &value, kind: saved.kind | TREE, ..*saved };
        let done = self.load_back(around, key, &back, now);
        let tenant = self.contents_mut().tenant_mut(key.tenant);
        if let Err(error) = done {
            return Err((tenant.trees.take(number), error));
        }
        tenant.class_enters(saved.penalty_class.min(CLASSES), bytes);
        Ok(())
    }

    /// Makes an item of a tree whose bytes are already charged, with a note after its number. On
    /// failure returns the tree, still charged.
    pub(crate) fn insert_tree(
        &mut self,
        around: &Around<'_>,
        key: &Key<'_>,
        place: Option<Slot>,
        tree: Box<Tree>,
        (kind, note, expires): (u8, &[u8], Option<u64>),
        now: Now,
    ) -> Result<(), (Option<Box<Tree>>, Error)> {
        let bytes = tree.bytes();
        let number = self.contents_mut().add_tree(key, tree);
        let value = [&number.to_le_bytes(), note].concat();
        let change = Change::Hold { value: value.into(), kind: kind | TREE, expires };
        let done = self.apply(around, key, place, &change, now);
        let contents = self.contents_mut();
        if let Err(error) = done {
            return Err((contents.tenant_mut(key.tenant).trees.take(number), error));
        }
        let class =
            contents.place(key).map_or(0, |at| contents.get(key, at).stamps().penalty_class());
        contents.tenant_mut(key.tenant).class_enters(class, bytes);
        Ok(())
    }

    /// Turns a copy back into an item of the same age. It makes room like any write, but does not
    /// count as a request.
    pub(crate) fn load_back(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        saved: &Saved,
        now: Now,
    ) -> Result<(), Error> {
        around.budget.check_value(saved.value.len())?;
        let (contents, room) = self.parts();
        // Each is an operation of its own, although it is not an access.
        room.begin_operation();
        let stamps = contents.stamps_of_saved(key, saved);
        let parts = Parts::of(key, saved.value, saved.kind, saved.expires);
        let parts = Parts { is_compressed: saved.is_compressed, ..parts };
        self.insert(around, key, &parts, stamps, now)
    }

    /// Ensures that the index of a tenant takes a step's items without growing.
    pub(crate) fn room_in_index(
        &mut self,
        around: &Around<'_>,
        at: TenantId,
        now: Now,
    ) -> Result<(), Error> {
        let (contents, room) = self.parts();
        if let Some((capacity, bytes)) = contents.need_of_index(at) {
            room.begin_operation();
            room.reserve(contents, around, &Need::bytes(at, bytes, 0), now)?;
            around.budget.memory.take_back(contents.widen_index(at, capacity, bytes));
        }
        Ok(())
    }
}
