//! LRM: evicts, of K items drawn at random, the one whose last write is oldest, however often it is
//! read.
//!
//! For caches whose items all clients read all the time, and which are worth keeping while a client
//! still writes them; Redis and Valkey have it as `allkeys-lrm`. A write is a birth: under this
//! rank the store renews an item's birth at each write, and the rank is the age since.

use super::{Meta, Rank, Sampled};
use crate::{Evictor, Param, Spec};
use base::Tick;
use std::sync::Arc;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "lrm",
    params: &[Param::k(5), Param::pool()],
    build: |params| Box::new(Sampled::of(Lrm, params)),
    live: Some(|params| Evictor::sampled(Arc::new(Lrm), params)),
};

/// Ranks an item the lower, the older its last write.
#[derive(Clone, Copy, Debug)]
pub struct Lrm;

impl Rank for Lrm {
    fn rank(&self, item: &Meta, _: Tick) -> f32 {
        -(item.life as f32)
    }

    fn is_of_writes(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::{Access, Cache, Op, Outcome, parse};
    use base::Bytes;

    /// Ten items are only read, and five are written all the time. With room for fifteen, the items
    /// only read are evicted when others enter, and the written ones stay.
    #[test]
    fn what_is_written_stays() {
        let mut cache = Cache::new(&parse("lrm:k=32").unwrap(), Bytes(15 * 100), 1);
        let access = |key, op| Access { op, ..Access::get(key, 100) };
        for key in 0..15 {
            cache.access(&access(key, Op::Get));
        }
        for _ in 0..50 {
            (0..10).for_each(|key| _ = cache.access(&access(key, Op::Get)));
            (10..15).for_each(|key| _ = cache.access(&access(key, Op::Set)));
        }
        (100..110).for_each(|key| _ = cache.access(&access(key, Op::Get)));
        let hits = |keys: std::ops::Range<u64>, cache: &mut Cache| {
            keys.filter(|&key| cache.access(&access(key, Op::Get)) == Outcome::Hit).count()
        };
        assert!(hits(10..15, &mut cache) == 5, "written last");
        assert!(hits(0..10, &mut cache) <= 1, "only read");
    }
}
