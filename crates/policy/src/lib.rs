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
mod choice;
mod evictor;
mod ghost;
mod heap;
mod index;
mod live;
mod miniature;
mod param;
mod parse;
mod policy;
mod stats;

pub use base::{Access, Bytes, Op, Tick};
pub use cache::{Cache, Idle, Outcome};
pub use choice::Choice;
pub use evictor::Evictor;
pub use live::live_names;
pub use param::{K_MAX, Param, Params};
pub use parse::parse;
pub use policy::{Policy, Slot, Spec};
pub use rank::{Meta, Rank};
pub use stats::Stats;

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
