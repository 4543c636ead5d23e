//! The product as a row: the live store itself, in virtual time, instead of a model of it.
//!
//! `store:lhd` plays the trace to a [`Store`] whose `maxmemory` is the size asked for. Values are as
//! long as it takes for an item to be charged what its object is in the simulator; what the store
//! takes beside it, its table and the rest of its pages, comes out of the same memory.

use base::{Access, Bytes, Micros, Op};
use policy::{Cache, Evictor, Outcome, Stats};
use store::{Bounds, Config, Now, Scope, Store, charge};

/// Accesses between two sweeps.
const SWEEP_EVERY: u64 = 512;
/// Buckets that one looks at.
const SWEEP: usize = 64;

/// Who plays a trace.
#[derive(Debug)]
pub(super) enum Player {
    /// A policy in the simulator.
    Simulated(Box<Cache>),
    /// A policy in the live store.
    Product(Box<Product>),
}

impl Player {
    /// Serves one request.
    #[inline]
    pub(super) fn access(&mut self, access: &Access) -> Outcome {
        match self {
            Self::Simulated(cache) => cache.access(access),
            Self::Product(product) => product.access(access),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        match self {
            Self::Simulated(cache) => *cache.stats(),
            Self::Product(product) => product.stats(),
        }
    }

    pub(super) fn capacity(&self) -> Bytes {
        match self {
            Self::Simulated(cache) => cache.capacity(),
            Self::Product(product) => product.store.limit(),
        }
    }

    pub(super) fn used(&self) -> Bytes {
        match self {
            Self::Simulated(cache) => cache.used(),
            Self::Product(product) => product.store.used(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Simulated(cache) => cache.len(),
            Self::Product(product) => product.store.len(Scope::default()).items as usize,
        }
    }
}

/// A store that is played a trace.
#[derive(Debug)]
pub(super) struct Product {
    store: Store,
    /// What values are cut from.
    bytes: Vec<u8>,
    stats: Stats,
    accesses: u64,
}

impl Product {
    /// An empty store of so many bytes.
    pub(super) fn new(evictor: Evictor, maxmemory: Bytes, seed: u64) -> Self {
        let config = Config { maxmemory, evictor, seed, lanes: 1, ..Config::default() };
        Self { store: Store::new(config), bytes: vec![], stats: Stats::default(), accesses: 0 }
    }

    fn stats(&self) -> Stats {
        let mut stats = self.stats;
        for at in 0..self.store.tenants() {
            let counters = self.store.tenant_stats(at as u16).counters;
            stats.evictions += counters.evicted;
            stats.expirations += counters.expired;
        }
        stats
    }

    fn access(&mut self, access: &Access) -> Outcome {
        let now = Now { unix_ms: access.time.0 / 1_000, micros: access.time };
        self.accesses += 1;
        if self.accesses.is_multiple_of(SWEEP_EVERY) {
            self.store.sweep(now, SWEEP);
        }
        while usize::from(access.tenant) >= self.store.tenants() {
            self.store.add_tenant(Bounds::default());
        }
        let bytes = access.key.to_ne_bytes();
        let key = self.store.key(access.tenant, 0, &bytes);
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
        if self.bytes.len() < len {
            self.bytes.resize(len, 0);
        }
        let (value, penalty) = (&self.bytes[..len], access.penalty);
        let written = if is_get && penalty > Micros(0) {
            self.store.set_priced(&key, value, expires, penalty, now)
        } else {
            self.store.set(&key, value, expires, now)
        };
        self.stats.refusals += u64::from(written.is_err());
        if is_get { Outcome::Miss } else { Outcome::Done }
    }
}
