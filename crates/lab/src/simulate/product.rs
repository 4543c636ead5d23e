//! The product as a row: the live store itself, in virtual time, instead of a model of it.
//!
//! `store:lhd` plays the trace to a [`Store`] whose `maxmemory` is the size asked for. Values are
//! as long as it takes for an item to be charged what its object is in the simulator; what the
//! store takes beside it, its table and the rest of its pages, comes out of the same memory.

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
        let config = Config { maxmemory, evictor, seed, reader_slots: 1, ..Config::default() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::Options;
    use crate::simulate::feed::Feed;

    const TRACES: [&str; 2] = [
        "synth:zipf:keys=30000:skew=0.9:size=const/1000:requests=300000",
        "synth:zipf:keys=30000:skew=0.7:size=lognormal/1000/0.8:requests=300000",
    ];
    const MAXMEMORY: Bytes = Bytes(6 << 20);
    /// Misses that the store may have more than the simulator with as many bytes of objects.
    const MORE: f64 = 0.02;

    fn misses(feed: &Feed, mut player: Player) -> (f64, usize) {
        for access in feed.held().unwrap().iter().flat_map(|chunk| &chunk.accesses) {
            player.access(access);
        }
        assert!(player.used() <= player.capacity());
        (player.stats().miss_ratio(), player.len())
    }

    /// Every policy with a live form: what it misses in the store is what it misses in the
    /// simulator, with as much memory for objects.
    #[test]
    fn the_store_misses_as_simulated() {
        for trace in TRACES {
            let feed = Feed::read(trace, &Options::default(), false).unwrap();
            // The table, the rest of pages and what is learnt take the others.
            let room = Bytes(MAXMEMORY.0 * 17 / 20);
            for name in policy::live_names() {
                let evictor = policy::parse(name).unwrap().evictor().unwrap();
                // The store keeps no order of uses, and goes by uses in an item's time.
                let rank = if name == "lfu" { "hyperbolic:size=0" } else { name };
                let choice = policy::parse(rank).unwrap();
                let product = Product::new(evictor, MAXMEMORY, 1);
                let (live, items) = misses(&feed, Player::Product(Box::new(product)));
                let cache = Cache::new(&choice, room, 1);
                let (simulated, of) = misses(&feed, Player::Simulated(Box::new(cache)));
                println!("{name}: {live:.4} of {items} live, {simulated:.4} of {of} simulated");
                assert!(live < simulated + MORE, "{name}, {trace}: {live:.4} {simulated:.4}");
            }
        }
    }
}
