//! LRM: of K items drawn at random, the one that was not written for the longest time goes, however
//! often it is read.
//!
//! For caches whose items are read by everybody all the time and are worth keeping while somebody
//! still writes them; Redis and Valkey have it as `allkeys-lrm`. A write is a birth: the store
//! renews that of an item at each write while a rank asks for it, and the rank is its age since.

use super::{Meta, Rank, Sampled};
use crate::{Evictor, Param, Spec, Tick};
use std::sync::Arc;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "lrm",
    params: &[Param::k(5), Param::pool()],
    build: |params| Box::new(Sampled::of(Lrm, params)),
    live: Some(|params| Evictor::sampled(Arc::new(Lrm), params)),
};

/// The longer not written, the lower.
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

    /// Ten items that are read all the time, ten that are written: with room for fifteen, what is
    /// only read goes when others come, and what is written stays.
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
