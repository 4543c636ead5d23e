//! The live store, which serves a trace.
//!
//! `store:lhd` plays the trace to a [`Store`] whose `maxmemory` is the requested size. The length
//! of a value is chosen so that the store charges the item the size of its object in the simulator.
//! The store's overhead (its table and the rest of its pages) comes out of the same memory.

use base::{Access, Bytes, Micros, Op, Prng, TenantId};
use policy::{Evictor, Outcome, Stats};
use store::{Bounds, Config, Key, Now, Scope, Store, charge};

/// Accesses between two sweeps.
const SWEEP_EVERY: u64 = 512;
/// Buckets that a sweep visits.
const SWEEP: usize = 64;
/// Bytes that do not shrink, from which values are cut.
const NOISE: usize = 8 << 20;

/// A store that serves a trace, with its counts.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) store: Store,
    /// Zeros from which values are cut, as long as the longest value so far.
    bytes: Vec<u8>,
    /// The share of the bytes of a value that does not shrink, and bytes that do not; the others
    /// are zeros.
    dense: (f64, Vec<u8>),
    stats: Stats,
    accesses: u64,
}

impl Product {
    /// An empty store of `maxmemory` bytes.
    pub(crate) fn new(evictor: Evictor, maxmemory: Bytes, seed: u64) -> Self {
        let config = Config { maxmemory, evictor, seed, reader_slots: 1, ..Config::default() };
        Self {
            store: Store::new(config),
            bytes: vec![],
            dense: (0.0, vec![]),
            stats: Stats::default(),
            accesses: 0,
        }
    }

    /// Gives all values this share of bytes that do not shrink.
    pub(super) fn set_dense(&mut self, share: f64) {
        let mut prng = Prng::new(1);
        let noise = (0..NOISE / 8).flat_map(|_| prng.next_u64().to_le_bytes());
        self.dense = (share, noise.collect());
    }

    /// Puts the value of a key into the buffer.
    fn fill(&mut self, key: u64, len: usize) {
        if self.bytes.len() < len {
            self.bytes.resize(len, 0);
        }
        let (share, noise) = &self.dense;
        let dense = (share * len as f64) as usize;
        if let Some(noise) = noise.get(key as usize % (NOISE / 2)..).and_then(|n| n.get(..dense)) {
            self.bytes[..dense].copy_from_slice(noise);
            self.bytes[dense..len].fill(0);
        }
    }

    /// Bytes that the store may hold.
    pub(crate) fn limit(&self) -> Bytes {
        self.store.limit()
    }

    /// Bytes that the store holds, including its overhead beside the items.
    pub(crate) fn used(&self) -> Bytes {
        self.store.used()
    }

    /// Number of items that the store holds.
    pub(crate) fn len(&self) -> usize {
        self.store.len(Scope::default()).items as usize
    }

    /// Counts so far, summed over all tenants.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.stats;
        for at in 0..self.store.tenants() {
            let counters = self.store.tenant_stats(at as TenantId).counters;
            stats.evictions += counters.evicted;
            stats.expirations += counters.expired;
        }
        stats
    }

    /// Whether a read finds its key. A miss is not filled.
    pub(super) fn seek(&self, access: &Access) -> bool {
        let bytes = access.key.to_ne_bytes();
        let key = self.store.key(access.tenant, 0, &bytes);
        self.store.get(&key, at(access.time), |_| ()).is_some()
    }

    /// Serves one request.
    pub(crate) fn access(&mut self, access: &Access) -> Outcome {
        let now = at(access.time);
        self.accesses += 1;
        if self.accesses.is_multiple_of(SWEEP_EVERY) {
            self.store.sweep(now, SWEEP);
            self.store.compress(now, u64::MAX);
        }
        while usize::from(access.tenant) >= self.store.tenants() {
            self.store.add_tenant(Bounds::default());
        }
        let bytes = access.key.to_ne_bytes();
        let key = self.store.key(access.tenant, 0, &bytes);
        // The store may decline the item, as it may for a plain SET.
        let offered = Key { may_be_declined: true, ..key };
        if access.op == Op::Delete {
            self.store.delete(&key, now);
            return Outcome::Done;
        }
        let is_get = access.op == Op::Get;
        if is_get {
            let size = access.size.get();
            let penalty = access.penalty.as_f64();
            self.stats.gets += 1;
            self.stats.get_bytes += size;
            self.stats.get_penalty_us += penalty;
            if self.store.get(&key, now, |_| ()).is_some() {
                return Outcome::Hit;
            }
            self.stats.misses += 1;
            self.stats.miss_bytes += size;
            self.stats.miss_penalty_us += penalty;
        }
        let expires = (access.ttl > Micros(0)).then(|| now.unix_ms + access.ttl.0.div_ceil(1_000));
        let beside = charge(bytes.len(), 0, expires.is_some());
        let len = access.size.get().saturating_sub(beside) as usize;
        let penalty = access.penalty;
        self.fill(access.key, len);
        let value = &self.bytes[..len];
        let written = if is_get && penalty > Micros(0) {
            self.store.set_priced(&offered, value, expires, penalty, now)
        } else {
            self.store.set(&offered, value, expires, now)
        };
        self.stats.refusals += u64::from(written.is_err());
        if is_get { Outcome::Miss } else { Outcome::Done }
    }
}

/// A moment of virtual time on the store's clocks.
pub(crate) const fn at(time: Micros) -> Now {
    Now { unix_ms: time.0 / 1_000, micros: time }
}
