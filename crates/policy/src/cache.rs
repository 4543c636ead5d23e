//! Residency around a policy: the map, the bytes, expiry, the eviction loop and the counters.

use crate::{Access, Bytes, Choice, Op, Policy, Slot, Stats, Tick};
use base::Micros;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A read that found its object.
    Hit,
    /// A read that did not.
    Miss,
    /// A write or a removal.
    Done,
}

/// Keys are hashes already.
#[derive(Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[derive(Clone, Copy, Debug)]
struct Resident {
    key: u64,
    size: u32,
    expires: Micros,
}

const FOREVER: Micros = Micros(u64::MAX);

/// A simulated cache: any policy, objects of any size, capacity in bytes.
#[derive(Debug)]
pub struct Cache {
    policy: Box<dyn Policy>,
    capacity: Bytes,
    used: Bytes,
    now: Tick,
    slots: HashMap<u64, Slot, BuildHasherDefault<Ready>>,
    residents: Vec<Resident>,
    free: Vec<Slot>,
    stats: Stats,
}

impl Cache {
    /// An empty cache of `capacity` under the chosen policy.
    pub fn new(choice: &Choice, capacity: Bytes, seed: u64) -> Self {
        Self {
            policy: choice.build(capacity, seed),
            capacity,
            used: Bytes(0),
            now: Tick(0),
            slots: HashMap::default(),
            residents: vec![],
            free: vec![],
            stats: Stats::default(),
        }
    }

    /// Serves one request. A read that misses inserts its object; an object larger than the cache
    /// never enters.
    pub fn access(&mut self, access: &Access) -> Outcome {
        self.now += Tick(1);
        let found = self.find(access);
        match access.op {
            Op::Delete => {
                if let Some(slot) = found {
                    self.remove(slot, false);
                }
                Outcome::Done
            }
            Op::Set => {
                self.write(found, access);
                Outcome::Done
            }
            Op::Get => {
                self.count(found.is_some(), access);
                if let Some(slot) = found {
                    if self.residents[slot as usize].size == access.size {
                        self.policy.on_hit(slot, access, self.now);
                    } else {
                        self.write(found, access);
                    }
                    Outcome::Hit
                } else {
                    self.write(None, access);
                    Outcome::Miss
                }
            }
        }
    }

    /// Changes the capacity; evicts until the residents fit.
    pub fn resize(&mut self, capacity: Bytes) {
        self.capacity = capacity;
        self.policy.on_resize(capacity);
        while self.used > capacity {
            self.evict(&Access::get(0, 0));
        }
    }

    /// Bytes charged for the residents.
    pub const fn used(&self) -> Bytes {
        self.used
    }

    /// Bytes it may hold.
    pub const fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Resident objects.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing is resident.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The resident slot of the key, dropping it first if its time is over.
    fn find(&mut self, access: &Access) -> Option<Slot> {
        let slot = *self.slots.get(&access.key)?;
        if self.residents[slot as usize].expires <= access.time {
            self.remove(slot, false);
            return None;
        }
        Some(slot)
    }

    fn count(&mut self, hit: bool, access: &Access) {
        let (size, penalty) = (u64::from(access.size), access.penalty.as_f64());
        self.stats.gets += 1;
        self.stats.get_bytes += size;
        self.stats.get_penalty_us += penalty;
        if !hit {
            self.stats.misses += 1;
            self.stats.miss_bytes += size;
            self.stats.miss_penalty_us += penalty;
        }
    }

    fn write(&mut self, found: Option<Slot>, access: &Access) {
        let size = Bytes(u64::from(access.size));
        if size > self.capacity {
            if let Some(slot) = found {
                self.remove(slot, false);
            }
            return;
        }
        // The old object, if any, is charged anew and may itself be chosen to make room.
        let slot = found.filter(|&slot| {
            let resident = &mut self.residents[slot as usize];
            self.used -= Bytes(u64::from(resident.size));
            resident.size = 0;
            true
        });
        while self.used + size > self.capacity {
            self.evict(access);
        }
        let expires = if access.ttl == Micros(0) { FOREVER } else { access.time + access.ttl };
        let still = slot.filter(|_| self.slots.contains_key(&access.key));
        self.used += size;
        if let Some(slot) = still {
            let resident = &mut self.residents[slot as usize];
            resident.size = access.size;
            if access.op == Op::Set {
                resident.expires = expires;
            }
            self.policy.on_hit(slot, access, self.now);
            return;
        }
        let resident = Resident { key: access.key, size: access.size, expires };
        let slot = if let Some(slot) = self.free.pop() {
            self.residents[slot as usize] = resident;
            slot
        } else {
            self.residents.push(resident);
            (self.residents.len() - 1) as Slot
        };
        self.slots.insert(access.key, slot);
        self.policy.on_insert(slot, access, self.now);
    }

    fn evict(&mut self, incoming: &Access) {
        let victim = self.policy.victim(incoming, self.now);
        self.stats.evictions += 1;
        self.remove(victim, true);
    }

    fn remove(&mut self, slot: Slot, evicted: bool) {
        let resident = self.residents[slot as usize];
        self.policy.on_remove(slot, evicted, self.now);
        self.slots.remove(&resident.key);
        self.used -= Bytes(u64::from(resident.size));
        self.free.push(slot);
    }
}
