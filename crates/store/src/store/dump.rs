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

use crate::bytes::key::hash_of;
use crate::compression::outside::StoredForm;
use crate::contents::contents::ShardClock;
use crate::contents::contents::{Contents, view};
use crate::contents::copies::STEP_MAX;
use crate::items::dump_index::Loaded;
use crate::items::table::item_table::END;
use crate::items::trees::trees::SMALL_TREE;
use crate::items::view::Saved;
use crate::learning::exit::Exit;
use crate::tenant::tenant::TenantShard;
use crate::{Error, Key, Now, ScanItem, Store};
use base::{Bytes, TenantId};

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

impl Store {
    /// Copies some items of a tenant. `visit` receives each item with its value as it is stored,
    /// and its copy is valid from then on. Pass 0 as the first cursor, then the last result, until
    /// the result is `None`.
    ///
    /// # Errors
    /// If there is no room for the index, whatever is evicted.
    pub fn dump(
        &self,
        dump: &Dump,
        cursor: u64,
        now: Now,
        mut visit: impl FnMut(&ScanItem, StoredForm),
    ) -> Result<Option<u64>, Error> {
        let (at, mut position) = ((cursor >> 32) as usize, cursor & (END - 1));
        let Some(shard) = self.shards.get(at) else { return Ok(None) };
        let next = Ok(Some((at as u64 + 1) << 32));
        let mut shard = shard.write_drained();
        let tenant = shard.contents().tenants.get(usize::from(dump.tenant));
        if tenant.is_none_or(|tenant| tenant.table.len() == 0) {
            return next;
        }
        shard.room_in_index(&self.around(), dump.tenant, now)?;
        let seed = self.seed;
        let Contents { tenants, clock: ShardClock { tick, .. }, .. } = shard.contents_mut();
        let TenantShard { table, pages, trees, away: Some(away), compressed, .. } =
            &mut tenants[usize::from(dump.tenant)]
        else {
            return next;
        };
        let sizes = pages.classes();
        let (mut copied, mut bytes) = (0, 0);
        for _ in 0..BUCKETS {
            let mut items = 0;
            table.walk(seed, position, |_| items += 1);
            // Each bucket is looked at as a whole, with room in the index for all of its items.
            if copied > 0 && copied + items > STEP_MAX {
                break;
            }
            position = table.walk(seed, position, |item| {
                let hash = hash_of(seed, item.db(), item.key());
                let is_wanted = !item.is_dead(now.unix_ms)
                    && item.stamps().age(*tick) >= dump.idle_min
                    && sizes.charge(item.contents()) <= ITEM_MAX
                    && trees.bytes_of(item) <= SMALL_TREE
                    && copied < STEP_MAX
                    && (dump.again || !away.index.contains_key(&hash));
                if !is_wanted {
                    return;
                }
                let form = if item.is_compressed() {
                    compressed.form(item.value())
                } else {
                    Some(StoredForm::Plain)
                };
                let Some(form) = form else { return };
                away.index.insert(hash, dump.block << 8 | u64::from(item.db()));
                copied += 1;
                let (tenant, db, key) = (dump.tenant, item.db(), item.key());
                let stamps = item.stamps();
                let tree = trees.bytes_of(item) as usize;
                let item = view(item, stamps, stamps.age(*tick), sizes, trees);
                bytes += key.len() + item.value.len() + tree;
                visit(&ScanItem { tenant, db, key, item }, form);
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
        let tenant = shard.contents().tenant(key.tenant);
        if tenant.away.as_ref().is_none_or(|away| !away.has(key, block)) {
            return false;
        }
        let Some(place) = tenant.table.find(key.hash, key.db, key.bytes) else { return false };
        self.budget.memory.take_back(shard.contents_mut().take_out(
            key.tenant,
            place,
            Exit::Dumped,
        ));
        shard.contents_mut().shrink(&self.budget.memory, key.tenant);
        true
    }

    /// Invalidates the copy of an item in this block, because it was lost or is not wanted.
    pub fn revoke(&self, key: &Key, block: u64) {
        if let Some(away) = &mut self.shard(key).contents_mut().tenant_mut(key.tenant).away {
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
        if let Some(other) =
            shard.contents_mut().is_wanted_back(key, block, saved, now, &self.budget.memory)
        {
            return Ok(other);
        }
        shard.load_back(&self.around(), key, saved, now)?;
        Ok(Loaded::Back)
    }

    /// The number of valid copies of a tenant's items, and the bytes of the index.
    pub fn away(&self, tenant: TenantId) -> (u64, Bytes) {
        let (mut items, mut bytes) = (0, 0);
        for shard in &self.shards {
            let shard = shard.write_drained();
            let away =
                shard.contents().tenants.get(usize::from(tenant)).and_then(|t| t.away.as_ref());
            items += away.map_or(0, |away| away.index.len() as u64);
            bytes += away.map_or(0, |away| away.bytes);
        }
        (items, Bytes(bytes))
    }

    /// Invalidates all copies of a tenant's items.
    pub fn forget_away(&self, tenant: TenantId) {
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            let contents = shard.contents_mut();
            if usize::from(tenant) < contents.tenants.len() {
                self.budget.memory.take_back(contents.drop_index(tenant));
            }
        }
    }
}
