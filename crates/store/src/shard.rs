//! One part of the store: the data that a lock guards.
//!
//! A shard has a table for each tenant, and everything that requests write: its counter of accesses
//! (the clock for the age of items), the tap's queue, the stopwatch. So a request takes one lock
//! and nothing else, except the byte counters when bytes change. The code here holds the shard
//! exclusively; most reads do not need that (`read.rs`).

use crate::evict::Exit;
use crate::item::{Parts, Ref};
use crate::learn::{self, Lives, lived};
use crate::memory::Memory;
use crate::pause::Pausing;
use crate::penalty::{Fetched, Stopwatch};
use crate::penalty_classes::PenaltyTable;
use crate::pools::{Order, Pools};
use crate::removal;
use crate::restore::ChangedKeys;
use crate::slab::{Draws, SizeClasses};
use crate::table::{END, Place};
use crate::tap::{Seen, Tap};
use crate::tenant::TenantShard;
use crate::trees::{Trees, has_tree, number};
use crate::watch::Pasts;
use crate::{Change, Error, Evictable, Item, Key, Now, Scope, Store};
use base::{Bytes, Prng, Sighting, TenantId};
use policy::rank::{Lessons, Stamps};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Draws for a random key before a walk looks for one.
const DRAWS: usize = 64;

/// One part of the store. The fields are in this order so that a read hit needs only the first
/// lines, which hardly any write changes.
#[repr(C, align(64))]
pub(crate) struct Shard {
    pub(crate) tenants: Vec<TenantShard>,
    pub(crate) tap: Tap,
    pub(crate) stopwatch: Stopwatch,
    /// The lessons from which a rank learns, if one does.
    pub(crate) lessons: Option<Lessons>,
    /// Counts lifetimes while a rank learns from them.
    pub(crate) lives: Option<Lives>,
    /// Whether penalty classes or sizes are counted.
    pub(crate) is_watched: bool,
    /// Whether requests are counted by size class.
    pub(crate) counts_sizes: bool,
    pub(crate) seed: u64,
    /// The shard's number.
    pub(crate) at: usize,
    pub(crate) pools: Arc<Pools>,
    pub(crate) nanos: fn() -> u64,
    /// Keys written or removed during a restore of items of an earlier run.
    pub(crate) changed: Option<Box<ChangedKeys>>,
    /// Remembers penalties of keys, while pools are penalty classes.
    pub(crate) penalty_table: Option<Box<PenaltyTable>>,
    /// Whether any tenant may have a collection.
    pub(crate) has_trees: bool,
    /// The items that may be evicted.
    pub(crate) evictable: Evictable,
    /// Remembers evicted keys, while a rank depends on the whole past of a key.
    pub(crate) pasts: Option<Box<Pasts>>,
    pub(crate) line: NewLine,
    /// Accesses so far.
    pub(crate) tick: u64,
    /// The reader slot of the thread that wrote last, below
    /// [`READER_SLOTS_MAX`](crate::big_reader::READER_SLOTS_MAX). It continues its rounds of
    /// evictions.
    pub(crate) reader_slot: usize,
    /// When ranks were last balanced, and the earliest time for the next balancing.
    pub(crate) balanced: u64,
    pub(crate) balance_at: u64,
    pub(crate) prng: Prng,
    /// Time that operations took to make room.
    pub(crate) pausing: Pausing,
    /// No wheel has a due entry up to this time.
    pub(crate) quiet_until: u64,
    /// Whether a rank depends on the last write.
    pub(crate) renews: bool,
    /// Whether a tenant has a wheel.
    pub(crate) has_wheels: bool,
    /// The class that the current write hints for its item; 0 for none.
    pub(crate) cost_hint: u8,
    /// The order in which pools give.
    pub(crate) order: Order,
    /// Memory for the candidates of an eviction.
    pub(crate) draws: Draws,
    pub(crate) sweeper: crate::expire::Sweeper,
}

/// Puts the fields after it in another cache line than the fields before, to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct NewLine;

/// The caller's view of an item.
#[expect(clippy::inline_always, reason = "in line, what a caller does not look at costs nothing")]
#[inline(always)]
pub(crate) fn view<'a>(
    item: Ref<'a>,
    stamps: Stamps,
    idle: u32,
    sizes: &'a SizeClasses,
    trees: &'a Trees,
) -> Item<'a> {
    Item {
        value: item.value(),
        kind: item.kind(),
        expires: item.expires(),
        key_len: item.key().len(),
        idle,
        in_use: stamps.in_use(),
        hits: stamps.hits,
        penalty_class: stamps.penalty_class(),
        contents: item.contents(),
        sizes: Some(sizes),
        trees: Some(trees),
    }
}

impl Shard {
    /// The caller's view of a tenant's item.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn view_of<'a>(&'a self, at: TenantId, item: Ref<'a>) -> Item<'a> {
        let (stamps, TenantShard { pages, trees, .. }) =
            (item.stamps(), &self.tenants[usize::from(at)]);
        view(item, stamps, stamps.age(self.tick), pages.classes(), trees)
    }

    /// The caller's view of the item at a place.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn view(&self, key: &Key, place: Place) -> Item<'_> {
        self.view_of(key.tenant, self.get(key, place))
    }

    /// The live item of a key. A dead one is removed.
    #[inline]
    pub(crate) fn find(&mut self, key: &Key, now: Now, memory: &Memory) -> Option<Place> {
        let tenant = &self.tenants[key.tenant as usize];
        let place = tenant.table.find(key.hash, key.db, key.bytes)?;
        if tenant.table.get(place).is_dead(now.unix_ms) {
            memory.give(self.remove(key.tenant, place, Exit::Expired));
            return None;
        }
        Some(place)
    }

    /// Reads an item: counts the read, refreshes the item, informs the tap, and times a miss.
    #[inline]
    pub(crate) fn read(&mut self, key: &Key, now: Now, memory: &Memory) -> Option<Place> {
        self.tick += 1;
        let tenant = &mut self.tenants[key.tenant as usize];
        let place = tenant.table.find(key.hash, key.db, key.bytes);
        if let Some(place) = place {
            let items = tenant.table.about();
            let mut item = tenant.table.get_mut(place);
            if !item.view().is_dead(now.unix_ms) {
                let mut stamps = item.view().stamps();
                let age = stamps.age(self.tick);
                let lived = lived(self.lives.as_ref(), self.reader_slot);
                learn::lives_on(lived, key.tenant, stamps, age, true);
                stamps.hit(self.tick);
                learn::classify(self.lessons, &mut stamps, age, items);
                item.set_stamps(stamps);
                tenant.counters.hits += 1;
                let seen = || {
                    let (item, expires) = (item.view(), item.view().expires());
                    let size = tenant.pages.classes().charge(item.contents())
                        + tenant.trees.bytes_of(item);
                    Seen { size, expires, stamps }
                };
                self.tap.see(key, now, self.tick, Sighting::Hit, seen);
                if self.is_watched {
                    self.class_is_read(key.tenant, stamps.penalty_class());
                    if self.counts_sizes {
                        let tenant = &self.tenants[key.tenant as usize];
                        let class = tenant.size_class(tenant.table.get(place));
                        self.size_is_read(key.tenant, class, age);
                    }
                }
                return Some(place);
            }
            memory.give(self.remove(key.tenant, place, Exit::Expired));
        }
        let tenant = &mut self.tenants[key.tenant as usize];
        tenant.counters.misses += 1;
        tenant.counters.misses_expired += u64::from(place.is_some());
        self.tap.see(key, now, self.tick, Sighting::Miss, || Seen::NOTHING);
        if !key.is_untimed {
            let lost = self.stopwatch.start(key.tenant, key.hash, now.micros);
            if let Some((tenant, hash, reads)) = lost {
                self.class_is_missed(tenant, hash, reads);
            }
        }
        None
    }

    /// Refreshes an item.
    #[inline]
    pub(crate) fn hit(&mut self, key: &Key, place: Place) {
        let mut item = self.tenants[key.tenant as usize].table.get_mut(place);
        let mut stamps = item.view().stamps();
        stamps.hit(self.tick);
        item.set_stamps(stamps);
    }

    #[inline]
    pub(crate) fn get(&self, key: &Key, place: Place) -> Ref<'_> {
        self.tenants[key.tenant as usize].table.get(place)
    }

    /// Writes a value.
    #[inline]
    pub(crate) fn set(
        &mut self,
        store: &Store,
        key: &Key,
        found: Option<Place>,
        parts: &Parts,
        now: Now,
    ) -> Result<(), Error> {
        let asks = key.may_be_declined && found.is_none();
        // A write that never fits is not declined, so that the client gets the error.
        let fits = |shard: &Self, size| {
            store.competes.load(Relaxed)
                && size <= store.value_max.load(Relaxed)
                && shard.check_fit(store, key.tenant, size).is_ok()
        };
        if !asks || !self.declines(&store.memory, key, parts.contents(), fits) {
            self.put(store, key, found, parts, now)?;
        }
        self.written(key, now, || (parts.contents(), parts.expires));
        Ok(())
    }

    /// Writes a value without counting the write.
    #[inline]
    fn put(
        &mut self,
        store: &Store,
        key: &Key,
        found: Option<Place>,
        parts: &Parts,
        now: Now,
    ) -> Result<(), Error> {
        self.note_change(key);
        let len = parts.value[0].len() as u64;
        let limit = store.value_max.load(Relaxed);
        if len > limit {
            return Err(Error::TooLong { need: Bytes(len), limit: Bytes(limit) });
        }
        let Some(place) = found else {
            let stamps = self.stamps_of(key);
            return self.insert(store, key, parts, stamps, now);
        };
        if self.lessons.is_some() {
            // The lifetime of the old value ends unread.
            let table = &mut self.tenants[key.tenant as usize].table;
            let (items, mut item) = (table.about(), table.get_mut(place));
            let mut stamps = item.view().stamps();
            let age = stamps.age(self.tick);
            let lived = lived(self.lives.as_ref(), self.reader_slot);
            learn::lives_on(lived, key.tenant, stamps, age, false);
            learn::classify(self.lessons, &mut stamps, age, items);
            item.set_stamps(stamps);
        }
        let tenant = &self.tenants[key.tenant as usize];
        let old = self.collection(key.tenant, place);
        let before = removal::value_before(tenant.removals.as_deref(), tenant.table.get(place));
        match parts.expires {
            None => self.overwrite::<false>(store, key, place, parts, now),
            Some(when) => self.overwrite_dying(store, key, place, parts, when, now),
        }?;
        if let Some((class, tree, _)) = old
            && (!has_tree(parts.kind) || number(parts.value[0]) != tree)
        {
            let freed = self.tenants[key.tenant as usize].discard_tree(class, tree);
            self.give(&store.memory, key.tenant, freed);
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
        store: &Store,
        key: &Key,
        mut place: Place,
        parts: &Parts,
        when: u64,
        now: Now,
    ) -> Result<(), Error> {
        let is_noted = self.get(key, place).expires().is_some_and(|old| old <= when);
        if !is_noted {
            place = self.wheel_beside(store, key, place, now)?;
        }
        self.overwrite::<true>(store, key, place, parts, now)?;
        if !is_noted {
            self.note_expiry(key, when, now);
        }
        Ok(())
    }

    /// Replaces the value of an item. There are two copies of this function, so that a value
    /// without an expiry pays nothing for the others.
    fn overwrite<const DIES: bool>(
        &mut self,
        store: &Store,
        key: &Key,
        mut place: Place,
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
        place = self.chunk_beside(store, key, place, parts.contents(), now)?;
        let tenant = &mut self.tenants[key.tenant as usize];
        let item = tenant.pages.write(parts, stamps);
        let bytes = tenant.exchange(place, key.hash, item);
        self.sweeper.has_idle |= tenant.pages.has_idle();
        tenant.expiry_changes(key.db, had_expiry, DIES);
        self.give(&store.memory, key.tenant, bytes);
        Ok(())
    }

    pub(crate) fn insert(
        &mut self,
        store: &Store,
        key: &Key,
        parts: &Parts,
        stamps: Stamps,
        now: Now,
    ) -> Result<(), Error> {
        let at = key.tenant as usize;
        if parts.expires.is_some() {
            self.wheel_room(store, key.tenant, 0, now)?;
        }
        let mut reserved = 0;
        // Evictions may change the need of the table, and evictions for the table may take away
        // chunks.
        let made = loop {
            let need = self.tenants[at].table.insert_cost(key.hash);
            if need < reserved {
                // Evictions freed so much that the table need not grow; a page may need these
                // bytes.
                self.give(&store.memory, key.tenant, reserved - need);
                reserved = need;
            }
            if !self.has_chunk(key.tenant, parts.contents())
                && let Err(error) = self.chunk_room(store, key.tenant, parts.contents(), 0, now)
            {
                break Err(error);
            }
            let need = self.tenants[at].table.insert_cost(key.hash);
            if need <= reserved {
                break Ok(());
            }
            if let Err(error) = self.make_room(store, key.tenant, need - reserved, 0, now) {
                break Err(error);
            }
            reserved = need;
        };
        if let Err(error) = made {
            self.release_unwritten(store, key.tenant);
            self.give(&store.memory, key.tenant, reserved);
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
        self.give(&store.memory, key.tenant, rest);
        if let Some(when) = parts.expires {
            self.note_expiry(key, when, now);
        }
        Ok(())
    }

    /// Appends to a value.
    pub(crate) fn append(
        &mut self,
        store: &Store,
        key: &Key,
        place: Place,
        more: &[u8],
        now: Now,
    ) -> Result<(), Error> {
        let item = self.get(key, place);
        let (len, expires) = (item.value().len() as u64 + more.len() as u64, item.expires());
        let limit = store.value_max.load(Relaxed);
        if len > limit {
            return Err(Error::TooLong { need: Bytes(len), limit: Bytes(limit) });
        }
        let TenantShard { table, pages, .. } = &mut self.tenants[key.tenant as usize];
        let mut item = table.get_mut(place);
        let contents = if item.append(pages.classes(), more) {
            item.view().contents()
        } else {
            self.rebuild(store, key, place, more, expires, now)?
        };
        self.written(key, now, || (contents, expires));
        Ok(())
    }

    /// Overwrites a part of a value.
    fn patch(&mut self, key: &Key, place: Place, at: usize, bytes: &[u8], now: Now) {
        let mut item = self.tenants[key.tenant as usize].table.get_mut(place);
        if item.patch(at, bytes) {
            let (contents, expires) = (item.view().contents(), item.view().expires());
            self.written(key, now, || (contents, expires));
        }
    }

    /// Changes the expiry.
    fn set_expires(
        &mut self,
        store: &Store,
        key: &Key,
        place: Place,
        expires: Option<u64>,
        now: Now,
    ) -> Result<(), Error> {
        let old = self.get(key, place).expires();
        let noted = expires.filter(|&when| old.is_none_or(|old| when < old));
        let place = match noted {
            Some(_) => self.wheel_beside(store, key, place, now)?,
            None => place,
        };
        let TenantShard { table, pages, .. } = &mut self.tenants[key.tenant as usize];
        let mut item = table.get_mut(place);
        if !item.set_expires(pages.classes(), expires) {
            self.rebuild(store, key, place, b"", expires, now)?;
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
        store: &Store,
        key: &Key,
        place: Place,
        more: &[u8],
        expires: Option<u64>,
        now: Now,
    ) -> Result<u64, Error> {
        let item = self.get(key, place);
        let contents = item.parts([item.value(), more], expires).contents();
        let place = self.chunk_beside(store, key, place, contents, now)?;
        let tenant = &mut self.tenants[key.tenant as usize];
        let copy = tenant.copy(place, more, expires);
        let bytes = tenant.exchange(place, key.hash, copy);
        self.sweeper.has_idle |= tenant.pages.has_idle();
        self.give(&store.memory, key.tenant, bytes);
        Ok(contents)
    }

    /// Shows the item to `f`, and makes the change that it returns.
    #[inline]
    pub(crate) fn update<'v, R>(
        &mut self,
        store: &Store,
        key: &Key,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        self.tick += 1;
        let found = self.find(key, now, &store.memory);
        if let Some(place) = found {
            self.hit(key, place);
        }
        let item = found.map(|place| self.view(key, place));
        let (change, result) = f(item.as_ref());
        self.apply(store, key, found, &change, now)?;
        Ok(result)
    }

    /// Makes a change, such as the result of the closure of
    /// [`Store::update`](crate::Store::update).
    pub(crate) fn apply(
        &mut self,
        store: &Store,
        key: &Key,
        found: Option<Place>,
        change: &Change,
        now: Now,
    ) -> Result<(), Error> {
        self.note_change(key);
        match (change, found) {
            (Change::Set { value, kind, expires }, _) => {
                self.set(store, key, found, &Parts::of(key, value, *kind, *expires), now)
            }
            (Change::Hold { value, kind, expires }, _) => {
                self.put(store, key, found, &Parts::of(key, value, *kind, *expires), now)
            }
            (Change::Append(value), None) => {
                self.set(store, key, None, &Parts::of(key, value, 0, None), now)
            }
            (Change::Append(more), Some(place)) => self.append(store, key, place, more, now),
            (Change::Patch(at, bytes), Some(place)) => {
                self.patch(key, place, *at, bytes, now);
                Ok(())
            }
            (Change::Expire(expires), Some(place)) => {
                self.set_expires(store, key, place, *expires, now)
            }
            (Change::Remove, Some(place)) => {
                self.delete(&store.memory, key, place, now);
                Ok(())
            }
            (Change::Keep, _) | (Change::Patch(..) | Change::Expire(_) | Change::Remove, None) => {
                Ok(())
            }
        }
    }

    /// Removes an item on request.
    pub(crate) fn delete(&mut self, memory: &Memory, key: &Key, place: Place, now: Now) {
        let tenant = &self.tenants[key.tenant as usize];
        let item = tenant.table.get(place);
        self.tap.see(key, now, self.tick, Sighting::Delete, || Seen {
            size: tenant.charge_of(item),
            expires: item.expires(),
            ..Seen::NOTHING
        });
        let bytes = self.remove(key.tenant, place, Exit::Deleted);
        self.stopwatch.forget(key.hash);
        memory.give(bytes);
        self.shrink(memory, key.tenant);
    }

    /// Calls [`Shard::written`] for the item in the table.
    pub(crate) fn written_anew(&mut self, key: &Key, now: Now) {
        let table = &self.tenants[key.tenant as usize].table;
        if let Some(place) = table.find(key.hash, key.db, key.bytes) {
            let item = table.get(place);
            let (contents, expires) = (item.contents(), item.expires());
            self.written(key, now, || (contents, expires));
        }
    }

    /// Sets the birth of an item to its last write.
    #[cold]
    fn renew(&mut self, key: &Key) {
        let table = &mut self.tenants[key.tenant as usize].table;
        if let Some(place) = table.find(key.hash, key.db, key.bytes) {
            let mut item = table.get_mut(place);
            let stamps = item.view().stamps().renewed(self.tick);
            item.set_stamps(stamps);
        }
    }

    /// After a write: counts it, informs the tap, and stops the stopwatch.
    #[inline]
    pub(crate) fn written(
        &mut self,
        key: &Key,
        now: Now,
        item: impl FnOnce() -> (u64, Option<u64>),
    ) {
        self.tenants[key.tenant as usize].counters.sets += 1;
        if self.renews {
            self.renew(key);
        }
        if self.stopwatch.is_on() {
            self.fetch_ends(key, now);
        }
        let TenantShard { table, pages, trees, .. } = &self.tenants[key.tenant as usize];
        self.tap.see(key, now, self.tick, Sighting::Write, || {
            let (contents, expires) = item();
            let found = table.find(key.hash, key.db, key.bytes).map(|place| table.get(place));
            let stamps = found.map_or_else(Stamps::default, Ref::stamps);
            let tree = found.map_or(0, |item| trees.bytes_of(item));
            Seen { size: pages.classes().charge(contents) + tree, expires, stamps }
        });
    }

    /// Stops the stopwatch after a write.
    #[inline(never)]
    fn fetch_ends(&mut self, key: &Key, now: Now) {
        let fetched = self.stopwatch.stop(key.hash, now.micros);
        if let Some(fetched) = fetched {
            let waiters = if let Fetched::In(_, waiters) = fetched { waiters } else { 0 };
            self.fetched(key, fetched, 1 + u64::from(waiters));
        }
        self.class_is_written(key, fetched.is_some());
    }

    /// Removes the items of a tenant in a database, or in all. Returns how many it removed.
    pub(crate) fn flush_db(&mut self, memory: &Memory, at: TenantId, db: Option<u8>) -> u64 {
        self.note_flush(Scope { tenant: Some(at), db });
        let (mut removed, mut position) = (0, 0);
        while position < END {
            let tenant = &self.tenants[at as usize];
            let is_wanted = |item: Ref, _| db.is_none_or(|db| item.db() == db);
            let Some(place) = tenant.table.find_at(position, is_wanted) else {
                position = tenant.table.next(position);
                continue;
            };
            memory.give(self.remove(at, place, Exit::Flushed));
            removed += 1;
        }
        while self.shrink(memory, at) {}
        removed
    }

    /// A random live item of `scope`, if a few draws or a walk find one here.
    pub(crate) fn draw(&mut self, scope: Scope, now: Now) -> Option<(TenantId, Place)> {
        let len = |at: usize, tenant: &TenantShard| match scope.tenant {
            Some(only) if usize::from(only) != at => 0,
            _ => tenant.len(scope.db).items,
        };
        let lens: Vec<_> = self.tenants.iter().enumerate().map(|(at, t)| len(at, t)).collect();
        let total = lens.iter().sum::<u64>();
        if total == 0 {
            return None;
        }
        let mut r = self.prng.below(total);
        let at = lens.iter().position(|&len| {
            let is_mine = r < len;
            r = r.wrapping_sub(len);
            is_mine
        })?;
        let fits =
            |item: Ref| scope.db.is_none_or(|db| item.db() == db) && !item.is_dead(now.unix_ms);
        let table = &self.tenants[at].table;
        for _ in 0..DRAWS {
            let (place, word) = table.draw(&mut self.prng);
            if word != 0 && fits(table.get(place)) {
                return Some((at as TenantId, place));
            }
        }
        for start in [self.prng.below(END), 0] {
            let mut position = start;
            while position < END {
                if let Some(place) = table.find_at(position, |item, _| fits(item)) {
                    return Some((at as TenantId, place));
                }
                position = table.next(position);
            }
        }
        None
    }

    /// Gives back bytes of a tenant.
    #[inline]
    pub(crate) fn give(&self, memory: &Memory, tenant: TenantId, bytes: u64) {
        self.tenants[tenant as usize].account.give(bytes);
        memory.give(bytes);
    }

    /// Merges a bucket of the tenant's table if the table has become sparse and there is room for
    /// the merge. Returns whether it did.
    pub(crate) fn shrink(&mut self, memory: &Memory, tenant: TenantId) -> bool {
        let seed = self.seed;
        let TenantShard { table, account, .. } = &mut self.tenants[tenant as usize];
        if !table.is_sparse() {
            return false;
        }
        let (cost, before) = (table.merge_cost(), table.bytes());
        if !account.try_take(cost) {
            return false;
        }
        if !memory.try_take(cost) {
            account.give(cost);
            return false;
        }
        table.merge(seed);
        let bytes = before + cost - table.bytes();
        self.give(memory, tenant, bytes);
        true
    }
}
