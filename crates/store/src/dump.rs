//! Dumped items: copied out to the caller's disk, and brought back unless they are outdated.
//!
//! ```text
//!   dump ──▶ copy, and its key's hash into the index ──▶ the caller writes a block ──▶ release
//!                      │                                                               (or stays)
//!                      ▼ a write, a removal, a flush of the key
//!                   out of the index: the copy is dead
//!                      │
//!   load ◀── only what the index still names, in the block it names; then it names it no more
//! ```
//!
//! The index names the keys whose copy equals the value that a client would read if the item were
//! still resident. It changes under the same lock as the item, so an outdated copy is never valid,
//! not even for a moment. Every write or removal of a key deletes its entry in the index, whether
//! or not the item itself is resident. An item that is evicted or expires leaves its copy valid,
//! because a copy expires with its item.
//!
//! The index stores one block per hash, so of two copies of a key only the later one counts. Two
//! keys with the same 64 bits are one key to the index: a write to either invalidates both. The
//! index takes 17 bytes per place, 20 to 39 per item, charged to the tenant like its items.
//!
//! A step locks one shard and copies a few items, and it never copies a long value.

use crate::evict::Exit;
use crate::item::Parts;
use crate::key::hash_of;
use crate::learn::classify;
use crate::restore::Saved;
use crate::shard::{Shard, view};
use crate::table::END;
use crate::tenant::TenantShard;
use crate::trees::SMALL_TREE;
use crate::{Error, Key, Now, ScanItem, Store};
use base::hash::KeyMap;
use base::penalty::CLASSES;
use base::{Bytes, TenantId};
use policy::rank::{Lessons, Stamps};
use std::sync::atomic::Ordering::Relaxed;

/// Bytes per place of the index.
const PLACE: u64 = (size_of::<(u64, u64)>() + 1) as u64;
/// Most items that a step copies, and for which it reserves places in the index.
const STEP_MAX: usize = 256;
/// Items charged more bytes than this are not copied, because the lock would be held for too long.
const ITEM_MAX: u64 = 256 << 10;
/// Buckets that a step looks at.
const BUCKETS: usize = 32;

/// A step of a dump, and its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Dump {
    /// The tenant that owns the items.
    pub tenant: TenantId,
    /// Only items unused for this many accesses to their shard are copied.
    pub idle_min: u32,
    /// The block number under which the caller will store the copies; a later dump has a higher
    /// one.
    pub block: u64,
    /// Number of bytes after which the step ends, approximately.
    pub most: usize,
    /// Whether to copy items again that have a valid copy. The old copy is invalid then.
    pub again: bool,
}

/// The outcome of bringing a copy back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The copy is an item again.
    Back,
    /// The item is still resident.
    Here,
    /// The copy is invalid: it has expired, or a client has written or removed its key since.
    Outdated,
}

/// The valid copies of a tenant's items in one shard.
#[derive(Debug, Default)]
pub(crate) struct Away {
    /// By hash: the block shifted by eight bits, and the database.
    index: KeyMap<u64>,
    /// Bytes charged for the index.
    pub(crate) bytes: u64,
}

impl Away {
    /// Bytes of an index with room for `capacity` entries.
    fn bytes_for(capacity: usize) -> u64 {
        (capacity * 8).div_ceil(7).next_power_of_two() as u64 * PLACE
    }

    /// Invalidates the copy of a key that a client has changed.
    #[inline]
    pub(crate) fn outdate(&mut self, hash: u64) {
        self.index.remove(&hash);
    }

    fn has(&self, key: &Key, block: u64) -> bool {
        self.index.get(&key.hash) == Some(&(block << 8 | u64::from(key.db)))
    }

    fn take(&mut self, key: &Key, block: u64) -> bool {
        let has = self.has(key, block);
        if has {
            self.index.remove(&key.hash);
        }
        has
    }
}

impl Shard {
    /// Invalidates the copies after a client removed all items of a tenant, or all in one database.
    pub(crate) fn outdate_all(&mut self, store: &Store, at: TenantId, db: Option<u8>) {
        let tenant = &mut self.tenants[usize::from(at)];
        if let Some(away) = &mut tenant.away {
            away.index.retain(|_, of| db.is_some_and(|db| *of as u8 != db));
            if away.index.is_empty() {
                self.drop_index(store, at);
            }
        }
    }

    fn drop_index(&mut self, store: &Store, at: TenantId) {
        if let Some(away) = self.tenants[usize::from(at)].away.take() {
            self.give(&store.memory, at, away.bytes);
        }
    }

    /// Ensures that the index of a tenant takes a step's items without growing.
    fn room_in_index(&mut self, store: &Store, at: TenantId, now: Now) -> Result<(), Error> {
        let TenantShard { table, away, .. } = &mut self.tenants[usize::from(at)];
        let index = &away.get_or_insert_default().index;
        let need = index.len() + STEP_MAX;
        if need <= index.capacity() {
            return Ok(());
        }
        // The index gets its final size at once, because growing in steps takes long.
        let capacity = need.max(table.len() + STEP_MAX);
        let bytes = Away::bytes_for(capacity);
        self.pausing.close();
        let room = self.make_room(store, at, bytes, 0, now);
        room?;
        let away = self.tenants[usize::from(at)].away.get_or_insert_default();
        let mut wider = KeyMap::with_capacity_and_hasher(capacity, <_>::default());
        wider.extend(away.index.drain());
        away.index = wider;
        let old = std::mem::replace(&mut away.bytes, bytes);
        self.give(&store.memory, at, old);
        Ok(())
    }

    /// The outcome if a copy in this block must not be brought back; `None` if it may. In any case
    /// the key is removed from the index.
    pub(crate) fn is_wanted_back(
        &mut self,
        store: &Store,
        key: &Key,
        block: u64,
        saved: &Saved,
        now: Now,
    ) -> Option<Loaded> {
        let tenant = &mut self.tenants[usize::from(key.tenant)];
        let is_good = tenant.away.as_mut().is_some_and(|away| away.take(key, block));
        if !is_good || saved.expires.is_some_and(|expires| expires < now.unix_ms) {
            return Some(Loaded::Outdated);
        }
        self.find(key, now, &store.memory).map(|_| Loaded::Here)
    }

    /// Turns a copy back into an item of the same age. It makes room like any write, but does not
    /// count as a request.
    pub(crate) fn bring_back(
        &mut self,
        store: &Store,
        key: &Key,
        saved: &Saved,
        now: Now,
    ) -> Result<(), Error> {
        let len = saved.value.len() as u64;
        let limit = store.value_max.load(Relaxed);
        if len > limit {
            return Err(Error::TooLong { need: Bytes(len), limit: Bytes(limit) });
        }
        // Each is an operation of its own, although it is not an access.
        self.pausing.close();
        let mut stamps =
            Stamps::aged(self.tick, saved.idle, saved.penalty_class.min(CLASSES), saved.hits)
                .used_for(saved.in_use);
        if self.lessons == Some(Lessons::Watched) {
            let items = self.tenants[usize::from(key.tenant)].table.about();
            classify(self.lessons, &mut stamps, 0, items.max(saved.beside));
        }
        let parts = Parts::of(key, saved.value, saved.kind, saved.expires);
        self.insert(store, key, &parts, stamps, now)
    }
}

impl Store {
    /// Copies some items of a tenant. `visit` receives each item, and its copy is valid from then
    /// on. Pass 0 as the first cursor, then the last result, until the result is `None`.
    ///
    /// # Errors
    /// If there is no room for the index, whatever is evicted.
    pub fn dump(
        &self,
        dump: &Dump,
        cursor: u64,
        now: Now,
        mut visit: impl FnMut(&ScanItem),
    ) -> Result<Option<u64>, Error> {
        let (at, mut position) = ((cursor >> 32) as usize, cursor & (END - 1));
        let Some(shard) = self.shards.get(at) else { return Ok(None) };
        let next = Ok(Some((at as u64 + 1) << 32));
        let mut shard = shard.write_drained();
        if shard.tenants.get(usize::from(dump.tenant)).is_none_or(|tenant| tenant.table.len() == 0)
        {
            return next;
        }
        shard.room_in_index(self, dump.tenant, now)?;
        let Shard { tenants, tick, seed, .. } = &mut *shard;
        let TenantShard { table, pages, trees, away: Some(away), .. } =
            &mut tenants[usize::from(dump.tenant)]
        else {
            return next;
        };
        let sizes = pages.classes();
        let (mut copied, mut bytes) = (0, 0);
        for _ in 0..BUCKETS {
            position = table.walk(*seed, position, |item| {
                let hash = hash_of(*seed, item.db(), item.key());
                let is_wanted = !item.is_dead(now.unix_ms)
                    && item.stamps().age(*tick) >= dump.idle_min
                    && sizes.charge(item.contents()) <= ITEM_MAX
                    && trees.bytes_of(item) <= SMALL_TREE
                    && copied < STEP_MAX
                    && (dump.again || !away.index.contains_key(&hash));
                if !is_wanted {
                    return;
                }
                away.index.insert(hash, dump.block << 8 | u64::from(item.db()));
                copied += 1;
                bytes += item.key().len() + item.value().len() + trees.bytes_of(item) as usize;
                let (tenant, db, key) = (dump.tenant, item.db(), item.key());
                let stamps = item.stamps();
                let item = view(item, stamps, stamps.age(*tick), sizes, trees);
                visit(&ScanItem { tenant, db, key, item });
            });
            if position >= END {
                return next;
            }
            if bytes >= dump.most {
                break;
            }
        }
        Ok(Some((at as u64) << 32 | position))
    }

    /// Removes an item that has a valid copy in this block. Returns whether it did: a client may
    /// have changed the key, or the item may no longer be resident.
    pub fn release(&self, key: &Key, block: u64) -> bool {
        let mut shard = self.shard(key);
        let tenant = &shard.tenants[usize::from(key.tenant)];
        if tenant.away.as_ref().is_none_or(|away| !away.has(key, block)) {
            return false;
        }
        let Some(place) = tenant.table.find(key.hash, key.db, key.bytes) else { return false };
        self.memory.give(shard.remove(key.tenant, place, Exit::Dumped));
        shard.shrink(&self.memory, key.tenant);
        true
    }

    /// Invalidates the copy of an item in this block, because it was lost or is not wanted.
    pub fn revoke(&self, key: &Key, block: u64) {
        if let Some(away) = &mut self.shard(key).tenants[usize::from(key.tenant)].away {
            away.take(key, block);
        }
    }

    /// Turns a copy back into an item of the same age, if the copy is valid and the item is not
    /// resident. In any case the key is removed from the index. It makes room like any write, but
    /// does not count as a request.
    ///
    /// # Errors
    /// If there is no room for the item.
    pub fn load(&self, key: &Key, block: u64, saved: &Saved, now: Now) -> Result<Loaded, Error> {
        let mut shard = self.shard(key);
        if let Some(other) = shard.is_wanted_back(self, key, block, saved, now) {
            return Ok(other);
        }
        shard.bring_back(self, key, saved, now)?;
        Ok(Loaded::Back)
    }

    /// The number of valid copies of a tenant's items, and the bytes of the index.
    pub fn away(&self, tenant: TenantId) -> (u64, Bytes) {
        let (mut items, mut bytes) = (0, 0);
        for shard in &self.shards {
            let shard = shard.write_drained();
            let away = shard.tenants.get(usize::from(tenant)).and_then(|t| t.away.as_ref());
            items += away.map_or(0, |away| away.index.len() as u64);
            bytes += away.map_or(0, |away| away.bytes);
        }
        (items, Bytes(bytes))
    }

    /// Invalidates all copies of a tenant's items.
    pub fn forget_away(&self, tenant: TenantId) {
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            if usize::from(tenant) < shard.tenants.len() {
                shard.drop_index(self, tenant);
            }
        }
    }
}
