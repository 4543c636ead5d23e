//! The configuration of a new store, and the settings that the pilot may change while it runs.

use base::{Bytes, TenantId};
use policy::Evictor;

/// The configuration of a new store.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes that the store may use for items and tables; 0 for no limit.
    pub maxmemory: Bytes,
    /// Number of shards, each with its own lock: a power of two up to 256, rounded up if it is not
    /// one. More than four per thread gain nothing, and each has a table per tenant. A store of
    /// less than 256 MiB has at most one for each 16 MiB, unless the length of a page is given.
    pub shards: usize,
    /// Number of threads that may read one shard at once: 1, 2 or 4. A write waits for all of them.
    /// 0 takes the number of processors.
    pub reader_slots: usize,
    /// Seed of the hash and of the draws.
    pub seed: u64,
    /// The tenants, numbered from 0. A store without a tenant gets one without bounds.
    pub tenants: Vec<Bounds>,
    /// The longest value, at most 4 GiB - 1.
    pub max_item: Bytes,
    /// The eviction policy of the first pool, which all tenants share.
    pub evictor: Evictor,
    /// The division of memory into pages, and of pages into chunks.
    pub slab: Slab,
    /// A clock in nanoseconds for [`Store::pauses`](crate::Store::pauses). An operation that evicts
    /// reads it twice. A clock that stands still only counts the operations.
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

/// The least and the most memory of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// While the tenant uses no more than this, no other tenant's write evicts its items.
    pub min: Bytes,
    /// The tenant never uses more than this: its own items are evicted instead.
    pub max: Option<Bytes>,
}

/// The items that may be evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evictable {
    /// All of them.
    #[default]
    Any,
    /// Items with an expiry. If there are none, nothing is evicted, and writes are refused.
    Volatile,
    /// Items with an expiry. Of the drawn items, the one that expires first is evicted, whatever
    /// its rank.
    NextToExpire,
}

impl Evictable {
    /// Whether an item with this expiry is never evicted.
    pub(crate) fn spare(self, expires: Option<u64>) -> bool {
        self != Self::Any && expires.is_none()
    }
}

/// Whether values are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// None.
    #[default]
    No,
    /// Values for which the freed memory is worth more than the processor time.
    Auto,
    /// All, when they are written: for tests.
    Always,
}

/// How values are compressed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompressionSettings {
    /// Which values.
    pub mode: Compression,
    /// Seconds of waiting that a second of processor time counts as.
    pub weight: f64,
}

impl CompressionSettings {
    /// By price: a second of processor time counts as one of waiting.
    pub const AUTO: Self = Self { mode: Compression::Auto, weight: 1.0 };
}

impl Default for CompressionSettings {
    fn default() -> Self {
        Self { mode: Compression::No, weight: 1.0 }
    }
}

/// Items that compete only among themselves, for one budget, under one policy.
#[derive(Clone, Debug)]
pub struct Pool {
    /// The tenants that own its items. A tenant belongs to the first pool that names it, or to the
    /// pools of all classes.
    pub tenants: Vec<TenantId>,
    /// Limits the pool to items whose penalty is in this class. Either every pool has a class, or
    /// none has.
    pub class: Option<u8>,
    /// The memory that the pool may keep when all memory is in use.
    pub budget: Bytes,
    /// The eviction policy.
    pub evictor: Evictor,
}

/// The division of memory into pages and chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slab {
    /// Bytes of a page, a power of two from 4096 on; 0 for a length that suits the limit and the
    /// number of tenants. Each shard and each tenant has its own pages.
    pub page: u64,
    /// Bytes of the smallest chunk.
    pub chunk_min: u64,
    /// The factor between the sizes of neighbouring classes.
    pub factor: f64,
}

impl Default for Slab {
    /// memcached's smallest chunk and factor.
    fn default() -> Self {
        Self { page: 0, chunk_min: 48, factor: 1.25 }
    }
}
