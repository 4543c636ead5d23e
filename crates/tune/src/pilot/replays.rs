//! Plays of the tape. While a recipe keeps one pool for everybody: the policy in force at other
//! sizes of memory, and the other policies at the present size. While a recipe gives each tenant a
//! budget: the division in force, and one LRU pool of the same memory.
//!
//! A set of plays begins once a minute, and while the tape is young, whenever its age has doubled:
//! many keys on a young tape had no access before, so their reads miss in every play. Each look
//! runs one play, so that no look is long. A set is shown when it is complete. All plays of a set
//! count from the same access to the same access.

use crate::tape::{Played, Scene, ScenePool, Tape, ratio_of};
use crate::{Evictor, Reading};
use base::{Access, Bytes, Filter, Micros, TenantId};
use std::sync::{Arc, LazyLock};

/// Sizes that are played with the policy in force, as multiples of the present one. The present
/// size is the first. A play without a limit is added.
const SIZES: [f64; 9] = [1.0, 0.125, 0.25, 0.5, 0.75, 1.25, 1.5, 2.0, 4.0];

/// Longest time between the beginnings of two sets.
const REFRESH: Micros = Micros::from_secs(60);

/// Minimum number of accesses on a tape for a play.
const ACCESSES_MIN: usize = 2_000;

/// Plain LRU as the store has it.
const LRU: Evictor = Evictor::klru_pool(5);

/// Number of candidates of the policies that take one, other than K-LRU.
const CANDIDATES: u8 = 64;

/// The policies that the store can follow. K-LRU stands for plain LRU too: it has five candidates
/// and keeps them between evictions, as Redis does.
static LIVE: LazyLock<Vec<Evictor>> = LazyLock::new(|| {
    let name = |name: &'static str| match name {
        "klru" => Some(LRU),
        "lru" => None,
        "lfu" => Some(Evictor::LFU),
        "random" => Some(Evictor { policy: name, k: 0, pool: false }),
        policy => Some(Evictor { policy, k: CANDIDATES, pool: false }),
    };
    let known = policy::live_names().into_iter().filter_map(name);
    known.filter(|evictor| policy::parse(&evictor.to_string()).is_ok()).collect()
});

/// The sampled requests of a stretch of time: as they are served now, at other sizes of memory, and
/// under other policies at the present size.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Memory sizes and their plays, in ascending order. The last has no limit (`None`). A division
    /// of memory is played at the present size only.
    pub sizes: Vec<(Option<Bytes>, Played)>,
    /// The plays of the other policies, of one pool with the present memory.
    pub others: Vec<Played>,
    /// The present memory.
    pub memory: Bytes,
    /// Time of the look at which the set began. Later accesses are not played.
    pub at: Micros,
}

impl Replayed {
    /// The results of all policies. The policy or the division in force is the first.
    pub fn trials(&self) -> Vec<Trial> {
        let Some(present) = self.present() else { return vec![] };
        let waited = present.waits();
        let missed: f64 = present.misses();
        let of = |played: &Played| {
            let waits = played.waits();
            let (ratio, band) = ratio_of(&waits, &waited);
            Trial {
                evictor: played.scene.evictor(),
                waits: ratio,
                band,
                misses: played.misses() / missed.max(1.0),
            }
        };
        std::iter::once(present).chain(&self.others).map(of).collect()
    }

    /// The play of the policy or of the division in force with the present memory.
    pub fn present(&self) -> Option<&Played> {
        let present = |(size, _): &&(Option<Bytes>, Played)| *size == Some(self.memory);
        self.sizes.iter().find(present).map(|(_, played)| played)
    }
}

/// The result of a policy on the sample, compared with the policy in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The policy of the pool that all tenants share; `None` for a division of memory.
    pub evictor: Option<Evictor>,
    /// Ratio of its waiting for misses to the waiting of the policy in force.
    pub waits: f64,
    /// Half the width of the 95 % band of `waits`.
    pub band: f64,
    /// Ratio of its misses to the misses of the policy in force.
    pub misses: f64,
}

/// The policy or the division in force while the tape is recorded.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Present {
    /// One pool for all tenants.
    Shared(Evictor),
    /// Tenants with a pool each: policy and memory.
    Divided(Vec<(TenantId, Evictor, Bytes)>),
}

impl Present {
    pub(super) const fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    const fn evictor(&self) -> Option<Evictor> {
        match self {
            Self::Shared(evictor) => Some(*evictor),
            Self::Divided(_) => None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Replays {
    tape: Tape,
    now: Micros,
    limit: Bytes,
    /// Share of the memory that the items take, as the store charges them.
    items: f64,
    /// The tape at the beginning of the present set.
    copy: Option<Box<Tape>>,
    /// The scenes of the set that are still to be played, the next one last. `done` holds the
    /// finished plays.
    queue: Vec<(Option<Bytes>, Scene)>,
    done: Vec<(Option<Bytes>, Played)>,
    /// Beginning of the set, and the policy in force then; `None` if memory was divided.
    begun: Option<(Micros, Option<Evictor>)>,
    /// Time at which the next set is due.
    due: Micros,
    shown: Option<Arc<Replayed>>,
}

impl Replays {
    /// Records the accesses sampled since the last look.
    pub(super) fn learn(&mut self, reading: &Reading, accesses: &[Access], filter: Filter) {
        self.tape.allow(reading.model_memory);
        self.tape.record(accesses, filter);
        (self.now, self.limit) = (reading.now, reading.limit);
        let used: Bytes = reading.tenants.iter().map(|tenant| tenant.used).sum();
        let all = if reading.used > Bytes(0) { reading.used } else { used };
        self.items = if used > Bytes(0) { used.as_f64() / all.as_f64() } else { 1.0 };
    }

    /// Forgets everything: the recipe in force asks for none of it.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Plays one scene, if one is due. Returns true if this completed a set.
    pub(super) fn play(&mut self, present: &Present, prices: &[f64], since: Micros) -> bool {
        if self.queue.is_empty() {
            if self.now < self.due || self.tape.len() < ACCESSES_MIN || self.limit == Bytes(0) {
                return false;
            }
            self.begin(present, prices, since);
        }
        let Some((size, scene)) = self.queue.pop() else { return false };
        match self.copy.as_ref().and_then(|tape| tape.play(&scene)) {
            Some(played) => self.done.push((size, played)),
            None => self.queue.clear(),
        }
        self.queue.is_empty() && self.show(present.evictor())
    }

    fn begin(&mut self, present: &Present, prices: &[f64], since: Micros) {
        self.begun = Some((self.now, present.evictor()));
        let age = self.tape.since().map_or(Micros(0), |since| self.now.saturating_sub(since));
        self.due = self.now + REFRESH.min(age);
        self.copy = Some(Box::new(self.tape.clone()));
        self.done.clear();
        let items = |size: Bytes| Bytes((size.as_f64() * self.items) as u64);
        let scene = |pools: Vec<ScenePool>| Scene { pools, prices: prices.to_vec(), since };
        let shared = |evictor, size: Option<Bytes>| {
            (size, scene(vec![ScenePool::shared(evictor, size.map(items))]))
        };
        let by = |times: f64| Some(Bytes((self.limit.as_f64() * times) as u64));
        // The last scene is played first.
        self.queue = match present {
            Present::Shared(evictor) => {
                let others = LIVE.iter().filter(|other| other.policy != evictor.policy);
                let others = others.map(|&other| shared(other, by(1.0)));
                let sizes = SIZES.iter().map(|&times| shared(*evictor, by(times)));
                let unbounded = std::iter::once(shared(*evictor, None));
                others.chain(unbounded).chain(sizes.rev()).collect()
            }
            Present::Divided(pools) => {
                let own = |&(tenant, evictor, budget): &(TenantId, Evictor, Bytes)| ScenePool {
                    tenant: Some(tenant),
                    evictor,
                    capacity: Some(items(budget)),
                };
                let division = scene(pools.iter().map(own).collect());
                vec![shared(LRU, by(1.0)), (by(1.0), division)]
            }
        };
    }

    fn show(&mut self, evictor: Option<Evictor>) -> bool {
        self.copy = None;
        let mut sizes = std::mem::take(&mut self.done);
        // The present size is played first. The limit may have changed since.
        let Some(&(Some(memory), _)) = sizes.first() else { return false };
        let Some((at, _)) = self.begun.filter(|(_, own)| *own == evictor) else {
            // The policy changed after the set began.
            return false;
        };
        let own = if evictor.is_some() { SIZES.len() + 1 } else { 1 };
        if sizes.len() < own {
            return false;
        }
        let others = sizes.split_off(own).into_iter().map(|(_, played)| played).collect();
        sizes.sort_by_key(|(size, _)| size.map_or(u64::MAX, |size| size.0));
        self.shown = Some(Arc::new(Replayed { sizes, others, memory, at }));
        true
    }

    /// The last complete set.
    pub(super) const fn shown(&self) -> Option<&Arc<Replayed>> {
        self.shown.as_ref()
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.tape.bytes() + self.copy.as_ref().map_or(Bytes(0), |copy| copy.bytes())
    }
}
