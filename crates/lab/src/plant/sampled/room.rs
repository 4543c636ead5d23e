//! Choice of a victim: the pool furthest above its budget, and the worst of a few items drawn from
//! it.
//!
//! A tenant at its maximum makes its own room; a tenant at its minimum is no victim of another.

use super::SampledPlant;
use super::item::Candidate;
use super::pool::Pool;
use base::{Bytes, TenantId};
use policy::rank::klru::Klru;
use policy::{Meta, Rank};
use tune::{Evictor, POOL, PoolStep};

/// Number of candidates of a policy that names none: as in the live store.
const K_DEFAULT: u8 = 64;

/// Maximum number of draws from tenants that are no victims, before another way to make room.
const DRAWS_MAX: u32 = 64;

impl SampledPlant {
    /// Evicts until the tenant may take `size` bytes. Returns false where that cannot be.
    pub(super) fn make_room(&mut self, at: usize, class: u8, size: Bytes) -> bool {
        let max = self.members[at].bounds.max;
        while max.is_some_and(|max| self.members[at].used + size > max) {
            if self.members[at].places.is_empty() {
                return false;
            }
            let victim = self.draw_from(at, None);
            self.evict(victim);
        }
        let own = self.members[at].pools[usize::from(class)];
        while self.used + size > self.limit {
            let pool = self.victim_pool(own);
            let Some(victim) = self
                .victim(pool, at)
                .or_else(|| (0..self.pools.len()).find_map(|other| self.victim(other, at)))
            else {
                return false;
            };
            self.evict(victim);
        }
        true
    }

    /// The pool furthest above its budget, in proportion to it; `own` if none is above.
    fn victim_pool(&self, own: usize) -> usize {
        let excess = |pool: &Pool| {
            let budget = pool.step.budget.as_f64();
            (pool.used.as_f64() - budget) / budget.max(1.0)
        };
        let over = self.pools.iter().enumerate().filter(|(_, pool)| pool.used > pool.step.budget);
        over.max_by(|(_, a), (_, b)| excess(a).total_cmp(&excess(b))).map_or(own, |(at, _)| at)
    }

    /// The item of a pool that is evicted for a write of tenant `asker`.
    fn victim(&mut self, pool: usize, asker: usize) -> Option<Candidate> {
        let evictor = self.pools[pool].step.evictor;
        let k = usize::from(if evictor.k > 0 { evictor.k } else { K_DEFAULT });
        if evictor == Evictor::gittins(evictor.k) {
            return self.lowest_of(pool, asker, k);
        }
        if !evictor.pool {
            let draws: Vec<_> = (0..k).filter_map(|_| self.draw(pool, asker)).collect();
            return draws.into_iter().min_by(|a, b| a.rank.total_cmp(&b.rank));
        }
        for _ in 0..k {
            let Some(candidate) = self.draw(pool, asker) else { break };
            let kept = &mut self.pools[pool].kept;
            if kept.iter().any(|k| k.key == candidate.key && k.member == candidate.member) {
                continue;
            }
            let place = kept.partition_point(|known| known.rank > candidate.rank);
            kept.insert(place, candidate);
            if kept.len() > POOL as usize {
                kept.remove(0);
            }
        }
        while let Some(candidate) = self.pools[pool].kept.pop() {
            let member = &self.members[candidate.member];
            let current = member.item(candidate.key).map(|item| item.last);
            if current == Some(candidate.last) && self.may_lose(candidate.member, asker) {
                return Some(candidate);
            }
        }
        self.draw(pool, asker)
    }

    pub(super) fn may_lose(&self, member: usize, asker: usize) -> bool {
        member == asker || self.members[member].used > self.members[member].bounds.min
    }

    /// A random item of a pool, from a tenant that may lose one.
    pub(super) fn draw(&mut self, pool: usize, asker: usize) -> Option<Candidate> {
        let PoolStep { tenants, class, .. } = &self.pools[pool].step;
        let class = *class;
        let items = |at: &TenantId| self.members[usize::from(*at)].len(class) as u64;
        let all: u64 = tenants.iter().map(items).sum();
        if all == 0 {
            return None;
        }
        for _ in 0..DRAWS_MAX {
            let mut left = self.prng.below(all);
            let tenants = &self.pools[pool].step.tenants;
            let at = tenants.iter().map(|at| usize::from(*at)).find(|&at| {
                let items = self.members[at].len(class) as u64;
                let here = left < items;
                left -= if here { 0 } else { items };
                here
            })?;
            if self.may_lose(at, asker) {
                return Some(self.draw_from(at, class));
            }
        }
        None
    }

    /// A random item of a tenant, of one class or of any; there must be one.
    fn draw_from(&mut self, at: usize, class: Option<u8>) -> Candidate {
        let mut left = self.prng.below(self.members[at].len(class) as u64) as usize;
        let buckets = self.members[at].buckets.iter().zip(0u8..);
        let mut wanted = buckets.filter(|(_, of)| class.is_none_or(|class| class == *of));
        let item = wanted.find_map(|(bucket, _)| {
            let found = bucket.items.get(left);
            left = left.wrapping_sub(bucket.items.len());
            found
        });
        let key = item.expect("drawn below the number of items").key;
        self.candidate(at, key).expect("it was just drawn")
    }

    /// An item as a candidate, with its rank in its pool.
    pub(super) fn candidate(&self, at: usize, key: u64) -> Option<Candidate> {
        let member = &self.members[at];
        let &(class, place) = member.places.get(&key)?;
        let item = &member.buckets[usize::from(class)].items[place];
        let evictor = self.pools[member.pools[usize::from(class)]].step.evictor;
        let meta = Meta {
            age: self.tick.since(item.last),
            life: self.tick.since(item.born),
            hits: item.hits,
            size: item.size,
            penalty: item.penalty,
        };
        let rank = match &self.watching {
            Some(watching) if evictor == Evictor::gittins(evictor.k) => {
                let price = self.prices.get(at).copied().unwrap_or(1.0);
                watching.rank(at, item, price, self.tick)
            }
            _ if evictor == Evictor::LFU => {
                (f64::from(meta.hits + 1) / meta.life.max(1) as f64) as f32
            }
            _ => Klru.rank(&meta, self.tick),
        };
        Some(Candidate { member: at, key, last: item.last, size: item.size, rank })
    }

    fn evict(&mut self, victim: Candidate) {
        let (class, _) = self.members[victim.member].places[&victim.key];
        self.penalty_table.leave(victim.member, victim.key, class);
        if let (Some(watching), Some(item)) =
            (&mut self.watching, self.members[victim.member].item(victim.key))
        {
            watching.leaves(victim.member, item);
        }
        self.remove(victim.member, victim.key);
    }
}
