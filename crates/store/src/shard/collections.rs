//! Collections of a shard: trees that become items, and trees of removed items.

use crate::bytes::account::Account;
use crate::contents::tenant::TenantShard;
use crate::items::table::item_table::Slot;
use crate::items::trees::tree::Tree;
use crate::items::trees::trees::{TREE, has_tree, number};
use crate::items::view::Saved;
use crate::room::budget::Around;
use crate::shard::shard::Shard;
use crate::{Change, Error, Key, Now};
use base::TenantId;
use base::penalty::CLASSES;
use std::sync::Arc;

impl Shard {
    /// The word of the item that a tree of `bytes` bytes replaces, to be spared until then; 0 if
    /// there is none, or if there cannot be room for both.
    pub(crate) fn replaced(
        &mut self,
        around: &Around<'_>,
        key: &Key<'_>,
        bytes: u64,
        now: Now,
    ) -> Result<usize, Error> {
        self.check_item(around, key.tenant, 0, bytes)?;
        let Some(place) = self.find(key, now, &around.budget.memory) else { return Ok(0) };
        let tenant = &self.tenants[usize::from(key.tenant)];
        let held = tenant.charge_of(tenant.table.get(place));
        let fits = self.check_item(around, key.tenant, held, bytes).is_ok();
        Ok(if fits { tenant.table.word(place) } else { 0 })
    }
}

impl Shard {
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
        let number = self.tenants[usize::from(key.tenant)].trees.add(tree, key.hash);
        self.has_trees = true;
        let value = [&number.to_le_bytes(), saved.value].concat();
        let back = Saved { value: &value, kind: saved.kind | TREE, ..*saved };
        let done = self.load_back(around, key, &back, now);
        let tenant = &mut self.tenants[usize::from(key.tenant)];
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
        let tenant = &mut self.tenants[usize::from(key.tenant)];
        let number = tenant.trees.add(tree, key.hash);
        self.has_trees = true;
        let value = [&number.to_le_bytes(), note].concat();
        let change = Change::Hold { value: value.into(), kind: kind | TREE, expires };
        let done = self.apply(around, key, place, &change, now);
        let tenant = &mut self.tenants[usize::from(key.tenant)];
        if let Err(error) = done {
            return Err((tenant.trees.take(number), error));
        }
        let place = tenant.table.find(key.hash, key.db, key.bytes);
        let class = place.map_or(0, |place| tenant.table.get(place).stamps().penalty_class());
        tenant.class_enters(class, bytes);
        Ok(())
    }
}

impl Shard {
    /// Takes the dying trees out, to be freed without the lock.
    pub(crate) fn take_dying(&mut self) -> Vec<(Arc<Account>, Vec<Tree>)> {
        if !self.has_trees {
            return vec![];
        }
        let of = |tenant: &mut TenantShard| {
            (Arc::clone(&tenant.account), std::mem::take(&mut tenant.trees.dying))
        };
        let dying = self.tenants.iter_mut().filter(|tenant| !tenant.trees.dying.is_empty());
        let dying = dying.map(of).collect();
        self.has_trees = self.tenants.iter().any(|tenant| tenant.trees.held > 0);
        dying
    }

    /// The penalty class of a collection's item, the number of its tree, and its word in the table.
    pub(crate) fn collection(&self, tenant: TenantId, place: Slot) -> Option<(u8, u32, usize)> {
        let table = &self.tenants[usize::from(tenant)].table;
        let item = table.get(place);
        let is_one = has_tree(item.kind());
        is_one.then(|| (item.stamps().penalty_class(), number(item.value()), table.word(place)))
    }
}
