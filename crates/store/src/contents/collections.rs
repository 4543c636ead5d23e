//! Collections of a shard: trees that items own, and trees of removed items.

use crate::Key;
use crate::bytes::account::Account;
use crate::bytes::freed::Freed;
use crate::contents::contents::Contents;
use crate::items::table::item_table::Slot;
use crate::items::trees::tree::Tree;
use crate::items::trees::trees::{has_tree, number};
use crate::tenant::tenant::TenantShard;
use base::TenantId;
use std::sync::Arc;

impl Contents {
    /// Whether any tenant may have a collection.
    pub(crate) const fn has_trees(&self) -> bool {
        self.has_trees
    }

    /// Stores a tree whose bytes are charged, and returns its number.
    pub(crate) fn add_tree(&mut self, key: &Key<'_>, tree: Box<Tree>) -> u32 {
        self.has_trees = true;
        self.tenant_mut(key.tenant).trees.add(tree, key.hash)
    }

    /// The penalty class of a collection's item, the number of its tree, and its word in the table.
    pub(crate) fn collection(&self, tenant: TenantId, place: Slot) -> Option<(u8, u32, usize)> {
        let table = &self.tenant(tenant).table;
        let item = table.get(place);
        let is_one = has_tree(item.kind());
        is_one.then(|| (item.stamps().penalty_class(), number(item.value()), table.word(place)))
    }

    /// Changes the tree of an item of this penalty class by `f`. `reserved` bytes are reserved for
    /// its growth. Returns the result of `f`, and what is free afterwards.
    pub(crate) fn change_tree<R>(
        &mut self,
        tenant: TenantId,
        (class, number): (u8, u32),
        reserved: u64,
        f: impl FnOnce(&mut Tree) -> R,
    ) -> Option<(R, Freed)> {
        let tenant = self.tenant_mut(tenant);
        let (result, before, after) = tenant.trees.change(number, f)?;
        tenant.tree_grows(class, before, after);
        Some((result, tenant.account.release(reserved + before - after)))
    }

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

    /// Frees a few leaves of a dying tree, of one tenant or of any.
    pub(crate) fn free_leaves(&mut self, own: Option<TenantId>) -> Freed {
        if !self.has_trees {
            return Freed::NOTHING;
        }
        for (at, tenant) in self.tenants.iter_mut().enumerate() {
            if own.is_none_or(|own| usize::from(own) == at) {
                let freed = tenant.trees.take_apart(&tenant.account);
                if freed > 0 {
                    return tenant.account.release(freed);
                }
            }
        }
        Freed::NOTHING
    }
}
