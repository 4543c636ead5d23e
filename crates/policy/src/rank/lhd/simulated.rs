//! LHD in the simulator: by the ages of the last two hits, and densities that follow the cache.

use super::model::{APP_CLASSES, DensityModel, HIT_CLASSES, LifetimeClass, bucket};
use super::pace::{
    DECAY, EXPLORE_AGE, EXPLORE_ONE_IN, EXPLORE_SHARE, FIRST_LOOK, LOOK_MAX, LOOK_SHARE, PATIENCE,
};
use crate::rank::Dense;
use crate::{Params, Policy, Slot};
use base::hash::mix;
use base::{Access, Bytes, Op, Prng, Size, Tick};

/// The most requests between two looks, for each object cached. The model remembers about ten
/// looks: a cache that turned over hundreds of times in these would follow traffic of long ago.
const LOOK_OBJECTS: u64 = 8;
/// Recent newcomers that are always candidates.
const RECENT: usize = 8;
/// Neighbours read at each draw. Entries are in no order (the last fills every gap), so a run is as
/// good as single draws, and costs fewer cache lines.
const RUN: usize = 8;
/// Weight of the earlier victims in the usual victim's rank.
const VICTIM_MEMORY: f32 = 0.9;

/// The entry of a resident: 20 bytes, so that a draw seldom reads two cache lines.
#[derive(Clone, Copy, Debug)]
struct LhdResident {
    /// Tick of the last use, wrapping: ages beyond 2^32 requests are wrong.
    last: u32,
    /// Age at the last hit; [`NEVER_HIT`] without one.
    last_hit: u32,
    size: Size,
    cost: f32,
    class: LifetimeClass,
    explorer: bool,
}

const NEVER_HIT: u32 = u32::MAX;

impl LhdResident {
    #[inline]
    fn age(&self, now: Tick) -> u32 {
        (now.0 as u32).wrapping_sub(self.last)
    }
}

/// The residents and the learnt model.
#[derive(Debug)]
pub(crate) struct Lhd {
    model: DensityModel,
    dense: Dense<LhdResident>,
    prng: Prng,
    k: usize,
    /// Whether the penalty multiplies the rank.
    cost: bool,
    /// Whether all residents are candidates: an ideal for comparison, slow beyond thousands.
    global: bool,
    explore_budget: i64,
    /// Copies, so that ranking them reads no other memory; an entry is checked when it ranks
    /// lowest.
    recent: [Option<(Slot, LhdResident)>; RECENT],
    recent_at: usize,
    usual_victim: f32,
    look_at: u64,
    capacity: u64,
    explorer_age_max: u32,
    evictions: u64,
}

impl Lhd {
    pub(crate) fn new(params: &Params, cost: bool) -> Self {
        Self {
            model: DensityModel::new(APP_CLASSES),
            dense: Dense::default(),
            prng: Prng::new(params.seed),
            k: (params.get("k") as usize).max(1),
            cost,
            global: params.get("global") > 0.0,
            explore_budget: (params.capacity.0 / EXPLORE_SHARE) as i64,
            recent: [None; RECENT],
            recent_at: 0,
            usual_victim: 0.0,
            look_at: FIRST_LOOK,
            capacity: params.capacity.0,
            explorer_age_max: u32::MAX,
            evictions: 0,
        }
    }

    /// Hit density per byte; explorers rank above everything.
    #[inline]
    fn rank(&self, entry: &LhdResident, now: Tick) -> f32 {
        let age = entry.age(now);
        if entry.explorer && age < self.explorer_age_max {
            return f32::INFINITY;
        }
        entry.cost * self.model.density(entry.class, bucket(age)) / entry.size.as_f32()
    }

    /// The entry of an object just used. Decides whether the object is an explorer.
    fn enter(
        &mut self,
        access: &Access,
        last_hit: u32,
        sum: Option<u64>,
        now: Tick,
    ) -> LhdResident {
        let app = match access.tenant {
            0 => 0,
            tenant => mix(u64::from(tenant)) as usize % APP_CLASSES,
        };
        let class = (app * HIT_CLASSES) as LifetimeClass + self.model.hit_class(sum);
        let size = access.size.max(Size::ONE);
        let explorer = self.explore_budget > 0 && self.prng.below(EXPLORE_ONE_IN) == 0;
        if explorer {
            self.explore_budget -= size.get() as i64;
        }
        let cost = if self.cost { access.penalty.0.max(1) as f32 } else { 1.0 };
        LhdResident { last: now.0 as u32, last_hit, size, cost, class, explorer }
    }

    /// The recent newcomer with the lowest rank, if that is below `limit`. Drops an entry that
    /// would win but was used or removed since.
    fn best_recent(&mut self, mut limit: f32, now: Tick) -> Option<Slot> {
        let mut best = None;
        for at in 0..RECENT {
            let Some((slot, entry)) = self.recent[at] else { continue };
            let rank = self.rank(&entry, now);
            if rank >= limit {
                continue;
            }
            if self.dense.get(slot).is_some_and(|now| now.last == entry.last) {
                (best, limit) = (Some(slot), rank);
            } else {
                self.recent[at] = None;
            }
        }
        best
    }

    fn look(&mut self, now: Tick) {
        if now.0 >= self.look_at && self.has_turned_over(now) {
            let lasting = self.dense.iter().map(|(_, entry)| (entry.class, entry.age(now), 1.0));
            self.model.learn(DECAY, self.dense.len(), lasting);
            self.explorer_age_max = EXPLORE_AGE.saturating_mul(self.dense.len() as u32);
            let most = (LOOK_OBJECTS * self.dense.len() as u64).clamp(FIRST_LOOK, LOOK_MAX);
            self.look_at = now.0 + (now.0 / LOOK_SHARE).clamp(FIRST_LOOK / 4, most);
        }
    }
}

impl Lhd {
    /// Whether enough lifetimes have ended for a look. A cache that has only just filled knows only
    /// hits, and would learn that everything is hit.
    fn has_turned_over(&self, now: Tick) -> bool {
        let objects = self.dense.len() as u64;
        4 * self.evictions >= 3 * objects || now.0 >= PATIENCE * objects
    }
}

impl Policy for Lhd {
    fn on_insert(&mut self, slot: Slot, access: &Access, now: Tick) {
        self.look(now);
        let entry = self.enter(access, NEVER_HIT, None, now);
        if !entry.explorer && self.rank(&entry, now) < self.usual_victim {
            self.recent[self.recent_at] = Some((slot, entry));
            self.recent_at = (self.recent_at + 1) % RECENT;
        }
        self.dense.push(slot, entry);
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, now: Tick) {
        self.look(now);
        let old = *self.dense.get_mut(slot);
        let age = old.age(now);
        if access.op == Op::Set {
            // The value before the write ends its life unread.
            self.model.count_end(old.class, age);
        } else {
            self.model.count_hit(old.class, age);
        }
        if old.explorer {
            self.explore_budget += old.size.get() as i64;
        }
        let before = if old.last_hit == NEVER_HIT { 0 } else { old.last_hit };
        let sum = u64::from(age) + u64::from(before);
        let entry = self.enter(access, age.min(NEVER_HIT - 1), Some(sum), now);
        *self.dense.get_mut(slot) = entry;
    }

    fn on_remove(&mut self, slot: Slot, _: u64, evicted: bool, now: Tick) {
        let entry = self.dense.remove(slot);
        self.model.count_end(entry.class, entry.age(now));
        if entry.explorer {
            self.explore_budget += entry.size.get() as i64;
        }
        if evicted {
            self.evictions += 1;
            let rank = self.rank(&entry, now);
            if rank.is_finite() {
                self.usual_victim =
                    VICTIM_MEMORY * self.usual_victim + (1.0 - VICTIM_MEMORY) * rank;
            }
        }
    }

    fn victim(&mut self, _: &Access, now: Tick) -> Slot {
        let mut best = (f32::INFINITY, self.dense.at(0).0);
        let mut consider = |rank: f32, slot: Slot| {
            if rank < best.0 {
                best = (rank, slot);
            }
        };
        if self.global {
            for (slot, entry) in self.dense.iter() {
                consider(self.rank(entry, now), slot);
            }
            return best.1;
        }
        let len = self.dense.len();
        for _ in 0..self.k.div_ceil(RUN) {
            let start = self.prng.below(len as u64) as usize;
            for place in start..start + RUN {
                let (slot, entry) = self.dense.at(if place < len { place } else { place % len });
                consider(self.rank(entry, now), slot);
            }
        }
        self.best_recent(best.0, now).unwrap_or(best.1)
    }

    fn on_resize(&mut self, capacity: Bytes) {
        let share = |capacity: u64| (capacity / EXPLORE_SHARE) as i64;
        self.explore_budget += share(capacity.0) - share(self.capacity);
        self.capacity = capacity.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Age begins anew at each hit. An object that enters at T, is hit at T + 4 and T + 6, and is
    /// evicted at T + 12, has hit ages of 4 and 2 and an age of 6 at its eviction (the paper,
    /// section 3.1).
    #[test]
    fn ages_count_from_the_last_hit() {
        let (names, values) = (crate::rank::lhd::SPEC.params, &[1.0, 0.0, 0.0]);
        let params = Params { capacity: Bytes(100), seed: 1, names, values };
        let mut lhd = Lhd::new(&params, false);
        let access = Access::get(1, 1);
        lhd.on_insert(0, &access, Tick(100));
        lhd.on_hit(0, &access, Tick(104));
        lhd.on_hit(0, &access, Tick(106));
        lhd.on_remove(0, 1, true, Tick(112));
        for age in 0..20 {
            let want = match age {
                2 | 4 => (1.0, 0.0),
                6 => (0.0, 1.0),
                _ => (0.0, 0.0),
            };
            assert_eq!(lhd.model.ended(age), want, "age {age}");
        }
    }
}
