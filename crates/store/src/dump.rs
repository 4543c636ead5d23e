//! Items away: copied out to wherever the caller keeps them, and brought back unless outdated.
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
//! The index says of which keys the copy is what a client would read had it never left. It changes
//! under the lock under which the item changes, so there is no moment at which a copy is believed
//! that a client has gone beyond: whatever writes or removes a key takes it out of the index,
//! whether or not the item itself is still here. An item that is evicted, or dies of age, leaves
//! its copy as good as it was, for a copy dies when its item does.
//!
//! The index names a block for each hash, so of two copies of a key only the later counts, and two
//! keys with the same 64 bits are one to it: a write to either kills both. It takes 17 bytes for a
//! place, 20 to 39 for an item, charged to the tenant like its items.
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

/// Bytes of a place of the index.
const PLACE: u64 = (size_of::<(u64, u64)>() + 1) as u64;
/// Items that a step makes room for in the index: more than any that it copies.
const STEP_MAX: usize = 256;
/// Bytes charged for an item above which it stays: its copy would take the lock for too long.
const ITEM_MAX: u64 = 256 << 10;
/// Buckets a step looks at.
const BUCKETS: usize = 32;

/// A step of a dump, and its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Dump {
    /// The tenant that owns the items.
    pub tenant: TenantId,
    /// Only those unused for so many accesses to their part of the store.
    pub idle_min: u32,
    /// The number that the caller will find the copies by; a later dump has a higher one.
    pub block: u64,
    /// Bytes after which the step ends, more or less.
    pub most: usize,
    /// Also those of which there is a good copy, which is void then.
    pub again: bool,
}

/// The outcome of bringing a copy back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// It is an item again.
    Back,
    /// The item never left.
    Here,
    /// It is dead: of age, or because a client has written or removed its key since.
    Outdated,
}

/// The copies of a tenant in one shard that are as good as the item.
#[derive(Debug, Default)]
pub(crate) struct Away {
    /// By hash: the block shifted by eight bits, and the database.
    index: KeyMap<u64>,
    /// Bytes that it is charged for.
    pub(crate) bytes: u64,
}

impl Away {
    /// Bytes of an index with room for so many.
    fn bytes_for(capacity: usize) -> u64 {
        (capacity * 8).div_ceil(7).next_power_of_two() as u64 * PLACE
    }

    /// A client has gone beyond the copy.
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
    /// A client removed all of a tenant, or all of it in a database.
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

    /// Sees to it that the index of a tenant takes a step's items without growing.
    fn room_in_index(&mut self, store: &Store, at: TenantId, now: Now) -> Result<(), Error> {
        let TenantShard { table, away, .. } = &mut self.tenants[usize::from(at)];
        let index = &away.get_or_insert_default().index;
        let need = index.len() + STEP_MAX;
        if need <= index.capacity() {
            return Ok(());
        }
        // At once for all that may come, so that it need not grow, which takes long, by steps.
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

    /// The outcome for a copy in this block that is not wanted back; none of one that is. In any
    /// case the item is away no more.
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

    /// Makes a copy an item again, as old as it was. Makes room like any write; counts as no
    /// request.
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
        // Each is an operation for itself, though it is no access.
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
    /// Copies some items of a tenant. Each is shown to `visit`, and there is a good copy of it from
    /// then on. Pass 0 first, then what the last call returned, until it returns
    /// none.
    ///
    /// # Errors
    /// There is no room for the index, whatever is evicted.
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

    /// Makes an item leave of which there is a good copy in this block. Whether it did: a client
    /// may have gone beyond the copy, or the item may have left by itself.
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

    /// The copy of an item in this block was lost, or is not wanted.
    pub fn revoke(&self, key: &Key, block: u64) {
        if let Some(away) = &mut self.shard(key).tenants[usize::from(key.tenant)].away {
            away.take(key, block);
        }
    }

    /// Brings a copy back, as old as it was when it was made, if it is still good and the item is
    /// not here. In any case it is away no more. It makes room like any write, and counts as no
    /// request.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn load(&self, key: &Key, block: u64, saved: &Saved, now: Now) -> Result<Loaded, Error> {
        let mut shard = self.shard(key);
        if let Some(other) = shard.is_wanted_back(self, key, block, saved, now) {
            return Ok(other);
        }
        shard.bring_back(self, key, saved, now)?;
        Ok(Loaded::Back)
    }

    /// How many good copies of a tenant's items there are, and the bytes of the index.
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

    /// No copy of a tenant's items is good any more.
    pub fn forget_away(&self, tenant: TenantId) {
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            if usize::from(tenant) < shard.tenants.len() {
                shard.drop_index(self, tenant);
            }
        }
    }
}
