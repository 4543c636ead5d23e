//! Writes of one key: a new value, a longer value, another expiry.

use crate::contents::tenant::TenantShard;
use crate::items::item::Parts;
use crate::items::table::item_table::Slot;
use crate::items::trees::trees::{has_tree, number};
use crate::learning::lifetimes;
use crate::learning::lifetimes::lived;
use crate::learning::removals;
use crate::room::budget::Around;
use crate::shard::shard::Shard;
use crate::{Change, Error, Item, Key, Now};
use base::Bytes;
use policy::rank::Stamps;
use std::sync::atomic::Ordering::Relaxed;

impl Shard {
    /// Writes a value.
    #[inline]
    pub(crate) fn set(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        found: Option<Slot>,
        parts: &Parts,
        now: Now,
    ) -> Result<(), Error> {
        let asks = key.may_be_declined && found.is_none();
        // A write that never fits is not declined, so that the client gets the error.
        let fits = |shard: &Self, size| {
            around.budget.competes.load(Relaxed)
                && size <= around.budget.value_max.load(Relaxed)
                && shard.check_fit(around, key.tenant, size).is_ok()
        };
        if !asks || !self.declines(&around.budget.memory, key, parts.contents(), fits) {
            self.put(around, key, found, parts, now)?;
        }
        self.written(key, now, || (parts.contents(), parts.expires));
        Ok(())
    }

    /// Writes a value without counting the write.
    #[inline]
    fn put(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        found: Option<Slot>,
        parts: &Parts,
        now: Now,
    ) -> Result<(), Error> {
        self.note_change(key);
        let len = parts.value[0].len() as u64;
        let limit = around.budget.value_max.load(Relaxed);
        if len > limit {
            return Err(Error::TooLong { need: Bytes(len), limit: Bytes(limit) });
        }
        let Some(place) = found else {
            let stamps = self.stamps_of(key);
            return self.insert(around, key, parts, stamps, now);
        };
        if self.lessons.is_some() {
            // The lifetime of the old value ends unread.
            let table = &mut self.tenants[key.tenant as usize].table;
            let (items, mut item) = (table.about(), table.get_mut(place));
            let mut stamps = item.view().stamps();
            let age = stamps.age(self.tick);
            let lived = lived(self.lives.as_ref(), self.reader_slot);
            lifetimes::record_use(lived, key.tenant, stamps, age, false);
            lifetimes::classify(self.lessons, &mut stamps, age, items);
            item.set_stamps(stamps);
        }
        let tenant = &self.tenants[key.tenant as usize];
        let old = self.collection(key.tenant, place);
        let before = removals::value_before(tenant.removals.as_deref(), tenant.table.get(place));
        match parts.expires {
            None => self.overwrite::<false>(around, key, place, parts, now),
            Some(when) => self.overwrite_dying(around, key, place, parts, when, now),
        }?;
        if let Some((class, tree, _)) = old
            && (!has_tree(parts.kind) || number(parts.value[0]) != tree)
        {
            let freed = self.tenants[key.tenant as usize].discard_tree(class, tree);
            self.give(&around.budget.memory, key.tenant, freed);
        }
        let removals = &self.tenants[key.tenant as usize].removals;
        if let (Some(removals), Some(before)) = (removals, before) {
            removals.replaced(key.bytes, &before);
        }
        Ok(())
    }

    /// Does the work of [`Shard::overwrite`] with a value that expires.
    #[inline(never)]
    fn overwrite_dying(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        mut place: Slot,
        parts: &Parts,
        when: u64,
        now: Now,
    ) -> Result<(), Error> {
        let is_noted = self.get(key, place).expires().is_some_and(|old| old <= when);
        if !is_noted {
            place = self.wheel_room_pinned(around, key, place, now)?;
        }
        self.overwrite::<true>(around, key, place, parts, now)?;
        if !is_noted {
            self.note_expiry(key, when, now);
        }
        Ok(())
    }

    /// Replaces the value of an item. There are two copies of this function, so that a value
    /// without an expiry pays nothing for the others.
    fn overwrite<const DIES: bool>(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        mut place: Slot,
        parts: &Parts,
        now: Now,
    ) -> Result<(), Error> {
        let tick = self.tick;
        let tenant = &mut self.tenants[key.tenant as usize];
        let mut item = tenant.table.get_mut(place);
        let mut stamps = item.view().stamps();
        stamps.hit(tick);
        let had_expiry = item.view().expires().is_some();
        if item.overwrite(tenant.pages.classes(), parts.value[0], parts.expires) {
            item.set_kind(parts.kind);
            item.set_stamps(stamps);
            tenant.expiry_changes(key.db, had_expiry, DIES);
            return Ok(());
        }
        place = self.reserve_pinned(around, key, place, parts.contents(), now)?;
        let tenant = &mut self.tenants[key.tenant as usize];
        let item = tenant.pages.write(parts, stamps);
        let bytes = tenant.exchange(place, key.hash, item);
        self.sweeper.has_idle |= tenant.pages.has_idle();
        tenant.expiry_changes(key.db, had_expiry, DIES);
        self.give(&around.budget.memory, key.tenant, bytes);
        Ok(())
    }

    pub(crate) fn insert(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        parts: &Parts,
        stamps: Stamps,
        now: Now,
    ) -> Result<(), Error> {
        let at = key.tenant as usize;
        if parts.expires.is_some() {
            self.wheel_room(around, key.tenant, 0, now)?;
        }
        let mut reserved = 0;
        // Evictions may change the need of the table, and evictions for the table may take away
        // chunks.
        let made = loop {
            let need = self.tenants[at].table.insert_cost(key.hash);
            if need < reserved {
                // Evictions freed so much that the table need not grow; a page may need these
                // bytes.
                self.give(&around.budget.memory, key.tenant, reserved - need);
                reserved = need;
            }
            if !self.has_chunk(key.tenant, parts.contents())
                && let Err(error) = self.chunk_room(around, key.tenant, parts.contents(), 0, now)
            {
                break Err(error);
            }
            let need = self.tenants[at].table.insert_cost(key.hash);
            if need <= reserved {
                break Ok(());
            }
            if let Err(error) = self.make_room(around, key.tenant, need - reserved, 0, now) {
                break Err(error);
            }
            reserved = need;
        };
        if let Err(error) = made {
            self.release_unwritten(around, key.tenant);
            self.give(&around.budget.memory, key.tenant, reserved);
            return Err(error);
        }
        let tenant = &mut self.tenants[at];
        let before = tenant.table.bytes();
        let item = tenant.pages.write(parts, stamps);
        tenant.table.insert(self.seed, key.hash, item);
        let charge = tenant.pages.classes().charge(parts.contents());
        tenant.class_enters(stamps.penalty_class(), charge);
        let rest = reserved + before - tenant.table.bytes();
        tenant.enters(key.db, parts.expires.is_some());
        self.give(&around.budget.memory, key.tenant, rest);
        if let Some(when) = parts.expires {
            self.note_expiry(key, when, now);
        }
        Ok(())
    }

    /// Appends to a value.
    pub(crate) fn append(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        place: Slot,
        more: &[u8],
        now: Now,
    ) -> Result<(), Error> {
        let item = self.get(key, place);
        let (len, expires) = (item.value().len() as u64 + more.len() as u64, item.expires());
        let limit = around.budget.value_max.load(Relaxed);
        if len > limit {
            return Err(Error::TooLong { need: Bytes(len), limit: Bytes(limit) });
        }
        let TenantShard { table, pages, .. } = &mut self.tenants[key.tenant as usize];
        let mut item = table.get_mut(place);
        let contents = if item.append(pages.classes(), more) {
            item.view().contents()
        } else {
            self.rebuild(around, key, place, more, expires, now)?
        };
        self.written(key, now, || (contents, expires));
        Ok(())
    }

    /// Overwrites a part of a value.
    fn patch(&mut self, key: &Key, place: Slot, at: usize, bytes: &[u8], now: Now) {
        let mut item = self.tenants[key.tenant as usize].table.get_mut(place);
        if item.patch(at, bytes) {
            let (contents, expires) = (item.view().contents(), item.view().expires());
            self.written(key, now, || (contents, expires));
        }
    }

    /// Changes the expiry.
    fn set_expires(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        place: Slot,
        expires: Option<u64>,
        now: Now,
    ) -> Result<(), Error> {
        let old = self.get(key, place).expires();
        let noted = expires.filter(|&when| old.is_none_or(|old| when < old));
        let place = match noted {
            Some(_) => self.wheel_room_pinned(around, key, place, now)?,
            None => place,
        };
        let TenantShard { table, pages, .. } = &mut self.tenants[key.tenant as usize];
        let mut item = table.get_mut(place);
        if !item.set_expires(pages.classes(), expires) {
            self.rebuild(around, key, place, b"", expires, now)?;
        }
        let tenant = &mut self.tenants[key.tenant as usize];
        tenant.expiry_changes(key.db, old.is_some(), expires.is_some());
        if let Some(when) = noted {
            self.note_expiry(key, when, now);
        }
        Ok(())
    }

    /// Replaces an item by a copy with `more` at its end and this expiry. Both exist for a moment,
    /// and both are charged. Returns the contents of the new one in bytes.
    fn rebuild(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        place: Slot,
        more: &[u8],
        expires: Option<u64>,
        now: Now,
    ) -> Result<u64, Error> {
        let item = self.get(key, place);
        let contents = item.parts([item.value(), more], expires).contents();
        let place = self.reserve_pinned(around, key, place, contents, now)?;
        let tenant = &mut self.tenants[key.tenant as usize];
        let copy = tenant.copy(place, more, expires);
        let bytes = tenant.exchange(place, key.hash, copy);
        self.sweeper.has_idle |= tenant.pages.has_idle();
        self.give(&around.budget.memory, key.tenant, bytes);
        Ok(contents)
    }

    /// Shows the item to `f`, and makes the change that it returns.
    #[inline]
    pub(crate) fn update<'v, R>(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        self.tick += 1;
        let found = self.find(key, now, &around.budget.memory);
        if let Some(place) = found {
            self.hit(key, place);
        }
        let item = found.map(|place| self.view(key, place));
        let (change, result) = f(item.as_ref());
        self.apply(around, key, found, &change, now)?;
        Ok(result)
    }

    /// Makes a change, such as the result of the closure of
    /// [`Store::update`](crate::Store::update).
    pub(crate) fn apply(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        found: Option<Slot>,
        change: &Change,
        now: Now,
    ) -> Result<(), Error> {
        self.note_change(key);
        match (change, found) {
            (Change::Set { value, kind, expires }, _) => {
                self.set(around, key, found, &Parts::of(key, value, *kind, *expires), now)
            }
            (Change::Hold { value, kind, expires }, _) => {
                self.put(around, key, found, &Parts::of(key, value, *kind, *expires), now)
            }
            (Change::Append(value), None) => {
                self.set(around, key, None, &Parts::of(key, value, 0, None), now)
            }
            (Change::Append(more), Some(place)) => self.append(around, key, place, more, now),
            (Change::Patch(at, bytes), Some(place)) => {
                self.patch(key, place, *at, bytes, now);
                Ok(())
            }
            (Change::Expire(expires), Some(place)) => {
                self.set_expires(around, key, place, *expires, now)
            }
            (Change::Remove, Some(place)) => {
                self.delete(&around.budget.memory, key, place, now);
                Ok(())
            }
            (Change::Keep, _) | (Change::Patch(..) | Change::Expire(_) | Change::Remove, None) => {
                Ok(())
            }
        }
    }
}
