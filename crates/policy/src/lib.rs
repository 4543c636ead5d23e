//! Eviction policies: who leaves when the cache is full.
//!
//! A policy only decides. [`Cache`] owns what every policy would otherwise repeat: the residency
//! map, the byte accounting, expiry, the eviction loop and the counters. So a policy is one short
//! file and its name in the list below.
//!
//! There are two families, and the difference matters. A *queue* policy keeps an order of its own
//! and works in the simulator alone. A *rank* policy needs only an item's metadata ([`Meta`]): it
//! samples candidates and the lowest rank goes. The very same rank file scores items in the
//! simulator ([`rank::Sampled`]) and in the live store.
#![forbid(unsafe_code)]

mod cache;
pub mod choice;
mod stats;

pub use base::{Access, Bytes, Op, Tick};
pub use cache::{Cache, Outcome};
pub use choice::{Choice, Params, parse};
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
    /// `slot` was hit, or overwritten (then `access.op` is [`Op::Set`] and its size is new).
    fn on_hit(&mut self, slot: Slot, access: &Access, now: Tick);
    /// `slot` left; `evicted` unless it was deleted or expired.
    fn on_remove(&mut self, slot: Slot, evicted: bool, now: Tick);
    /// Names the resident to evict. Called only while something is resident; the answer is
    /// removed at once.
    fn victim(&mut self, incoming: &Access, now: Tick) -> Slot;
    /// The cache now holds up to `capacity`: only policies that size parts of themselves by it
    /// care.
    fn on_resize(&mut self, _capacity: Bytes) {}
}

/// A policy's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used in configuration, reports and file names.
    pub name: &'static str,
    /// Its parameters with their defaults, in the order of importance: `name:value` on the
    /// command line sets the first.
    pub params: &'static [(&'static str, f64)],
    /// Builds the policy for a cache, deterministic in the seed.
    pub build: fn(&Params) -> Box<dyn Policy>,
}

macro_rules! policies {
    ($($family:ident :: { $($name:ident),* $(,)? })*) => {
        $(pub mod $family;)*
        /// Every policy, in the order reports list them.
        pub const ALL: &[&Spec] = &[$($(&$family::$name::SPEC,)*)*];
    };
}

policies! {
    queue::{ lru }
    rank::{ random, klru }
}
