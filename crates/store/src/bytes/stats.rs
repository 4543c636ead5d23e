//! Counters of the store.

use base::{Bytes, Micros};
use std::ops::AddAssign;

/// Events since the store was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads that found their item.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// The part of the misses that found an expired item.
    pub misses_expired: u64,
    /// Items refreshed by [`Store::touch`](crate::Store::touch), which does not count as a read.
    pub touched: u64,
    /// Writes of a value.
    pub sets: u64,
    /// Removals on request that removed something.
    pub deletes: u64,
    /// Items that expired.
    pub expired: u64,
    /// The part of the expired items that the sweep found.
    pub expired_swept: u64,
    /// The part of the expired items found by writes that needed room. Requests for the items found
    /// the rest.
    pub expired_for_room: u64,
    /// Items evicted to make room.
    pub evicted: u64,
    /// Bytes charged for the evicted items.
    pub evicted_bytes: u64,
    /// Writes of large values that were not worth the evictions they needed.
    pub not_admitted: u64,
}

impl Counters {
    /// Reads.
    pub const fn gets(&self) -> u64 {
        self.hits + self.misses
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.misses_expired += other.misses_expired;
        self.touched += other.touched;
        self.sets += other.sets;
        self.deletes += other.deletes;
        self.expired += other.expired;
        self.expired_swept += other.expired_swept;
        self.expired_for_room += other.expired_for_room;
        self.evicted += other.evicted;
        self.evicted_bytes += other.evicted_bytes;
        self.not_admitted += other.not_admitted;
    }
}

/// Number of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Len {
    /// Items, including dead ones that have not been found yet.
    pub items: u64,
    /// Items that have an expiry.
    pub expires: u64,
}

impl AddAssign for Len {
    fn add_assign(&mut self, other: Self) {
        self.items += other.items;
        self.expires += other.expires;
    }
}

/// Cost of the fetches of a tenant, as measured from a GET miss to the SET of the same key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PenaltyStats {
    /// Timed fetches, where faded ones count by their weight.
    pub count: f64,
    /// Their mean, in which values above the 99th percentile count as the 99th percentile.
    pub mean: Micros,
    /// Further reads that missed while the fetch of their key was under way.
    pub waiters: f64,
    /// Fetches that took longer than the time limit, or never ended.
    pub abandoned: u64,
}

/// Bytes and requests of a tenant's items in one penalty class, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PenaltyClassStats {
    /// The class ([`base::penalty`]); 0 for items with unknown penalty.
    pub class: u8,
    /// Bytes charged for the items, without their share of the tables.
    pub used: Bytes,
    /// Reads. A read that misses counts once its class is known.
    pub gets: u64,
    /// Reads that did not find their item.
    pub misses: u64,
    /// Writes.
    pub sets: u64,
    /// Cost of its misses.
    pub penalty: PenaltyStats,
}

/// Statistics of one tenant, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TenantStats {
    /// Bytes charged: items, tables.
    pub used: Bytes,
    /// Items.
    pub len: Len,
    /// Events.
    pub counters: Counters,
    /// Cost of its misses.
    pub penalty: PenaltyStats,
}

/// The compressed items of one tenant, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompressionStats {
    /// Compressed items.
    pub items: u64,
    /// Bytes of their values, plain.
    pub plain: Bytes,
    /// Bytes of their values as they are stored.
    pub stored: Bytes,
    /// Dictionaries.
    pub dictionaries: usize,
    /// Bytes of the dictionaries.
    pub dictionary_bytes: Bytes,
    /// Values decompressed for requests since the start.
    pub reads: u64,
    /// Processor time for them, in nanoseconds.
    pub read_nanos: u64,
    /// Values compressed since the start, stored or not.
    pub writes: u64,
    /// Processor time for them, in nanoseconds.
    pub write_nanos: u64,
    /// Corrupt values found, each of which became a miss.
    pub corrupt: u64,
}

/// How far the sampled values of a tenant shrink. Older samples count less.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ValueSamples {
    /// Sampled items.
    pub items: u64,
    /// Sampled items whose values have a length that is compressed.
    pub values: u64,
    /// Bytes of these values, plain.
    pub plain: f64,
    /// Bytes of these values, compressed.
    pub stored: f64,
    /// Bytes charged for all sampled items, with plain values.
    pub charged: f64,
    /// Bytes charged for all sampled items, with compressed values.
    pub charged_compressed: f64,
}

impl ValueSamples {
    /// Bytes stored for each plain byte; 1 without samples.
    pub fn ratio(&self) -> f64 {
        if self.plain > 0.0 { self.stored / self.plain } else { 1.0 }
    }

    /// Memory of the items with compressed values, for each byte with plain ones; 1 without
    /// samples.
    pub fn charge_ratio(&self) -> f64 {
        if self.charged > 0.0 { self.charged_compressed / self.charged } else { 1.0 }
    }
}

impl CompressionStats {
    /// Bytes stored for each plain byte; 1 without compressed items.
    pub fn ratio(&self) -> f64 {
        if self.plain.0 == 0 { 1.0 } else { self.stored.0 as f64 / self.plain.0 as f64 }
    }
}

impl AddAssign for CompressionStats {
    fn add_assign(&mut self, other: Self) {
        self.items += other.items;
        self.plain += other.plain;
        self.stored += other.stored;
        self.dictionaries += other.dictionaries;
        self.dictionary_bytes += other.dictionary_bytes;
        self.reads += other.reads;
        self.read_nanos += other.read_nanos;
        self.writes += other.writes;
        self.write_nanos += other.write_nanos;
        self.corrupt += other.corrupt;
    }
}

/// The outcome of [`Store::sweep`](crate::Store::sweep).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Entries of the timing wheels and buckets of the tables looked at.
    pub buckets: usize,
    /// Dead items removed.
    pub expired: usize,
    /// Items evicted because the store or a tenant was above its limit.
    pub evicted: usize,
    /// Pages moved from class to class.
    pub moved: usize,
}

/// Requests to a size class, counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeCounts {
    /// Reads. A read that misses counts once its class is known.
    pub gets: u64,
    /// Reads that did not find their item.
    pub misses: u64,
    /// Writes.
    pub sets: u64,
    /// Hits on items that had been idle for nearly as long as victims are. They are in the last
    /// part of an unused item's lifetime, a part as large as one page is of all pages. Not counted
    /// if the rank learns.
    pub tail_hits: u64,
}

impl AddAssign for SizeCounts {
    fn add_assign(&mut self, other: Self) {
        self.gets += other.gets;
        self.misses += other.misses;
        self.sets += other.sets;
        self.tail_hits += other.tail_hits;
    }
}
