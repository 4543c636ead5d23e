//! Residency around a policy: the map, the bytes, expiry, the eviction loop and the counters.
//!
//! A resident costs 12 bytes here and about 14 in the map from keys to slots. Expiry times have a
//! separate table, which exists only once an object has one. With the 8 bytes of a list, LRU stays
//! below 48 bytes an object at any size.

use crate::admit::Admit;
use crate::index::Index;
use crate::{Choice, Policy, Slot, Stats};
use base::{Access, Bytes, Micros, Op, Size, Tick};

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A read that found its object.
    Hit,
    /// A read that did not find its object.
    Miss,
    /// A write or a removal.
    Done,
}

/// A resident in twelve bytes: two halves of the key avoid padding.
#[derive(Clone, Copy, Debug)]
struct Resident {
    key: [u32; 2],
    size: Size,
}

const _: () = assert!(size_of::<Resident>() == 12);

impl Resident {
    const fn new(key: u64, size: Size) -> Self {
        Self { key: [key as u32, (key >> 32) as u32], size }
    }

    const fn key(self) -> u64 {
        self.key[0] as u64 | (self.key[1] as u64) << 32
    }
}

const FOREVER: Micros = Micros(u64::MAX);

/// The expiry time of the object that `access` stores. A trace may name any time to live: one past
/// the end of the clock never ends.
fn expires_at(access: &Access) -> Micros {
    match access.ttl {
        Micros(0) => FOREVER,
        Micros(ttl) => Micros(access.time.0.saturating_add(ttl)),
    }
}

/// A resident with its age, for a cache that continues where another ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The key.
    pub key: u64,
    /// Bytes charged for it.
    pub size: Size,
    /// The time it has to live; zero for no limit.
    pub left: Micros,
    /// Requests to the cache since the last one to this key.
    pub age: u64,
}

/// A simulated cache: any policy, objects of any size, capacity in bytes.
#[derive(Debug)]
pub struct Cache {
    policy: Box<dyn Policy>,
    /// The filter in front of the policy; without one every object enters.
    admission: Option<Box<dyn Admit>>,
    capacity: Bytes,
    used: Bytes,
    /// Whether only a write changes the size of a resident.
    keeps_sizes: bool,
    now: Tick,
    index: Index,
    residents: Vec<Resident>,
    /// Expiry by slot, up to the highest slot that ever held an object with a time to live.
    expires: Vec<Micros>,
    free: Vec<Slot>,
    stats: Stats,
}

impl Cache {
    /// An empty cache of `capacity` under the chosen policy.
    pub fn new(choice: &Choice, capacity: Bytes, seed: u64) -> Self {
        let policy = choice.build(capacity, seed);
        Self {
            capacity: if policy.is_bounded() { capacity } else { Bytes(u64::MAX) },
            policy,
            admission: choice.build_admission(capacity, seed),
            used: Bytes(0),
            keeps_sizes: false,
            now: Tick(0),
            index: Index::default(),
            residents: vec![],
            expires: vec![],
            free: vec![],
            stats: Stats::default(),
        }
    }

    /// Makes a read never change a resident's size. An object keeps the size that it entered with
    /// until a write or its removal, as in libCacheSim.
    #[must_use]
    pub fn keeping_sizes(self) -> Self {
        Self { keeps_sizes: true, ..self }
    }

    /// Serves one request. A read that misses inserts its object; an object larger than the cache
    /// never enters. A read whose size differs from the stored one implies a write that the trace
    /// does not show. The cache then charges the object anew, as for a write. It removes the object
    /// where the policy has no room for that size. Only a write changes the time to live.
    pub fn access(&mut self, access: &Access) -> Outcome {
        self.now += Tick(1);
        let found = self.find(access);
        if let Some(admission) = &mut self.admission {
            admission.on_access(access, found.is_some());
        }
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
                    let size = self.residents[slot as usize].size;
                    if size == access.size {
                        self.policy.on_hit(slot, access, self.now);
                    } else if self.keeps_sizes {
                        self.policy.on_hit(slot, &Access { size, ..*access }, self.now);
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
        if !self.policy.is_bounded() {
            return;
        }
        self.capacity = capacity;
        self.policy.on_resize(capacity);
        while self.used > capacity {
            self.evict(&Access::get(0, 0));
        }
    }

    /// The residents as of `time`, the last used first; `None` where the policy uses more than
    /// ages.
    pub fn idle(&self, time: Micros) -> Option<Vec<Idle>> {
        let idle = |(slot, age): (Slot, u64)| {
            let Resident { size, .. } = self.residents[slot as usize];
            let key = self.residents[slot as usize].key();
            let left = match self.expires.get(slot as usize) {
                Some(&expires) if expires != FOREVER => {
                    Micros(expires.0.saturating_sub(time.0).max(1))
                }
                _ => Micros(0),
            };
            Idle { key, size, left, age }
        };
        let mut all: Vec<Idle> = self.policy.idle(self.now)?.into_iter().map(idle).collect();
        all.sort_unstable_by_key(|one| (one.age, one.key));
        Some(all)
    }

    /// Takes in the residents of another cache, listed with the last used first. It does so only
    /// before its first request. Time begins anew; the counters stay at zero.
    pub fn fill(&mut self, residents: &[Idle]) {
        let Some(oldest) = residents.last().filter(|_| self.now == Tick(0)) else { return };
        for one in residents.iter().rev().filter(|one| one.age <= oldest.age) {
            self.now = Tick(oldest.age - one.age);
            if !self.holds(one.key) {
                let Idle { key, size, left: ttl, .. } = *one;
                self.write(None, &Access { op: Op::Set, size, ttl, ..Access::get(key, 0) });
            }
        }
        self.now = Tick(oldest.age);
        self.stats = Stats::default();
    }

    /// Bytes charged for the residents.
    pub const fn used(&self) -> Bytes {
        self.used
    }

    /// Bytes that the residents may hold.
    pub const fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Number of resident objects.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether nothing is resident.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Whether `key` is resident, even past its time to live. Policy and counters do not see this
    /// call.
    pub fn holds(&self, key: u64) -> bool {
        self.slot(key).is_some()
    }

    /// Drops an object whose time is over, as a store that sweeps does before anyone asks for it.
    pub fn expire(&mut self, key: u64, time: Micros) {
        self.find(&Access { time, ..Access::get(key, 0) });
    }

    #[inline]
    fn slot(&self, key: u64) -> Option<Slot> {
        self.index.find(key, |slot| self.residents[slot as usize].key() == key)
    }

    /// The slot of the key, if it is resident. Removes the object first if its time to live is
    /// over.
    #[inline]
    fn find(&mut self, access: &Access) -> Option<Slot> {
        let slot = self.slot(access.key)?;
        if self.expires.get(slot as usize).is_some_and(|&at| at <= access.time) {
            self.stats.expirations += 1;
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
        if size > self.capacity || !self.policy.admits(access) {
            self.stats.refusals += 1;
            if let Some(slot) = found {
                self.remove(slot, false);
            }
            return;
        }
        let still = match found {
            Some(slot) => self.overwrite(slot, access),
            None => None,
        };
        if let Some(slot) = still {
            if access.op == Op::Set {
                self.set_expiry(slot, access);
            }
            self.policy.on_hit(slot, access, self.now);
            return;
        }
        self.policy.on_miss(access, self.now);
        if !self.policy.takes(access, self.now) || !self.make_room(access) {
            self.stats.refusals += 1;
            return;
        }
        let resident = Resident::new(access.key, access.size);
        let slot = if let Some(slot) = self.free.pop() {
            self.residents[slot as usize] = resident;
            slot
        } else {
            let len = self.residents.len();
            if len == self.residents.capacity() {
                // By a quarter: doubling could leave up to half of a large table unused.
                self.residents.reserve_exact(len / 4 + 16);
            }
            self.residents.push(resident);
            len as Slot
        };
        self.used += size;
        self.index.insert(access.key, slot);
        self.set_expiry(slot, access);
        self.policy.on_insert(slot, access, self.now);
    }

    /// Charges a resident for its new size and evicts until the cache fits. The resident may itself
    /// be the victim: then the result is `None`.
    fn overwrite(&mut self, slot: Slot, access: &Access) -> Option<Slot> {
        let resident = &mut self.residents[slot as usize];
        self.used -= Bytes(u64::from(resident.size));
        resident.size = access.size;
        self.used += Bytes(u64::from(access.size));
        while self.used > self.capacity {
            let victim = self.policy.victim(access, self.now);
            self.stats.evictions += 1;
            self.remove(victim, true);
            if victim == slot {
                return None;
            }
        }
        Some(slot)
    }

    /// Evicts until `incoming` fits; false if the filter refuses it.
    fn make_room(&mut self, incoming: &Access) -> bool {
        let size = Bytes(u64::from(incoming.size));
        let full = self.used + size > self.capacity;
        if let Some(admission) = &mut self.admission {
            let rival = (full && admission.compares())
                .then(|| self.policy.victim(incoming, self.now))
                .map(|slot| self.residents[slot as usize].key());
            if !admission.admit(incoming, rival) {
                return false;
            }
        }
        while self.used + size > self.capacity {
            self.evict(incoming);
        }
        true
    }

    fn set_expiry(&mut self, slot: Slot, access: &Access) {
        let at = slot as usize;
        let expires = expires_at(access);
        if at < self.expires.len() {
            self.expires[at] = expires;
        } else if expires != FOREVER {
            self.expires.resize(at + 1, FOREVER);
            self.expires[at] = expires;
        }
    }

    fn evict(&mut self, incoming: &Access) {
        let victim = self.policy.victim(incoming, self.now);
        self.stats.evictions += 1;
        self.remove(victim, true);
    }

    fn remove(&mut self, slot: Slot, evicted: bool) {
        let resident = self.residents[slot as usize];
        let key = resident.key();
        self.policy.on_remove(slot, key, evicted, self.now);
        self.index.remove(key, slot);
        self.used -= Bytes(u64::from(resident.size));
        self.free.push(slot);
    }
}
