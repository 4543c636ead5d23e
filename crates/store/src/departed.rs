//! Who left by itself: evicted, or dead of age. Noted only while somebody asks.
//!
//! Each tenant of each shard keeps what left since the last call, under the lock that the departure
//! holds anyway; a list that nobody fetches in time stays as long as it is, and counts the rest.

use crate::Store;
use crate::item::Ref;
use base::TenantId;

/// Departures kept by a tenant of a shard.
const KEPT_MAX: usize = 4_096;

/// An item that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departed {
    /// Whose it was.
    pub tenant: TenantId,
    /// Its database.
    pub db: u8,
    /// Its key.
    pub key: Vec<u8>,
    /// Whether it had to make room; else its time was over.
    pub evicted: bool,
    /// Accesses to its part of the store since its own last one.
    pub idle: u32,
    /// Reads and overwrites while it was there, up to 255.
    pub hits: u8,
    /// Bytes of its value.
    pub size: usize,
    /// When it was to die, in Unix milliseconds.
    pub expires: Option<u64>,
}

/// The list of one tenant in one shard.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    list: Vec<Departed>,
    lost: u64,
}

/// Notes an item that leaves at `tick` by eviction, or for `None` because it is dead.
#[inline]
pub(crate) fn leaves(departures: &mut Option<Box<Departures>>, item: Ref, tick: Option<u64>) {
    if let Some(departures) = departures {
        departures.note(item, tick);
    }
}

impl Departures {
    #[cold]
    fn note(&mut self, item: Ref, tick: Option<u64>) {
        if self.list.len() >= KEPT_MAX {
            self.lost += 1;
            return;
        }
        self.list.push(Departed {
            tenant: 0,
            db: item.db(),
            key: item.key().to_vec(),
            evicted: tick.is_some(),
            idle: tick.map_or(0, |tick| item.stamps().age(tick)),
            hits: item.stamps().hits,
            size: item.value().len(),
            expires: item.expires(),
        });
    }
}

impl Store {
    /// Moves what left by itself since the last call to the end of `all`; returns how many were
    /// lost because nobody asked in time. From the first call on departures are noted.
    pub fn departed(&self, all: &mut Vec<Departed>) -> u64 {
        let mut lost = 0;
        for shard in &self.shards {
            for (at, tenant) in shard.settle().tenants.iter_mut().enumerate() {
                let departures = tenant.departures.get_or_insert_default();
                lost += std::mem::take(&mut departures.lost);
                let list = departures.list.drain(..);
                all.extend(list.map(|left| Departed { tenant: at as TenantId, ..left }));
            }
        }
        lost
    }

    /// Departures are noted no more.
    pub fn forget_departed(&self) {
        for shard in &self.shards {
            shard.settle().tenants.iter_mut().for_each(|tenant| tenant.departures = None);
        }
    }
}
