//! Dumped items of a shard: the index of their copies, and copies that become items again.

use crate::contents::dump_index::{DumpIndex, Loaded};
use crate::contents::tenant::TenantShard;
use crate::items::item::Parts;
use crate::items::view::Saved;
use crate::learning::lifetimes::classify;
use crate::room::budget::Around;
use crate::shard::shard::Shard;
use crate::{Error, Key, Now};
use base::hash::KeyMap;
use base::penalty::CLASSES;
use base::{Bytes, TenantId};
use policy::rank::{Lessons, Stamps};
use std::sync::atomic::Ordering::Relaxed;

impl Shard {
    /// Invalidates the copies after a client removed all items of a tenant, or all in one database.
    pub(crate) fn outdate_all(&mut self, around: &Around<'_>, at: TenantId, db: Option<u8>) {
        let tenant = &mut self.tenants[usize::from(at)];
        if let Some(away) = &mut tenant.away {
            away.index.retain(|_, of| db.is_some_and(|db| *of as u8 != db));
            if away.index.is_empty() {
                self.drop_index(around, at);
            }
        }
    }

    pub(crate) fn drop_index(&mut self, around: &Around<'_>, at: TenantId) {
        if let Some(away) = self.tenants[usize::from(at)].away.take() {
            self.give(&around.budget.memory, at, away.bytes);
        }
    }

    /// Ensures that the index of a tenant takes a step's items without growing.
    pub(crate) fn room_in_index(
        &mut self,
        around: &Around<'_>,
        at: TenantId,
        now: Now,
    ) -> Result<(), Error> {
        let TenantShard { table, away, .. } = &mut self.tenants[usize::from(at)];
        let index = &away.get_or_insert_default().index;
        let need = index.len() + STEP_MAX;
        if need <= index.capacity() {
            return Ok(());
        }
        // The index gets its final size at once, because growing in steps takes long.
        let capacity = need.max(table.len() + STEP_MAX);
        let bytes = DumpIndex::bytes_for(capacity);
        self.eviction_times.close();
        let room = self.make_room(around, at, bytes, 0, now);
        room?;
        let away = self.tenants[usize::from(at)].away.get_or_insert_default();
        let mut wider = KeyMap::with_capacity_and_hasher(capacity, <_>::default());
        wider.extend(away.index.drain());
        away.index = wider;
        let old = std::mem::replace(&mut away.bytes, bytes);
        self.give(&around.budget.memory, at, old);
        Ok(())
    }

    /// The outcome if a copy in this block must not be brought back; `None` if it may. In any case
    /// the key is removed from the index.
    pub(crate) fn is_wanted_back(
        &mut self,
        around: &Around<'_>,
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
        self.find(key, now, &around.budget.memory).map(|_| Loaded::Here)
    }

    /// Turns a copy back into an item of the same age. It makes room like any write, but does not
    /// count as a request.
    pub(crate) fn load_back(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        saved: &Saved,
        now: Now,
    ) -> Result<(), Error> {
        let len = saved.value.len() as u64;
        let limit = around.budget.value_max.load(Relaxed);
        if len > limit {
            return Err(Error::TooLong { need: Bytes(len), limit: Bytes(limit) });
        }
        // Each is an operation of its own, although it is not an access.
        self.eviction_times.close();
        let mut stamps =
            Stamps::aged(self.tick, saved.idle, saved.penalty_class.min(CLASSES), saved.hits)
                .used_for(saved.in_use);
        if self.lessons == Some(Lessons::Watched) {
            let items = self.tenants[usize::from(key.tenant)].table.about();
            classify(self.lessons, &mut stamps, 0, items.max(saved.beside));
        }
        let parts = Parts::of(key, saved.value, saved.kind, saved.expires);
        self.insert(around, key, &parts, stamps, now)
    }
}

/// Most items that a step copies, and for which it reserves places in the index.
pub(crate) const STEP_MAX: usize = 256;
