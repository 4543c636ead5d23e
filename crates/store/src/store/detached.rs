//! A collection without an item: made, copied or moved without a lock, and charged all the time.

use crate::bytes::account::Account;
use crate::items::trees::entry::{Entry, Probe};
use crate::items::trees::tree::Tree;
use crate::items::view::Saved;
use crate::learning::exit::Exit;
use crate::shard::shard::Shard;
use crate::{Error, Item, Key, Loaded, Now, Store};
use std::sync::Arc;

/// Bytes reserved at once while a tree grows or moves to another tenant, to bound the work under a
/// lock.
const STEP: u64 = 64 << 10;

/// A tree that no item owns. Its bytes are charged to the tenant of the key that it is made for.
/// Dropping it gives them back.
#[derive(Debug)]
pub struct DetachedTree<'s> {
    store: &'s Store,
    account: Arc<Account>,
    pub(crate) tree: Option<Box<Tree>>,
    pub(crate) charged: u64,
}

impl Drop for DetachedTree<'_> {
    fn drop(&mut self) {
        self.tree = None;
        self.give(self.charged);
    }
}

impl DetachedTree<'_> {
    /// The tree; `None` once an item owns it.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_deref()
    }

    fn give(&self, bytes: u64) {
        self.account.give(bytes);
        self.store.budget.memory.give(bytes);
    }

    /// Reserves bytes in the account of a key's tenant, a step at a time, for a tree with `held`
    /// bytes reserved already. Nothing is evicted for a tree that is too large. `is_charged` says
    /// that another account holds the bytes so far.
    fn reserve(
        store: &Store,
        key: &Key<'_>,
        (held, bytes): (u64, u64),
        is_charged: bool,
        now: Now,
    ) -> Result<(), (u64, Error)> {
        let mut reserved = 0;
        while reserved < bytes {
            let step = STEP.min(bytes - reserved);
            let (around, size) = (store.around(), (held + bytes, step));
            let room = store.shard(key).reserve_for_tree(&around, key, size, is_charged, now);
            room.map_err(|error| (reserved, error))?;
            reserved += step;
        }
        Ok(())
    }

    /// Adds an entry, or replaces the one that the probe finds. Makes room like any write of the
    /// key that the tree is made for.
    pub fn put(
        &mut self,
        key: &Key<'_>,
        now: Now,
        probe: &Probe<'_>,
        dies: Option<u64>,
        body: &[u8],
    ) -> Result<(), Error> {
        self.grow(key, now, body.len(), |tree| _ = tree.put(probe, dies, body))
    }

    /// Adds an entry after all others. Makes room like [`DetachedTree::put`].
    pub fn push(&mut self, key: &Key<'_>, now: Now, entry: Entry<'_>) -> Result<(), Error> {
        self.grow(key, now, entry.body.len(), |tree| tree.push(entry))
    }

    fn grow(
        &mut self,
        key: &Key<'_>,
        now: Now,
        len: usize,
        f: impl FnOnce(&mut Tree),
    ) -> Result<(), Error> {
        let Some(tree) = &mut self.tree else { return Ok(()) };
        let need = tree.bytes() + tree.put_cost(len);
        if need > self.charged {
            let more = (need - self.charged).max(STEP);
            let room = Self::reserve(self.store, key, (self.charged, more), false, now);
            self.charged += room.map_or_else(|(reserved, _)| reserved, |()| more);
            room.map_err(|(_, error)| error)?;
        }
        f(tree);
        Ok(())
    }

    /// Charges the tree to the tenant of a key. The store has its bytes already.
    fn go_to(&mut self, key: &Key<'_>, now: Now) -> Result<(), Error> {
        let account = self.store.account_of(key);
        if Arc::ptr_eq(&account, &self.account) {
            return Ok(());
        }
        let bytes = self.tree().map_or(0, Tree::bytes);
        if let Err((reserved, error)) = Self::reserve(self.store, key, (0, bytes), true, now) {
            account.give(reserved);
            return Err(error);
        }
        self.account.give(self.charged);
        self.store.budget.memory.give(self.charged - bytes);
        (self.account, self.charged) = (account, bytes);
        Ok(())
    }

    /// Turns the tree back into an item of the same age.
    fn load_back(
        &mut self,
        shard: &mut Shard,
        key: &Key<'_>,
        saved: &Saved<'_>,
        now: Now,
    ) -> Result<(), Error> {
        let Some(tree) = self.take() else { return Ok(()) };
        let bytes = tree.bytes();
        let done = shard.load_tree_back(&self.store.around(), key, saved, tree, now);
        done.map_err(|(tree, error)| {
            (self.tree, self.charged) = (tree, bytes);
            error
        })
    }

    /// Takes the tree out, and gives back charged bytes beyond its size.
    pub(crate) fn take(&mut self) -> Option<Box<Tree>> {
        let tree = self.tree.take()?;
        self.give(self.charged - tree.bytes());
        self.charged = 0;
        Some(tree)
    }
}

impl Store {
    fn account_of(&self, key: &Key<'_>) -> Arc<Account> {
        Arc::clone(&self.shard(key).contents().tenant(key.tenant).account)
    }

    /// Creates an empty tree for this key.
    pub fn loose(&self, key: &Key<'_>) -> DetachedTree<'_> {
        let account = self.account_of(key);
        DetachedTree { store: self, account, tree: Some(Box::default()), charged: 0 }
    }

    /// Charges a finished tree for this key. A tree that is too large is refused before anything is
    /// evicted for it.
    pub fn pay_for(&self, key: &Key<'_>, tree: Tree, now: Now) -> Result<DetachedTree<'_>, Error> {
        let mut loose = self.loose(key);
        let bytes = tree.bytes();
        let room = DetachedTree::reserve(self, key, (0, bytes), false, now);
        loose.charged = room.map_or_else(|(reserved, _)| reserved, |()| bytes);
        room.map_err(|(_, error)| error)?;
        loose.tree = Some(Box::new(tree));
        Ok(loose)
    }

    /// Removes an item that is a collection, if `is_wanted` accepts it, and returns its tree.
    pub fn detach(
        &self,
        key: &Key<'_>,
        now: Now,
        is_wanted: impl FnOnce(&Item<'_>) -> bool,
    ) -> Option<DetachedTree<'_>> {
        let mut shard = self.shard(key);
        let place = shard.contents_mut().find(key, now, &self.budget.memory)?;
        let (class, number, _) = shard.contents().collection(key.tenant, place)?;
        if !is_wanted(&shard.contents().view(key, place)) {
            return None;
        }
        shard.contents_mut().note_change(key);
        let tenant = shard.contents_mut().tenant_mut(key.tenant);
        let tree = tenant.trees.take(number)?;
        let bytes = tree.bytes();
        tenant.class_leaves(class, bytes);
        let account = Arc::clone(&tenant.account);
        shard.contents_mut().delete(&self.budget.memory, key, place, now);
        Some(DetachedTree { store: self, account, tree: Some(tree), charged: bytes })
    }

    /// Makes an item of a tree. The item's kind is `kind` with the bit [`TREE`], and `note` follows
    /// the tree's number. Another item is kept, unless `replace` is set. Returns whether it did.
    pub fn attach(
        &self,
        key: &Key<'_>,
        loose: &mut DetachedTree<'_>,
        (kind, note, expires): (u8, &[u8], Option<u64>),
        replace: bool,
        now: Now,
    ) -> Result<bool, Error> {
        loose.go_to(key, now)?;
        let mut shard = self.shard(key);
        shard.contents_mut().clock.tick += 1;
        let place = shard.contents_mut().find(key, now, &self.budget.memory);
        if place.is_some() && !replace {
            return Ok(false);
        }
        let Some(tree) = loose.take() else { return Ok(false) };
        let bytes = tree.bytes();
        match shard.insert_tree(&self.around(), key, place, tree, (kind, note, expires), now) {
            Ok(()) => shard.contents_mut().written_anew(key, now),
            Err((tree, error)) => {
                (loose.tree, loose.charged) = (tree, bytes);
                return Err(error);
            }
        }
        Ok(true)
    }

    /// Like [`Store::restore`], for a collection: its tree, with the note in place of the value.
    pub fn restore_tree(
        &self,
        key: &Key<'_>,
        saved: &Saved<'_>,
        loose: &mut DetachedTree<'_>,
        now: Now,
    ) -> Result<bool, Error> {
        let mut shard = self.shard(key);
        if !shard.contents().takes_back(key, saved, now) {
            return Ok(false);
        }
        if let Some(place) = shard.contents_mut().find(key, now, &self.budget.memory) {
            self.budget.memory.take_back(shard.contents_mut().take_out(
                key.tenant,
                place,
                Exit::Flushed,
            ));
        }
        loose.load_back(&mut shard, key, saved, now)?;
        Ok(true)
    }

    /// Like [`Store::load`], for a collection as in [`Store::restore_tree`].
    pub fn load_tree(
        &self,
        key: &Key<'_>,
        block: u64,
        saved: &Saved<'_>,
        loose: &mut DetachedTree<'_>,
        now: Now,
    ) -> Result<Loaded, Error> {
        let mut shard = self.shard(key);
        if let Some(other) =
            shard.contents_mut().is_wanted_back(key, block, saved, now, &self.budget.memory)
        {
            return Ok(other);
        }
        loose.load_back(&mut shard, key, saved, now)?;
        Ok(Loaded::Back)
    }
}
