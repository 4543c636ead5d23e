//! Eviction policies: the choice of a victim when the cache is full.
//!
//! A policy only decides. [`Cache`] does the work that all policies share: the residency map, the
//! byte accounting, expiry, the eviction loop and the counters. So a policy is one short file and
//! its name in the list below.
//!
//! There are four families. A *rank* policy needs only an item's metadata ([`Meta`]): it samples
//! candidates and evicts the lowest rank. The same rank file scores items in the simulator
//! ([`rank::Sampled`]) and in the live store. A *queue* policy keeps an order of its own and works
//! only in the simulator. So does a *learned* policy, which fits a model to past requests. A
//! *bound* knows the future, or has no limit, to show the best possible result.
//!
//! Filters ([`admit`]) decide which objects enter: `lru+tinylfu` is LRU behind a filter.
#![forbid(unsafe_code)]

pub mod admit;
mod cache;
pub mod choice;
mod evictor;
mod ghost;
mod heap;
mod index;
mod miniature;
mod param;
mod stats;

pub use base::{Access, Bytes, Op, Tick};
pub use cache::{Cache, Idle, Outcome};
pub use choice::{Choice, Params, parse};
pub use evictor::{Evictor, live_names};
pub use param::{K_MAX, Param};
pub use rank::{Meta, Rank};
pub use stats::Stats;

use std::fmt::Debug;

/// A dense index of a resident object. A slot is reused after removal, so policies keep plain
/// `Vec`s by slot.
pub type Slot = u32;

/// Chooses the victims.
pub trait Policy: Debug + Send {
    /// `access` just made `slot` resident.
    fn on_insert(&mut self, slot: Slot, access: &Access, now: Tick);
    /// `slot` was hit, or overwritten (then `access.op` is [`Op::Set`]); its size may be new.
    fn on_hit(&mut self, slot: Slot, access: &Access, now: Tick);
    /// `slot`, which held `key`, was removed. `evicted` is false if it was deleted or expired.
    fn on_remove(&mut self, slot: Slot, key: u64, evicted: bool, now: Tick);
    /// Names the resident to evict. Called only while something is resident. The cache removes the
    /// answer at once, unless an admission filter prefers that resident to the newcomer.
    fn victim(&mut self, incoming: &Access, now: Tick) -> Slot;
    /// `incoming` is not resident and may enter. Called before anything is evicted for it.
    fn on_miss(&mut self, _incoming: &Access, _now: Tick) {}
    /// Whether the policy takes `incoming` in at all, right after [`Policy::on_miss`] for it.
    fn takes(&mut self, _incoming: &Access, _now: Tick) -> bool {
        true
    }
    /// Whether the policy has room for such an object at all, resident or not.
    fn admits(&self, _incoming: &Access) -> bool {
        true
    }
    /// Whether the capacity limits the policy. It does, except for a bound with unlimited memory.
    fn is_bounded(&self) -> bool {
        true
    }
    /// Ticks since the last use of each resident; `None` where the policy uses more than that.
    fn idle(&self, _now: Tick) -> Option<Vec<(Slot, u64)>> {
        None
    }
    /// The cache now holds up to `capacity`. Only policies that size parts of themselves by the
    /// capacity need this.
    fn on_resize(&mut self, _capacity: Bytes) {}
}

/// A policy's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used in configuration, reports and file names.
    pub name: &'static str,
    /// Its parameters in the order of importance: `name:value` on the command line sets the first.
    pub params: &'static [Param],
    /// Builds the policy for a cache, deterministic in the seed.
    pub build: fn(&Params) -> Box<dyn Policy>,
    /// The form of the policy in the live store. `None` where it keeps an order of its own, or is a
    /// bound.
    pub live: Option<fn(&Params) -> Evictor>,
}

macro_rules! policies {
    ($($family:ident :: { $($name:ident),* $(,)? })*) => {
        $(pub mod $family;)*
        /// Every policy, in the order of reports.
        pub const ALL: &[&Spec] = &[$($(&$family::$name::SPEC,)*)*];
    };
}

policies! {
    queue::{
        fifo, lru, clock, slru, two_q, arc, lirs, lru_k, qdlp, s3fifo, clock2q_plus, sieve,
        w_tinylfu,
    }
    rank::{ random, klru, lfu, gdsf, hyperbolic, lhd, cost_lhd, gittins, lrm }
    learned::{ three_l_cache }
    bound::{ belady, belady_size, unbounded }
}
