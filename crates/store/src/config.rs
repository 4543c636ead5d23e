//! The configuration that a store is made with, and what the pilot may change while it runs.

use crate::slab::Slab;
use base::{Bytes, TenantId};
use policy::Evictor;

/// The configuration of a new store.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes it may take for items and tables; 0 for no limit.
    pub maxmemory: Bytes,
    /// Parts with a lock each: a power of two up to 256, or it is rounded up to one. More than
    /// four a thread gains nothing, and each takes a table per tenant. A store of less than 256 MiB
    /// has one for each 16 MiB at most, unless the length of a page is given.
    pub shards: usize,
    /// Threads that may read one shard at once, 1, 2 or 4: a write waits for them all. 0 for as
    /// many as there are processors.
    pub reader_slots: usize,
    /// Seeds the hash and the draws.
    pub seed: u64,
    /// The tenants, numbered from 0. A store without a tenant gets one without bounds.
    pub tenants: Vec<Bounds>,
    /// The longest value, at most 4 GiB - 1.
    pub max_item: Bytes,
    /// How the pool that all tenants share at first evicts.
    pub evictor: Evictor,
    /// How memory is cut into pages, and pages into chunks.
    pub slab: Slab,
    /// A clock, in nanoseconds: read twice by an operation that evicts, for [`Store::pauses`](
    /// crate::Store::pauses). One that stands still counts the operations alone.
    pub nanos: fn() -> u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            maxmemory: Bytes(0),
            shards: 16,
            reader_slots: 0,
            seed: 0,
            tenants: vec![Bounds::default()],
            max_item: Bytes(512 << 20),
            evictor: Evictor::default(),
            slab: Slab::default(),
            nanos: || 0,
        }
    }
}

/// The least and the most a tenant may be left with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// While it uses no more than this, no other tenant's write evicts its items.
    pub min: Bytes,
    /// It never uses more: its own items make room.
    pub max: Option<Bytes>,
}

/// The items that may be evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evictable {
    /// All of them.
    #[default]
    Any,
    /// Those that have an expiry. Where none is left, nothing makes room, and writes are refused.
    Volatile,
    /// Of those drawn the one that expires first, whatever its rank.
    NextToExpire,
}

impl Evictable {
    /// Whether an item with this expiry stays, whoever needs its room.
    pub(crate) fn spare(self, expires: Option<u64>) -> bool {
        self != Self::Any && expires.is_none()
    }
}

/// Items that compete only among themselves, for one budget, under one policy.
#[derive(Clone, Debug)]
pub struct Pool {
    /// The tenants that own its items. A tenant belongs to the first pool that names it, or to
    /// those of all classes.
    pub tenants: Vec<TenantId>,
    /// Only items whose penalties are of this class. Either every pool is of a class, or none is.
    pub class: Option<u8>,
    /// The share of memory it may keep when all is in use.
    pub budget: Bytes,
    /// The eviction policy.
    pub evictor: Evictor,
}
