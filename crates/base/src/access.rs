//! One request to a cache, as the lab, the policies and the models see it.
//!
//! Keys are hashes: two keys that share all 64 bits are one key to everything above, which at
//! a hundred million keys is a chance of one in three thousand that a single pair is confused.

use crate::{Micros, Size, Tick};

/// Who owns data and a share of the memory: a dense number, given in order of configuration.
pub type TenantId = u16;

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Op {
    /// A read. In a trace a miss is followed by an insertion (look-aside caching), unless the
    /// reader of the trace says otherwise.
    #[default]
    Get,
    /// A write: the object becomes resident, and is neither a hit nor a miss.
    Set,
    /// A removal: ends the object's life without an eviction.
    Delete,
}

/// One request to a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// When, since the first request of the trace.
    pub time: Micros,
    /// The hash of the key ([`crate::hash::bytes`]), or the key itself mixed
    /// ([`crate::hash::mix`]) where the source numbers its objects.
    pub key: u64,
    /// What is asked for.
    pub op: Op,
    /// Who asks.
    pub tenant: TenantId,
    /// Bytes of the key.
    pub key_size: u32,
    /// Bytes of the value.
    pub value_size: u64,
    /// Bytes the cache is charged for the object: the value alone, the item with its metadata, or
    /// 1, as whoever feeds the accesses decides. Policies, caches and models read only this size.
    pub size: Size,
    /// Life of the object after this access writes it, zero for no limit.
    pub ttl: Micros,
    /// What a miss costs, zero where it is unknown.
    pub penalty: Micros,
    /// When the same key is next accessed, in requests from the start; [`Tick::NEVER`] if it is
    /// not, or if nobody looked.
    pub next: Tick,
}

impl Access {
    /// A read of `key` that is charged `size` bytes: the shortest way to an access in tests.
    pub const fn get(key: u64, size: u32) -> Self {
        Self {
            time: Micros(0),
            key,
            op: Op::Get,
            tenant: 0,
            key_size: 0,
            value_size: size as u64,
            size: Size::of(size as u64),
            ttl: Micros(0),
            penalty: Micros(0),
            next: Tick::NEVER,
        }
    }

    /// A write of `key`, charged `size` bytes.
    pub const fn set(key: u64, size: u32) -> Self {
        Self { op: Op::Set, ..Self::get(key, size) }
    }

    /// A removal of `key`.
    pub const fn delete(key: u64) -> Self {
        Self { op: Op::Delete, ..Self::get(key, 0) }
    }
}
