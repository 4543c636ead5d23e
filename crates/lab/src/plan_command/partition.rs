//! Finds the pool of a request: that of its tenant, of its class of penalties, or of its class of
//! sizes, by the recipe.

use crate::plant::Slabs;
use base::{Access, Bytes, Filter, Op, Size, TenantId};
use std::collections::HashMap;
use tune::recipe::Pools;
use tune::{Evictor, PoolStep, Step};

/// Maximum number of keys whose pool is remembered. Of more keys, a sample is remembered.
const KEYS_MAX: usize = 1 << 20;

/// The pools of a recipe, in the order in which they are met.
#[derive(Debug)]
pub(crate) struct Partition {
    kind: Pools,
    /// How memory is cut, where pools are classes of sizes.
    slabs: Option<Slabs>,
    chunks: Vec<u32>,
    shares: Vec<u32>,
    /// Number of tenants, all of which share a pool that has no single owner.
    tenants: usize,
    pools: Vec<(TenantId, u8)>,
    places: HashMap<(TenantId, u8), usize>,
    last: HashMap<u64, usize>,
    remembered: Filter,
}

/// A request as the models see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed {
    /// Index of its pool.
    pub(crate) pool: usize,
    /// The former pool of its key, if that was another one.
    pub(crate) left: Option<usize>,
    /// Bytes that the item takes there; `None` where nothing holds it.
    pub(crate) size: Option<Size>,
}

impl Partition {
    /// A partition of `tenants` without pools yet. Pools that are classes of sizes have pages cut
    /// for `memory`.
    pub(crate) fn new(kind: Pools, memory: Bytes, tenants: usize) -> Self {
        let slabs = kind.needs_pages().then(|| Slabs::within(memory));
        Self {
            kind,
            slabs,
            chunks: slabs.map_or(vec![], |slabs| slabs.chunks()),
            shares: slabs.map_or(vec![], |slabs| slabs.shares()),
            tenants,
            pools: vec![],
            places: HashMap::new(),
            last: HashMap::new(),
            remembered: Filter::ALL,
        }
    }

    /// How memory is cut, where pools are classes of sizes.
    pub(crate) const fn slabs(&self) -> Option<Slabs> {
        self.slabs
    }

    /// The bytes of a page and of the chunks of a pool, where it is a class of sizes.
    pub(crate) fn cut(&self, pool: usize) -> Option<(Bytes, Bytes)> {
        let chunk = self.shares.get(usize::from(self.pools[pool].1))?;
        Some((Bytes(self.slabs?.page.into()), Bytes(u64::from(*chunk))))
    }

    /// Finds the pool of a request, and adds the pool if it is new.
    pub(crate) fn place(&mut self, access: &Access) -> Placed {
        let known = || {
            let known = self.last.get(&access.key).filter(|_| access.op != Op::Get);
            known.map(|&pool| self.pools[pool].1)
        };
        let key = self.kind.key_of(access, &self.chunks, known);
        let next = self.pools.len();
        let pool = *self.places.entry(key).or_insert(next);
        if pool == next {
            self.pools.push(key);
        }
        let left = if self.kind.has_classes() { self.remember(access.key, pool) } else { None };
        Placed { pool, left, size: self.size(access.size) }
    }

    /// Bytes that an item takes, where anything holds it.
    fn size(&self, size: Size) -> Option<Size> {
        let Some(&largest) = self.chunks.last() else { return Some(size) };
        let class = self.chunks.partition_point(|&chunk| chunk < size.as_u32());
        (size.as_u32() <= largest).then(|| self.shares[class].into())
    }

    /// Remembers the pool of a key. Returns the former one if it was another.
    fn remember(&mut self, key: u64, pool: usize) -> Option<usize> {
        if !self.remembered.keeps(key) {
            return None;
        }
        let before = self.last.insert(key, pool);
        while self.last.len() > KEYS_MAX {
            self.remembered = Filter::below(self.remembered.threshold() / 2);
            let filter = self.remembered;
            self.last.retain(|key, _| filter.keeps(*key));
        }
        before.filter(|&before| before != pool)
    }

    /// The tenant of a pool, where it has one of its own.
    pub(crate) fn tenant(&self, pool: usize) -> Option<TenantId> {
        self.kind.has_owners().then_some(self.pools[pool].0)
    }

    /// Whether a pool holds all items of its tenant.
    pub(crate) fn is_whole(&self) -> bool {
        self.kind.has_owners() && !self.kind.has_classes()
    }

    /// Name of a pool in reports, where `names` are those of the tenants.
    pub(crate) fn name(&self, pool: usize, names: &[String]) -> String {
        let (tenant, class) = self.pools[pool];
        let chunk = self.shares.get(usize::from(class)).copied().unwrap_or_default();
        self.kind.label(&names[usize::from(tenant)], class, Bytes(u64::from(chunk)))
    }

    /// A division as a step for a plant, with nothing to sample.
    pub(crate) fn step(&self, division: &[(Bytes, Evictor)]) -> Step {
        let pool = |(&(tenant, class), &(budget, evictor)): (&(TenantId, u8), &_)| PoolStep {
            tenants: if self.kind.has_owners() {
                vec![tenant]
            } else {
                (0..self.tenants as TenantId).collect()
            },
            class: self.kind.has_classes().then_some(class),
            budget,
            evictor,
            filter: Filter::NONE,
        };
        let pools: Vec<_> = self.pools.iter().zip(division).map(pool).collect();
        Step { pools, prices: vec![] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Micros;

    /// A key whose miss cost rises leaves its class of penalties, and a key whose size grows leaves
    /// its class of sizes.
    #[test]
    fn keys_change_their_pool() {
        let dear = |key, us| Access { penalty: Micros(us), ..Access::get(key, 100) };
        let mut by_cost = Partition::new(Pools::Class, Bytes(1 << 20), 2);
        assert_eq!(by_cost.place(&dear(1, 100)).pool, 0);
        assert_eq!(by_cost.place(&dear(2, 5_000)).pool, 1);
        let moved = by_cost.place(&dear(1, 5_000));
        assert_eq!((moved.pool, moved.left), (1, Some(0)));
        assert_eq!(by_cost.step(&[(Bytes(1), Evictor::klru(5))]).pools[0].tenants, [0, 1]);

        let mut by_size = Partition::new(Pools::Slab, Bytes(1 << 20), 1);
        let page = by_size.slabs().unwrap().page;
        let small = by_size.place(&Access::get(1, 90));
        assert_eq!((small.pool, small.left), (0, None));
        assert!(small.size.is_some_and(|size| size.as_u32() >= 96));
        assert_eq!(by_size.place(&Access::get(1, page)).left, Some(0));
        assert_eq!(by_size.place(&Access::get(2, page + 1)).size, None);
        assert_eq!(by_size.cut(1), Some((Bytes(page.into()), Bytes(page.into()))));
    }
}
