//! Changes to a collection: one item, with its shard locked.

use crate::compression::codec::Plain;
use crate::contents::need::Need;
use crate::items::table::item_table::Slot;
use crate::items::trees::entry::Probe;
use crate::items::trees::tree::Tree;
use crate::shard::shard::Shard;
use crate::sync::big_reader::Write;
use crate::victims::budget::Around;
use crate::{Change, Error, Item, Key, Now};

/// Most leaves from which dead entries are removed at once.
const DEAD_LEAVES: usize = 64;

/// Most leaves from which a span of entries is removed at once.
const SPAN_LEAVES: usize = 128;

/// An item under its shard's lock, to be changed step by step. A successful step is not undone if a
/// later one fails. The lock is held while this value lives, so keep that short: a caller that
/// changes many entries releases the lock now and then.
pub struct Edit<'s, 'k> {
    around: Around<'s>,
    shard: Write<'s, Shard>,
    key: Key<'k>,
    now: Now,
    place: Option<Slot>,
    /// The plain value of a compressed item.
    plain: Option<Plain>,
}

impl std::fmt::Debug for Edit<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edit").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<'s, 'k> Edit<'s, 'k> {
    /// Begins to change the item at a place of the locked shard.
    pub(crate) fn new(
        around: Around<'s>,
        shard: Write<'s, Shard>,
        key: Key<'k>,
        now: Now,
        place: Option<Slot>,
    ) -> Self {
        let mut edit = Self { around, shard, key, now, place, plain: None };
        edit.open(place);
        edit
    }

    /// Shows the item at a place from now on.
    fn open(&mut self, place: Option<Slot>) {
        let Self { around, shard, key, .. } = self;
        (self.place, self.plain) = shard.contents_mut().open(key, place, &around.budget.memory);
    }
}

impl Edit<'_, '_> {
    /// The item, if there is one.
    pub fn item(&self) -> Option<Item<'_>> {
        let view = |place| self.shard.contents().view(&self.key, place);
        self.place.map(|place| view(place).with_plain(self.plain.as_ref()))
    }

    /// The item's tree, if it is a collection.
    pub fn tree(&self) -> Option<&Tree> {
        let contents = self.shard.contents();
        let trees = &contents.tenant(self.key.tenant).trees;
        self.place.and_then(|place| trees.of(contents.get(&self.key, place)))
    }

    /// Makes a change, as [`Store::update`] does with the result of its closure.
    pub fn apply(&mut self, change: &Change<'_>) -> Result<(), Error> {
        let done = self.shard.apply(&self.around, &self.key, self.place, change, self.now);
        self.find();
        done
    }

    fn find(&mut self) {
        let place = self.shard.contents().place(&self.key);
        self.open(place);
    }

    /// Turns the item into a collection, whatever it was before. The value holds `note` after the
    /// tree's number. The item's kind is `kind` with the bit [`TREE`].
    pub fn make_tree(
        &mut self,
        tree: Tree,
        kind: u8,
        note: &[u8],
        expires: Option<u64>,
    ) -> Result<(), Error> {
        let tree = Box::new(tree);
        let (around, key, now, bytes) = (self.around, self.key, self.now, tree.bytes());
        let table = &self.shard.contents().tenant(key.tenant).table;
        let word = self.place.map_or(0, |place| table.word(place));
        self.shard.reserve(&around, &Need::bytes(key.tenant, bytes, word), now)?;
        self.find();
        let noted = (kind, note, expires);
        let made = self.shard.insert_tree(&around, &key, self.place, tree, noted, now);
        if let Err((_, error)) = made {
            self.shard.contents().give(&around.budget.memory, key.tenant, bytes);
            return Err(error);
        }
        self.find();
        Ok(())
    }

    /// Refuses a growth by `growth` bytes if the item can never be so large. To be called before
    /// the first of several steps.
    pub fn check_growth(&self, growth: u64) -> Result<(), Error> {
        let held = self.item().map_or(0, |item| item.charge().0);
        let need = held.saturating_add(growth);
        self.around.budget.check_fit(self.shard.contents(), self.key.tenant, need)
    }

    /// Changes the note after the tree's number, and the expiry.
    pub fn note(&mut self, note: &[u8], expires: Option<u64>) -> Result<(), Error> {
        let Some(item) = self.item() else { return Ok(()) };
        let value = [&item.value[..4], note].concat();
        let (kind, is_same) = (item.kind, item.expires == expires && item.value == value);
        if is_same {
            return Ok(());
        }
        self.apply(&Change::Hold { value: value.into(), kind, expires })
    }

    /// Writes an entry of the collection, in place of the entry that the probe finds. Returns
    /// whether there was one.
    pub fn put(
        &mut self,
        probe: &Probe<'_>,
        dies: Option<u64>,
        body: &[u8],
    ) -> Result<bool, Error> {
        self.grow(body.len(), |tree| tree.put(probe, dies, body)).map(Option::unwrap_or_default)
    }

    /// Inserts an entry into a list after `position` entries, or at its end.
    pub fn insert(&mut self, position: u64, body: &[u8]) -> Result<(), Error> {
        self.grow(body.len(), |tree| tree.insert(position, body)).map(drop)
    }

    /// Replaces the entry of a list that follows `position` others.
    pub fn replace(&mut self, position: u64, body: &[u8]) -> Result<(), Error> {
        self.grow(body.len(), |tree| tree.replace(position, body)).map(drop)
    }

    /// Makes room for an entry with a body of `len` bytes, and then changes the collection by `f`.
    /// `None` if the item is not a collection.
    fn grow<R>(&mut self, len: usize, f: impl FnOnce(&mut Tree) -> R) -> Result<Option<R>, Error> {
        let (around, key, now) = (self.around, self.key, self.now);
        around.budget.check_value(len)?;
        let Some((class, number, word)) = self.collection() else { return Ok(None) };
        let Some(tree) = self.tree() else { return Ok(None) };
        let need = tree.put_cost(len);
        let all = tree.bytes().saturating_add(need);
        around.budget.check_fit(self.shard.contents(), key.tenant, all)?;
        self.shard.contents_mut().note_change(&key);
        self.shard.reserve(&around, &Need::bytes(key.tenant, need, word), now)?;
        let contents = self.shard.contents_mut();
        self.place = contents.tenant(key.tenant).table.find_word(key.hash, word);
        let done = contents.change_tree(key.tenant, (class, number), need, f);
        let Some((result, freed)) = done else { return Ok(None) };
        around.budget.memory.take_back(freed);
        Ok(Some(result))
    }

    /// Removes an entry of the collection. Returns whether there was one.
    pub fn remove(&mut self, probe: &Probe<'_>) -> bool {
        let is_there = self.tree().is_some_and(|tree| tree.get(probe).is_some());
        is_there && self.remove_found(probe)
    }

    /// Removes an entry that was found before. Returns whether it was there.
    pub fn remove_found(&mut self, probe: &Probe<'_>) -> bool {
        self.change(|tree| tree.remove(probe)).unwrap_or(false)
    }

    /// Removes the entry that follows `position` others, after showing its body to `visit`. Returns
    /// whether there was one.
    pub fn remove_at(&mut self, position: u64, visit: impl FnMut(&[u8])) -> bool {
        let is_there = self.tree().is_some_and(|tree| position < tree.len());
        is_there && self.change(|tree| tree.remove_at(position, visit)).unwrap_or(false)
    }

    /// Removes up to `count` entries that follow `position` others, the last ones first, from a
    /// bounded number of leaves. Returns how many it removed.
    pub fn remove_span(&mut self, position: u64, count: u64) -> u64 {
        self.change(|tree| tree.remove_span(position, count, SPAN_LEAVES)).unwrap_or(0)
    }

    /// Removes some of the entries that are dead by now. Returns whether there may be more.
    pub fn remove_dead(&mut self) -> bool {
        let now_ms = self.now.unix_ms;
        self.change(|tree| tree.remove_dead(now_ms, DEAD_LEAVES));
        self.tree().is_some_and(|tree| tree.has_dead(now_ms))
    }

    /// Counts the changes so far as one write, as [`Store::update`] does.
    pub fn written(&mut self) {
        if let Some(item) = self.item() {
            let (contents, expires) = (item.contents, item.expires);
            self.shard.contents_mut().written(&self.key, self.now, || (contents, expires));
        }
    }

    fn collection(&self) -> Option<(u8, u32, usize)> {
        self.shard.contents().collection(self.key.tenant, self.place?)
    }

    fn change<R>(&mut self, f: impl FnOnce(&mut Tree) -> R) -> Option<R> {
        let (class, number, _) = self.collection()?;
        let contents = self.shard.contents_mut();
        contents.note_change(&self.key);
        let (result, freed) = contents.change_tree(self.key.tenant, (class, number), 0, f)?;
        self.around.budget.memory.take_back(freed);
        Some(result)
    }
}
