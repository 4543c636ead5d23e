//! Players of a trace: a policy in the simulator, or the live store under that policy.

use crate::plant::Product;
use base::{Access, Bytes};
use policy::{Cache, Outcome, Stats};

/// A cache that plays a trace.
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
            Self::Product(product) => product.limit(),
        }
    }

    pub(super) fn used(&self) -> Bytes {
        match self {
            Self::Simulated(cache) => cache.used(),
            Self::Product(product) => product.used(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Simulated(cache) => cache.len(),
            Self::Product(product) => product.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compressed::CompressArgs;
    use crate::simulate::chunk::Chunk;
    use crate::simulate::feed::Feed;
    use load::open::Options;

    const TRACES: [&str; 2] = [
        "synth:zipf:keys=30000:skew=0.9:size=const/1000:requests=300000",
        "synth:zipf:keys=30000:skew=0.7:size=lognormal/1000/0.8:requests=300000",
    ];
    const MAXMEMORY: Bytes = Bytes(6 << 20);
    /// Largest miss ratio by which the store may exceed the simulator with the same bytes of
    /// objects.
    const MORE: f64 = 0.02;
    /// The limit under `gittins`: the simulator declines values of any size, the store only large
    /// ones.
    const MORE_DECLINING: f64 = 0.04;

    fn misses(feed: &Feed, mut player: Player) -> (f64, usize) {
        let play = |chunk: &Chunk| {
            for access in &chunk.accesses {
                player.access(access);
            }
        };
        feed.play(play).unwrap();
        assert!(player.used() <= player.capacity());
        (player.stats().miss_ratio(), player.len())
    }

    /// Every policy with a live form misses hardly more in the store than in the simulator, with
    /// the same memory for objects.
    #[test]
    fn the_store_misses_as_simulated() {
        for trace in TRACES {
            let feed =
                Feed::read(trace, &Options::default(), CompressArgs::default(), false).unwrap();
            // The table, unused ends of pages and learnt state take the rest.
            let room = Bytes(MAXMEMORY.0 * 17 / 20);
            for name in policy::live_names() {
                let evictor = policy::parse(name).unwrap().evictor().unwrap();
                // The store keeps no order of uses: its LFU goes by the uses in an item's time.
                let rank = if name == "lfu" { "hyperbolic:size=0" } else { name };
                let choice = policy::parse(rank).unwrap();
                let product = Product::new(evictor, MAXMEMORY, 1);
                let (live, items) = misses(&feed, Player::Product(Box::new(product)));
                let cache = Cache::new(&choice, room, 1);
                let (simulated, of) = misses(&feed, Player::Simulated(Box::new(cache)));
                println!("{name}: {live:.4} of {items} live, {simulated:.4} of {of} simulated");
                let more = if name == "gittins" { MORE_DECLINING } else { MORE };
                assert!(live < simulated + more, "{name}, {trace}: {live:.4} {simulated:.4}");
            }
        }
    }
}
