//! One play: a simulated cache, from the first access on the tape to the last. A scene that divides
//! the memory has such a cache for each tenant.
//!
//! Accesses before the window warm the cache up: each key is used as often as it actually was, up
//! to `USES_MAX` times, at its mean distance between uses. Then the window is played. Counting
//! begins at the requested moment, but after the first part of the window, in which ranks learn.
//! Misses are counted in groups of keys. Every play has the same keys in each group, so the groups
//! give the error of a comparison of two plays.

use super::record::{Entry, Past, Tape, millis};
use crate::Evictor;
use base::{Access, Bytes, Micros, Op, Size, TenantId};
use curve::GROUPS;
use policy::{Cache, Outcome};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Maximum number of uses that are played for a key before the window.
const USES_MAX: u32 = 4;

/// The first part of the window, which is not counted, as a divisor of its length.
const LEARNS: usize = 4;

/// Number of moments at which the bytes of each tenant are measured.
const LOOKS: usize = 4;

/// Student's t for eight groups, at 95 %.
const STUDENT: f64 = 2.36;

/// The ratio of one count to another, and half the width of its 95 % band. The band comes from the
/// deviation of the groups of keys from the ratio.
pub fn ratio_of(one: &[f64; GROUPS], by: &[f64; GROUPS]) -> (f64, f64) {
    let n = GROUPS as f64;
    let all = by.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let ratio = one.iter().sum::<f64>() / all;
    let strays = one.iter().zip(by).map(|(one, by)| (one - ratio * by).powi(2));
    (ratio, STUDENT * (strays.sum::<f64>() * n / (n - 1.0)).sqrt() / all)
}

/// A pool of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenePool {
    /// Its tenant; `None` if all tenants share the pool.
    pub tenant: Option<TenantId>,
    /// Its policy.
    pub evictor: Evictor,
    /// Memory of the items of all its keys, as the store charges them; `None` for no limit.
    pub capacity: Option<Bytes>,
}

impl ScenePool {
    /// The pool that all tenants share.
    pub const fn shared(evictor: Evictor, capacity: Option<Bytes>) -> Self {
        Self { tenant: None, evictor, capacity }
    }
}

/// The settings of one play: pools, prices and start of counting.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// One pool for all tenants, or one for each. Requests of other tenants are not played.
    pub pools: Vec<ScenePool>,
    /// Weight of each tenant's waiting, by tenant number; 1 for tenants beyond the end.
    pub prices: Vec<f64>,
    /// Time at which counting begins.
    pub since: Micros,
}

impl Scene {
    /// The policy of the pool that all tenants share; `None` if the memory is divided.
    pub fn evictor(&self) -> Option<Evictor> {
        self.pools.iter().find(|pool| pool.tenant.is_none()).map(|pool| pool.evictor)
    }
}

/// A tenant's part in a play.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fared {
    /// Mean of the bytes that the tenant held, scaled up to all keys.
    pub held: f64,
    /// Reads of sampled keys, by group.
    pub reads: [f64; GROUPS],
    /// Misses, by group.
    pub misses: [f64; GROUPS],
    /// The cost of these misses, in microseconds.
    pub waits: [f64; GROUPS],
}

/// The result of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The scene that was played.
    pub scene: Scene,
    /// Results by tenant number.
    pub tenants: Vec<Fared>,
    /// Length of the counted part of the window.
    pub length: Micros,
    /// Share of the keys that are on the tape.
    pub rate: f64,
}

impl Played {
    /// The cost of the misses of all tenants, by group.
    pub fn waits(&self) -> [f64; GROUPS] {
        let mut sum = [0.0; GROUPS];
        for tenant in &self.tenants {
            sum.iter_mut().zip(tenant.waits).for_each(|(sum, own)| *sum += own);
        }
        sum
    }

    /// Misses of sampled keys, of all tenants.
    pub fn misses(&self) -> f64 {
        self.tenants.iter().flat_map(|tenant| tenant.misses).sum()
    }
}

/// A cache that drops items when they expire, as the store's sweep does. Without it, expired items
/// without another request would take the memory of other items.
struct Swept {
    cache: Cache,
    /// Times in milliseconds at which keys expire, the earliest first.
    dies: BinaryHeap<Reverse<(u32, u64)>>,
}

impl Swept {
    fn access(&mut self, entry: &Entry, prices: &[f64]) -> Outcome {
        while let Some(&Reverse((at_ms, key))) = self.dies.peek()
            && at_ms <= entry.at_ms
        {
            self.dies.pop();
            self.cache.expire(key, Micros::from_millis(entry.at_ms.into()));
        }
        let outcome = self.cache.access(&access(entry, prices));
        if entry.ttl_ms > 0 && (outcome == Outcome::Miss || entry.op == Op::Set) {
            self.dies.push(Reverse((entry.at_ms.saturating_add(entry.ttl_ms), entry.key)));
        }
        outcome
    }
}

/// Tenant and size of each key at its last access.
type Latest = HashMap<u64, (TenantId, u32)>;

impl Tape {
    /// Plays a scene. Returns `None` if there is no access to count, or if the policy is unknown.
    pub fn play(&self, scene: &Scene) -> Option<Played> {
        let began = self.began?;
        let window = &self.window;
        let from_ms = millis(scene.since.saturating_sub(began));
        let since = window.partition_point(|entry| entry.at_ms < from_ms);
        let first = since.max(window.len() / LEARNS);
        let counted = window.len() - first;
        let (start, end) = (window.get(first)?, window.back()?);
        let rate = self.rate();
        let mut caches = vec![];
        for pool in &scene.pools {
            let choice = policy::parse(&pool.evictor.to_string()).ok()?;
            let scaled = |capacity: Bytes| Bytes((capacity.as_f64() * rate).round() as u64);
            let capacity = pool.capacity.map_or(Bytes(u64::MAX >> 8), scaled);
            let cache = Cache::new(&choice, capacity, 1);
            caches.push(Swept { cache, dies: BinaryHeap::new() });
        }
        let of = |tenant: TenantId| {
            scene.pools.iter().position(|pool| pool.tenant.is_none_or(|own| own == tenant))
        };
        let mut seen = Latest::new();
        for entry in self.before() {
            let Some(pool) = of(entry.tenant) else { continue };
            caches[pool].access(&entry, &scene.prices);
            seen.insert(entry.key, (entry.tenant, entry.size));
        }
        let tenants = window.iter().map(|entry| usize::from(entry.tenant) + 1).max();
        let mut fared = vec![Fared::default(); tenants?];
        let mut looks = 0;
        for (at, entry) in window.iter().enumerate() {
            let Some(pool) = of(entry.tenant) else { continue };
            let outcome = caches[pool].access(entry, &scene.prices);
            if entry.op != Op::Delete {
                seen.insert(entry.key, (entry.tenant, entry.size));
            }
            if at < first {
                continue;
            }
            let own = &mut fared[usize::from(entry.tenant)];
            let group = entry.key as usize % GROUPS;
            own.reads[group] += f64::from(u8::from(entry.op == Op::Get));
            if outcome == Outcome::Miss {
                own.misses[group] += 1.0;
                own.waits[group] += f64::from(entry.penalty_us);
            }
            if (at + 1 - first) * LOOKS >= (looks + 1) * counted {
                looks += 1;
                for (&key, &(tenant, size)) in &seen {
                    if let (Some(own), Some(pool)) =
                        (fared.get_mut(usize::from(tenant)), of(tenant))
                        && caches[pool].cache.holds(key)
                    {
                        own.held += f64::from(size);
                    }
                }
            }
        }
        for own in &mut fared {
            own.held /= looks.max(1) as f64 * rate;
        }
        let length = Micros::from_millis(u64::from(end.at_ms - start.at_ms));
        Some(Played { scene: scene.clone(), tenants: fared, length, rate })
    }

    /// Accesses that stand for the time before the window, in order.
    fn before(&self) -> Vec<Entry> {
        let uses = |past: &Past| {
            let Past { last, first_ms, uses } = *past;
            let apart = (last.at_ms - first_ms) / uses.saturating_sub(1).max(1);
            let uses = uses.clamp(1, USES_MAX);
            // The item expires when its last use says so.
            let dies_ms = last.at_ms.saturating_add(last.left_ms);
            (0..uses).rev().map(move |back| {
                let at_ms = last.at_ms - back * apart;
                let ttl_ms = if last.left_ms > 0 { dies_ms - at_ms } else { 0 };
                // Plays a read: for a rank that learns, a write would discard the key's record.
                Entry { at_ms, ttl_ms, op: Op::Get, ..last }
            })
        };
        let mut before: Vec<_> = self.past.values().flat_map(uses).collect();
        before.sort_unstable_by_key(|entry| (entry.at_ms, entry.key));
        before
    }
}

fn access(entry: &Entry, prices: &[f64]) -> Access {
    let price = prices.get(usize::from(entry.tenant)).copied().unwrap_or(1.0);
    Access {
        time: Micros::from_millis(entry.at_ms.into()),
        op: entry.op,
        tenant: entry.tenant,
        ttl: Micros::from_millis(entry.ttl_ms.into()),
        penalty: Micros((price * f64::from(entry.penalty_us)) as u64),
        size: Size::of(entry.size.into()),
        ..Access::get(entry.key, 0)
    }
}
