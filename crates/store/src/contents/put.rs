//! Writes of one key for which there is room: a new value, a longer value, another expiry.

use crate::bytes::freed::Freed;
use crate::contents::contents::Contents;
use crate::contents::need::{Need, Reserved};
use crate::items::item::Parts;
use crate::items::table::item_table::Slot;
use crate::items::trees::trees::{has_tree, number};
use crate::learning::lifetimes;
use crate::learning::lifetimes::lived;
use crate::learning::removals;
use crate::tenant::tenant::TenantShard;
use crate::{Key, Now};
use base::TenantId;
use policy::rank::Stamps;

impl Contents {
    /// The room that a write of these parts needs. The lifetime of the old value ends here, and so
    /// does the past of a key that returns.
    #[inline]
    pub(crate) fn need(&mut self, key: &Key, found: Option<Slot>, parts: &Parts) -> Need {
        let Some(place) = found else {
            let stamps = self.stamps_of(key);
            return Need::new_item(key, parts, stamps);
        };
        if self.lessons.is_some() {
            self.ends_unread(key, place);
        }
        let TenantShard { table, pages, .. } = self.tenant(key.tenant);
        let (item, expires) = (table.get(place), parts.expires);
        let fits = item.has_room(pages.classes(), parts.value[0].len(), expires.is_some());
        let is_noted = |when| item.expires().is_some_and(|old| old <= when);
        let mut stamps = item.stamps();
        lifetimes::note_write(self.lessons, &mut stamps, self.clock.tick);
        Need {
            hash: key.hash,
            place: Some(place),
            chunk: if fits { None } else { Some(parts.contents()) },
            expiry: expires.is_some_and(|when| !is_noted(when)),
            stamps,
            ..Need::bytes(key.tenant, 0, table.word(place))
        }
    }

    /// Ends the lifetime of an item's old value, which was not read again.
    fn ends_unread(&mut self, key: &Key, place: Slot) {
        let table = &mut self.tenants[key.tenant as usize].table;
        let (items, mut item) = (table.about(), table.get_mut(place));
        let mut stamps = item.view().stamps();
        let age = stamps.age(self.clock.tick);
        let lived = lived(self.lives.as_ref(), self.clock.reader_slot);
        lifetimes::record_use(lived, key.tenant, stamps, age, false);
        lifetimes::classify(self.lessons, &mut stamps, age, items);
        item.set_stamps(stamps);
    }

    /// Writes a value into the room that was reserved for it. Returns what is free afterwards.
    #[inline]
    pub(crate) fn put(
        &mut self,
        key: &Key,
        parts: &Parts,
        need: &Need,
        reserved: Reserved,
        now: Now,
    ) -> Freed {
        match reserved.place {
            None => self.insert(key, parts, need.stamps, reserved.bytes, now),
            Some(place) => self.replace(key, parts, need, place, now),
        }
    }

    /// Adds an item. `reserved` bytes are reserved for the growth of the table.
    fn insert(
        &mut self,
        key: &Key,
        parts: &Parts,
        stamps: Stamps,
        reserved: u64,
        now: Now,
    ) -> Freed {
        let tenant = &mut self.tenants[key.tenant as usize];
        let before = tenant.table.bytes();
        if parts.is_compressed {
            tenant.compressed.enters(parts.value[0]);
        }
        let item = tenant.pages.write(parts, stamps);
        tenant.table.insert(self.seed, key.hash, item);
        let charge = tenant.pages.classes().charge(parts.contents());
        tenant.class_enters(stamps.penalty_class(), charge);
        let rest = reserved + before - tenant.table.bytes();
        tenant.enters(key.db, parts.expires.is_some());
        let freed = tenant.account.release(rest);
        if let Some(when) = parts.expires {
            self.note_expiry(key, when, now);
        }
        freed
    }

    /// Replaces the value of an item.
    fn replace(&mut self, key: &Key, parts: &Parts, need: &Need, place: Slot, now: Now) -> Freed {
        let old = self.collection(key.tenant, place);
        let tenant = &mut self.tenants[key.tenant as usize];
        let item = tenant.table.get(place);
        let had_expiry = item.expires().is_some();
        let before = removals::value_before(tenant.removals.as_deref(), item, &tenant.compressed);
        let mut freed = Freed::NOTHING;
        if need.chunk.is_none() {
            let TenantShard { table, compressed, .. } = tenant;
            if table.get(place).is_compressed() {
                compressed.leaves(table.get(place).value());
            }
            if parts.is_compressed {
                compressed.enters(parts.value[0]);
            }
            let mut item = tenant.table.get_mut(place);
            let fits = item.overwrite(tenant.pages.classes(), parts.value[0], parts.expires);
            debug_assert!(fits, "no chunk is needed");
            item.set_kind(parts.kind, parts.is_compressed);
            item.set_stamps(need.stamps);
        } else {
            let item = tenant.pages.write(parts, need.stamps);
            freed = tenant.exchange(place, key.hash, item);
            self.has_idle |= tenant.pages.has_idle();
        }
        tenant.expiry_changes(key.db, had_expiry, parts.expires.is_some());
        if let Some(when) = parts.expires.filter(|_| need.expiry) {
            self.note_expiry(key, when, now);
        }
        if let Some((class, tree, _)) = old
            && (!has_tree(parts.kind) || number(parts.value[0]) != tree)
        {
            freed += self.tenant_mut(key.tenant).discard_tree(class, tree);
        }
        let removals = &self.tenant(key.tenant).removals;
        if let (Some(removals), Some(before)) = (removals, before) {
            removals.replaced(key.bytes, &before);
        }
        freed
    }
}

impl Contents {
    /// Replaces the value of an item by its other form, plain or compressed, in another chunk, for
    /// which there is room. Returns what is free afterwards.
    pub(crate) fn put_form(
        &mut self,
        at: TenantId,
        (place, hash): (Slot, u64),
        value: &[u8],
        is_compressed: bool,
    ) -> Freed {
        let tenant = self.tenant_mut(at);
        let TenantShard { table, pages, .. } = tenant;
        let item = table.get(place);
        let parts = Parts { is_compressed, ..item.parts([value, b""], item.expires()) };
        let copy = pages.write(&parts, item.stamps());
        let freed = tenant.exchange(place, hash, copy);
        self.has_idle |= tenant.pages.has_idle();
        freed
    }
}

impl Contents {
    /// Appends to a value if its chunk has room. Returns the item's contents in bytes if it did.
    pub(crate) fn append(&mut self, key: &Key, place: Slot, more: &[u8]) -> Option<u64> {
        let TenantShard { table, pages, .. } = self.tenant_mut(key.tenant);
        let mut item = table.get_mut(place);
        item.append(pages.classes(), more).then(|| item.view().contents())
    }

    /// The room for a copy of an item with `more` at its end and this expiry. Both exist for a
    /// moment, and both are charged.
    pub(crate) fn need_of_copy(
        &self,
        key: &Key,
        place: Slot,
        more: &[u8],
        expires: Option<u64>,
    ) -> Need {
        let item = self.get(key, place);
        let contents = item.parts([item.value(), more], expires).contents();
        let word = self.tenant(key.tenant).table.word(place);
        Need {
            hash: key.hash,
            place: Some(place),
            chunk: Some(contents),
            ..Need::bytes(key.tenant, 0, word)
        }
    }

    /// Replaces an item by a copy with `more` at its end and this expiry.
    pub(crate) fn put_copy(
        &mut self,
        key: &Key,
        place: Slot,
        more: &[u8],
        expires: Option<u64>,
    ) -> Freed {
        let tenant = &mut self.tenants[key.tenant as usize];
        let copy = tenant.copy(place, more, expires);
        let freed = tenant.exchange(place, key.hash, copy);
        self.has_idle |= tenant.pages.has_idle();
        freed
    }

    /// The room that another expiry of an item needs.
    pub(crate) fn need_of_expiry(&self, key: &Key, place: Slot, expires: Option<u64>) -> Need {
        let item = self.get(key, place);
        let sizes = self.tenant(key.tenant).pages.classes();
        let mut need = self.need_of_copy(key, place, b"", expires);
        if item.has_room(sizes, item.value().len(), expires.is_some()) {
            need.chunk = None;
        }
        need.expiry = expires.is_some_and(|when| item.expires().is_none_or(|old| when < old));
        need
    }

    /// Changes the expiry of an item.
    pub(crate) fn put_expiry(
        &mut self,
        key: &Key,
        need: &Need,
        place: Slot,
        expires: Option<u64>,
        now: Now,
    ) -> Freed {
        let TenantShard { table, pages, .. } = self.tenant_mut(key.tenant);
        let mut item = table.get_mut(place);
        let had_expiry = item.view().expires().is_some();
        let mut freed = Freed::NOTHING;
        if need.chunk.is_none() {
            let fits = item.set_expires(pages.classes(), expires);
            debug_assert!(fits, "no chunk is needed");
        } else {
            freed = self.put_copy(key, place, b"", expires);
        }
        self.tenant_mut(key.tenant).expiry_changes(key.db, had_expiry, expires.is_some());
        if let Some(when) = expires.filter(|_| need.expiry) {
            self.note_expiry(key, when, now);
        }
        freed
    }

    /// Overwrites a part of a value.
    pub(crate) fn patch(&mut self, key: &Key, place: Slot, at: usize, bytes: &[u8], now: Now) {
        let mut item = self.tenants[key.tenant as usize].table.get_mut(place);
        if item.patch(at, bytes) {
            let (contents, expires) = (item.view().contents(), item.view().expires());
            self.written(key, now, || (contents, expires));
        }
    }
}
