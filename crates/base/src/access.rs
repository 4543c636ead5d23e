//! One request to a cache, as the lab, the policies and the models see it.
//!
//! Keys are hashes. All crates above treat two keys with the same 64 bits as one key. Among a
//! hundred million keys, the chance that a single pair collides is one in three thousand.

use crate::{Micros, Size, Tick};

/// Identifies a tenant, which owns data and a share of the memory: a dense number, given in order
/// of configuration.
pub type TenantId = u16;

/// The operation of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Op {
    /// A read. In a trace a miss is followed by an insertion (look-aside caching), unless the
    /// reader of the trace says otherwise.
    #[default]
    Get,
    /// A write: the object becomes resident, and is neither a hit nor a miss.
    Set,
    /// A removal. It ends the object's life, and does not count as an eviction.
    Delete,
}

/// One request to a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// Time of the request, since the first request of the trace.
    pub time: Micros,
    /// The hash of the key ([`crate::hash::bytes`]), or the key itself mixed
    /// ([`crate::hash::mix`]) where the source numbers its objects.
    pub key: u64,
    /// The operation.
    pub op: Op,
    /// The tenant that sends the request.
    pub tenant: TenantId,
    /// Bytes of the key.
    pub key_size: u32,
    /// Bytes of the value.
    pub value_size: u64,
    /// Bytes that the cache is charged for the object: the value alone, the item with its metadata,
    /// or 1. The source of the accesses decides. Policies, caches and models read only this size.
    pub size: Size,
    /// Time to live that this access gives the object, zero for no limit.
    pub ttl: Micros,
    /// Cost of a miss, zero where it is unknown.
    pub penalty: Micros,
    /// The next access to the same key, in requests from the start. [`Tick::NEVER`] if there is
    /// none, or if it was not looked for.
    pub next: Tick,
}

impl Access {
    /// A read of `key` that is charged `size` bytes: the shortest constructor for tests.
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
