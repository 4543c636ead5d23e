//! Eviction policies: who leaves when the cache is full.
//!
//! A policy only decides. [`Cache`] owns what every policy would otherwise repeat: the residency
//! map, the byte accounting, expiry, the eviction loop and the counters. So a policy is one short
//! file and its name in the list below.
//!
//! There are four families, and the difference matters. A *rank* policy needs only an item's
//! metadata ([`Meta`]): it samples candidates and the lowest rank goes. The very same rank file
//! scores items in the simulator ([`rank::Sampled`]) and in the live store. A *queue* policy keeps
//! an order of its own and works in the simulator alone; so does a *learned* one, which fits a
//! model to what it saw. A *bound* looks into the future, or has no limit, to show what could be
//! reached.
//!
//! Beside them stand filters ([`admit`]), which decide who gets in: `lru+tinylfu` is LRU behind
//! one.
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

/// A dense index of a resident object. Reused after removal, so policies keep plain `Vec`s
/// beside it.
pub type Slot = u32;

/// Decides who leaves.
pub trait Policy: Debug + Send {
    /// `slot` just became resident, by `access`.
    fn on_insert(&mut self, slot: Slot, access: &Access, now: Tick);
    /// `slot` was hit, or overwritten (then `access.op` is [`Op::Set`]); its size may be new.
    fn on_hit(&mut self, slot: Slot, access: &Access, now: Tick);
    /// `slot`, which held `key`, left; `evicted` unless it was deleted or expired.
    fn on_remove(&mut self, slot: Slot, key: u64, evicted: bool, now: Tick);
    /// Names the resident to evict. Called only while something is resident. The answer is removed
    /// at once, unless an admission filter prefers it to the newcomer: then it stays.
    fn victim(&mut self, incoming: &Access, now: Tick) -> Slot;
    /// `incoming` is not resident and about to be let in, before anything is evicted for it.
    fn on_miss(&mut self, _incoming: &Access, _now: Tick) {}
    /// Whether the policy takes `incoming`, of whose miss it was just told, in at all.
    fn takes(&mut self, _incoming: &Access, _now: Tick) -> bool {
        true
    }
    /// Whether the policy has room for such an object at all, resident already or not.
    fn admits(&self, _incoming: &Access) -> bool {
        true
    }
    /// Whether the capacity binds it; only a bound on what can be reached says no.
    fn is_bounded(&self) -> bool {
        true
    }
    /// How long each resident was not used, where that is all the policy goes by.
    fn idle(&self, _now: Tick) -> Option<Vec<(Slot, u64)>> {
        None
    }
    /// The cache now holds up to `capacity`: only policies that size parts of themselves by it
    /// care.
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
    /// How the live store follows it; none where it keeps an order of its own, or is a bound.
    pub live: Option<fn(&Params) -> Evictor>,
}

macro_rules! policies {
    ($($family:ident :: { $($name:ident),* $(,)? })*) => {
        $(pub mod $family;)*
        /// Every policy, in the order reports list them.
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
