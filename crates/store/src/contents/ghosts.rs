//! Births and hits of keys that were evicted and return.

use crate::Key;
use crate::bytes::key::hash_of;
use crate::contents::contents::Contents;
use crate::items::table::item_table::Slot;
use crate::learning::lifetimes::classify;
use base::TenantId;
use policy::rank::Stamps;
use policy::rank::gittins::Past;

impl Contents {
    /// Remembers an evicted key, if the shard remembers keys.
    #[inline]
    pub(super) fn remember(&mut self, at: TenantId, place: Slot) {
        if let Some(ghosts) = &mut self.ghosts {
            let item = self.tenants[usize::from(at)].table.get(place);
            let (hash, stamps) = (hash_of(self.seed, item.db(), item.key()), item.stamps());
            ghosts.memory.insert(hash, Past { born: stamps.born, hits: stamps.hits });
        }
    }

    /// Counts a read that misses as a hit of the key's past, if the shard remembers the key.
    #[inline]
    pub(super) fn past_is_hit(&mut self, key: &Key) {
        if let Some(ghosts) = &mut self.ghosts {
            ghosts.memory.hit(key.hash, self.clock.tick);
        }
    }

    /// The stamps of a key that is new here. A key that returns keeps its birth and its hits.
    #[inline]
    pub(crate) fn stamps_of(&mut self, key: &Key) -> Stamps {
        let mut stamps = Stamps::new(self.clock.tick, 0);
        if let Some(ghosts) = &mut self.ghosts
            && let Some(past) = ghosts.memory.take(key.hash)
        {
            (stamps.born, stamps.hits) = (past.born, past.hits);
            let items = self.tenants[usize::from(key.tenant)].table.about();
            classify(self.lessons, &mut stamps, 0, items);
        }
        stamps
    }
}
