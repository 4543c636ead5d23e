//! The Gittins rank on the simulated store: learning from watched keys, the memory of evicted ones,
//! and the choice of the item of a pool that is worth least.
//!
//! It is the policy of `policy::rank::gittins` with the store's bounds. Candidates are drawn among
//! the items of tenants that may lose one, half of them in proportion to their bytes; the newest
//! items are always candidates. The weight of a tenant's waiting is a factor of its price. A large
//! new item competes with the items of its pool.

use super::room::Candidate;
use super::{Item, SimulatedPlant};
use base::hash::mix;
use base::{Filter, Prng, Size, Tick};
use policy::rank::gittins::{
    IndexTable, KeyEvent, LARGE, Learner, Lower, Memory, Past, size_class,
};
use std::collections::VecDeque;
use tune::Evictor;

/// Number of newest items that are candidates of every eviction.
const NEWEST: usize = 8;
/// Draws in proportion to bytes: mean number of items passed for each one drawn, and the maximum.
const PASSED: u64 = 8;
const PASSED_MAX: u64 = 32;
/// Largest variance of the sizes, by the square of their mean, with which they count as alike.
const ALIKE: f64 = 0.02;
/// The least share of the keys that is watched.
const SHARE_MIN: f64 = 0.1;

/// State of the rank, which learns while a pool evicts by it.
#[derive(Debug)]
pub(super) struct Watching {
    learner: Learner,
    table: IndexTable,
    memory: Memory,
    /// Newest items by tenant and key, the newest last.
    newest: VecDeque<(usize, u64)>,
    evicted: u64,
}

/// A key of a tenant as a number.
fn name(at: usize, key: u64) -> u64 {
    mix(key ^ mix(at as u64))
}

impl Watching {
    pub(super) fn new(tenants: usize) -> Self {
        Self {
            learner: Learner::new(tenants).watching(Filter::with_rate(SHARE_MIN)),
            table: IndexTable::default(),
            memory: Memory::default(),
            newest: VecDeque::new(),
            evicted: 0,
        }
    }

    /// Learns from an event of a key, where the store holds `residents` items.
    pub(super) fn see(
        &mut self,
        (at, key): (usize, u64),
        kind: KeyEvent,
        now: Tick,
        size_class: u8,
        residents: usize,
    ) {
        let name = name(at, key);
        if self.learner.filter().keeps(name) {
            self.learner.access(at as u16, name, kind, now.0, size_class);
            self.learner.narrow();
        }
        if self.learner.is_due(now.0, residents) {
            self.table = self.learner.learn(now.0, residents, self.evicted);
            self.memory.resize(residents);
        }
    }

    /// The past that an absent key would have if it entered by a read or a write.
    fn past_of(&mut self, at: usize, key: u64, is_read: bool, now: Tick) -> Past {
        let name = name(at, key);
        let Some(mut past) = self.memory.take(name) else { return Past::new(now.0) };
        self.memory.insert(name, past);
        if is_read {
            past.hit(now.0);
        }
        past
    }

    /// Remembers an item that is not let in, as if it had been resident.
    fn refuse(&mut self, at: usize, key: u64, past: Past) {
        let name = name(at, key);
        self.memory.take(name);
        self.memory.insert(name, past);
    }

    /// Notes an item that enters, new or again, by a read or a write. Returns its past.
    pub(super) fn enters(&mut self, at: usize, key: u64, is_read: bool, now: Tick) -> Past {
        if self.newest.len() == NEWEST {
            self.newest.pop_front();
        }
        self.newest.push_back((at, key));
        let Some(mut past) = self.memory.take(name(at, key)) else { return Past::new(now.0) };
        if is_read {
            past.hit(now.0);
        }
        past
    }

    /// Remembers the past of an evicted item.
    pub(super) fn leaves(&mut self, at: usize, item: &Item) {
        self.evicted += 1;
        self.memory.insert(name(at, item.key), item.past);
    }

    /// Gain by the bytes of an item for their time, where `price` is the weight of its tenant's
    /// waiting.
    pub(super) fn rank(&self, at: usize, item: &Item, price: f64, now: Tick) -> f32 {
        let age = now.since(item.last).min(u64::from(u32::MAX)) as u32;
        let class = item.past.class(item.last.0 as u32, item.size_class);
        let price = price * item.penalty.as_f64().max(1.0);
        price as f32 * self.table.index(at as u16, class, age) / item.size.max(1) as f32
    }
}

impl SimulatedPlant {
    /// Class of a size, relative to the mean size.
    pub(super) fn size_class(&self, size: Size) -> u8 {
        let items: usize = self.members.iter().map(|member| member.places.len()).sum();
        let own = size.as_f32();
        size_class(own, if items == 0 { own } else { self.used.as_f64() as f32 / items as f32 })
    }

    /// Whether a new item is worth more than the items of its pool that would be evicted for it.
    pub(super) fn enters(&mut self, at: usize, item: &Item, pool: usize, is_read: bool) -> bool {
        let evictor = self.pools[pool].step.evictor;
        let (held, size) = (self.used.0, u64::from(item.size));
        let need = (held + size).saturating_sub(self.limit.0);
        let items: usize = self.members.iter().map(|member| member.places.len()).sum();
        let is_large = size as f64 * items as f64 >= LARGE as f64 * held as f64;
        let is_poor = self.members[at].used < self.members[at].bounds.min;
        if evictor != Evictor::gittins(evictor.k) || need == 0 || !is_large || is_poor {
            return true;
        }
        let price = self.prices.get(at).copied().unwrap_or(1.0);
        let Some(watching) = &mut self.watching else { return true };
        let past = watching.past_of(at, item.key, is_read, self.tick);
        let own = watching.rank(at, &Item { past, ..*item }, price, self.tick);
        let mut lower = Lower::than(own);
        for _ in 0..evictor.k {
            let Some(candidate) = self.draw(pool, at) else { break };
            lower.draw(candidate.rank, candidate.size.into());
        }
        let enters = lower.yields(need, held);
        if let Some(watching) = self.watching.as_mut().filter(|_| !enters) {
            watching.refuse(at, item.key, past);
        }
        enters
    }

    /// The candidate that is worth least, of `k` drawn from a pool for a write of `asker`.
    pub(super) fn lowest_of(&mut self, pool: usize, asker: usize, k: usize) -> Option<Candidate> {
        let items: usize = self.members.iter().map(|member| member.places.len()).sum();
        let mean = self.used.as_f64() / items.max(1) as f64;
        let differ = self.squares / items.max(1) as f64 > (1.0 + ALIKE) * mean * mean;
        let by_bytes = if differ { k / 2 } else { 0 };
        let mut lowest: Option<Candidate> = None;
        let mut consider = |candidate: Candidate| {
            if lowest.as_ref().is_none_or(|known| candidate.rank < known.rank) {
                lowest = Some(candidate);
            }
        };
        for _ in by_bytes..k {
            consider(self.draw(pool, asker)?);
        }
        for _ in 0..by_bytes {
            for _ in 0..PASSED_MAX {
                let candidate = self.draw(pool, asker)?;
                if is_drawn(&mut self.prng, f64::from(candidate.size) / mean) {
                    consider(candidate);
                    break;
                }
            }
        }
        let newest = self.watching.as_ref().map(|watching| watching.newest.clone());
        for (at, key) in newest.into_iter().flatten() {
            if self.may_lose(at, asker)
                && let Some(candidate) = self.candidate(at, key)
            {
                consider(candidate);
            }
        }
        lowest
    }
}

/// Whether an item is drawn, with a probability in proportion to its size by the mean size.
fn is_drawn(prng: &mut Prng, size: f64) -> bool {
    prng.below(1 << 20) as f64 * PASSED as f64 <= size * f64::from(1 << 20)
}
