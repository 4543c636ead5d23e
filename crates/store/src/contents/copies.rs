//! Dumped items of a shard: the index of their copies.

use crate::bytes::freed::Freed;
use crate::bytes::memory::Memory;
use crate::contents::contents::Contents;
use crate::items::dump_index::{DumpIndex, Loaded};
use crate::items::view::Saved;
use crate::learning::lifetimes::classify;
use crate::tenant::tenant::TenantShard;
use crate::{Key, Now};
use base::TenantId;
use base::hash::KeyMap;
use base::penalty::CLASSES;
use policy::rank::{Lessons, Stamps};

/// Most items that a step copies, and for which it reserves places in the index.
pub(crate) const STEP_MAX: usize = 256;

impl Contents {
    /// Invalidates the copies after a client removed all items of a tenant, or all in one database.
    pub(crate) fn outdate_all(&mut self, at: TenantId, db: Option<u8>) -> Freed {
        if let Some(away) = &mut self.tenant_mut(at).away {
            away.index.retain(|_, of| db.is_some_and(|db| *of as u8 != db));
            if away.index.is_empty() {
                return self.drop_index(at);
            }
        }
        Freed::NOTHING
    }

    /// Invalidates all copies of a tenant's items.
    pub(crate) fn drop_index(&mut self, at: TenantId) -> Freed {
        let tenant = self.tenant_mut(at);
        let bytes = tenant.away.take().map_or(0, |away| away.bytes);
        tenant.account.release(bytes)
    }

    /// The number of places and the bytes of an index that takes a step's items, if the tenant's
    /// index would have to grow for them.
    pub(crate) fn need_of_index(&mut self, at: TenantId) -> Option<(usize, u64)> {
        let TenantShard { table, away, .. } = self.tenant_mut(at);
        let index = &away.get_or_insert_default().index;
        let need = index.len() + STEP_MAX;
        // The index gets its final size at once, because growing in steps takes long.
        let capacity = need.max(table.len() + STEP_MAX);
        (need > index.capacity()).then(|| (capacity, DumpIndex::bytes_for(capacity)))
    }

    /// Gives the index of a tenant as many places, with reserved bytes. Returns the bytes that it
    /// had before.
    pub(crate) fn widen_index(&mut self, at: TenantId, capacity: usize, bytes: u64) -> Freed {
        let TenantShard { away, account, .. } = self.tenant_mut(at);
        let away = away.get_or_insert_default();
        let mut wider = KeyMap::with_capacity_and_hasher(capacity, <_>::default());
        wider.extend(away.index.drain());
        away.index = wider;
        account.release(std::mem::replace(&mut away.bytes, bytes))
    }

    /// The outcome if a copy in this block must not be brought back; `None` if it may. In any case
    /// the key is removed from the index.
    pub(crate) fn is_wanted_back(
        &mut self,
        key: &Key,
        block: u64,
        saved: &Saved,
        now: Now,
        memory: &Memory,
    ) -> Option<Loaded> {
        let tenant = self.tenant_mut(key.tenant);
        let is_good = tenant.away.as_mut().is_some_and(|away| away.take(key, block));
        if !is_good || saved.expires.is_some_and(|expires| expires < now.unix_ms) {
            return Some(Loaded::Outdated);
        }
        self.find(key, now, memory).map(|_| Loaded::Here)
    }

    /// The stamps of a copy that becomes an item again, of the same age.
    pub(crate) fn stamps_of_saved(&self, key: &Key, saved: &Saved) -> Stamps {
        let class = saved.penalty_class.min(CLASSES);
        let mut stamps =
            Stamps::aged(self.clock.tick, saved.idle, class, saved.hits).used_for(saved.in_use);
        if self.lessons == Some(Lessons::Watched) {
            let items = self.tenant(key.tenant).table.about();
            classify(self.lessons, &mut stamps, 0, items.max(saved.beside));
        }
        stamps
    }
}
