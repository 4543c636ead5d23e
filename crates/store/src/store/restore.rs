//! Restoring items of an earlier run, while clients already read and write.
//!
//! Every client write, change or removal since the store was made is newer than the restored data.
//! This holds even if the new value has been evicted, expired or flushed again. So during a restore
//! every shard remembers the hashes of the keys that were written or removed, and the scopes that
//! were flushed, and restores none of them.
//!
//! The *changed keys* are bits in a bitmap of fixed size, so they take no more memory the longer
//! the restore lasts. A key that shares its bit with a written one is not restored either: it is a
//! miss, as it would be without a restore. With a million keys written meanwhile, this affects
//! three in a hundred.

use crate::bytes::measured::Fetched;
use crate::items::view::Saved;
use crate::learning::exit::Exit;
use crate::sync::shim::lock;
use crate::{Error, Key, Now, Store};
use base::{Micros, TenantId};

impl Store {
    /// The most accesses to any shard so far, or 0 if no rank learns from watched keys. Its state
    /// needs this count to continue in a later run.
    pub fn tick(&self) -> u64 {
        if lock(&self.admin).watching.is_none() {
            return 0;
        }
        self.shards
            .iter()
            .map(|shard| shard.write_drained().contents().clock.tick)
            .max()
            .unwrap_or_default()
    }

    /// Begins to record the keys that clients write and remove. To be called before there are
    /// clients. The shards' counts of accesses continue from `tick`, the result of [`Store::tick`]
    /// in the earlier run.
    pub fn begin_restore(&self, tick: u64) {
        let tick = if lock(&self.admin).watching.is_some() { tick } else { 0 };
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            let contents = shard.contents_mut();
            contents.begin_restore(self.shards.len());
            contents.clock.tick = contents.clock.tick.max(tick);
        }
    }

    /// Ends the restore.
    pub fn end_restore(&self) {
        for shard in &self.shards {
            shard.write_drained().contents_mut().end_restore();
        }
    }

    /// Restores an item. Returns false if a client has written, changed or removed it meanwhile, if
    /// it has expired, or if no restore is under way. It makes room like any write, does not count
    /// as a request, and keeps its age.
    pub fn restore(&self, key: &Key, saved: &Saved, now: Now) -> Result<bool, Error> {
        let mut shard = self.shard(key);
        if !shard.contents().takes_back(key, saved, now) {
            return Ok(false);
        }
        // A walk during writes may have saved the item twice: the second copy is the newer one.
        if let Some(place) = shard.contents_mut().find(key, now, &self.budget.memory) {
            self.budget.memory.take_back(shard.contents_mut().take_out(
                key.tenant,
                place,
                Exit::Flushed,
            ));
        }
        shard.load_back(&self.around(), key, saved, now)?;
        Ok(true)
    }

    /// Takes over the penalties of a tenant in an earlier run: the number of fetches, and their
    /// mean.
    pub fn restore_penalty(&self, tenant: TenantId, count: f64, mean: Micros) {
        let account = lock(&self.admin).accounts.get(usize::from(tenant)).cloned();
        if let Some(account) = account {
            lock(&account.measured).recall(Fetched::In(mean, 0), count);
        }
    }
}
