//! Learning of the Gittins rank from watched keys, and the memory of evicted items.

use super::item::Item;
use base::hash::mix;
use base::{Filter, Tick};
use policy::rank::gittins::{IndexTable, KeyEvent, Learner, Memory, Past};
use std::collections::VecDeque;

/// Number of newest items that are candidates of every eviction.
const NEWEST: usize = 8;
/// The least share of the keys that is watched.
const SHARE_MIN: f64 = 0.1;

/// State of the rank, which learns while a pool evicts by it.
#[derive(Debug)]
pub(super) struct Watching {
    learner: Learner,
    table: IndexTable,
    memory: Memory,
    /// Newest items by tenant and key, the newest last.
    pub(super) newest: VecDeque<(usize, u64)>,
    evicted: u64,
}

/// A key of a tenant as a number.
fn name(at: usize, key: u64) -> u64 {
    mix(key ^ mix(at as u64))
}

impl Watching {
    /// State that has learnt nothing yet.
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
    pub(super) fn past_of(&mut self, at: usize, key: u64, is_read: bool, now: Tick) -> Past {
        let name = name(at, key);
        let Some(mut past) = self.memory.take(name) else { return Past::new(now.0) };
        self.memory.insert(name, past);
        if is_read {
            past.hit(now.0);
        }
        past
    }

    /// Remembers an item that is not let in, as if it had been resident.
    pub(super) fn refuse(&mut self, at: usize, key: u64, past: Past) {
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
