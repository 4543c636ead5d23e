//! The trait that every policy implements, and its entry in the list of all.

use crate::{Evictor, Param, Params};
use base::{Access, Bytes, Tick};
use std::fmt::Debug;

/// A dense index of a resident object. A slot is reused after removal, so policies keep plain
/// `Vec`s by slot.
pub type Slot = u32;

/// Chooses the victims.
pub trait Policy: Debug + Send {
    /// `access` just made `slot` resident.
    fn on_insert(&mut self, slot: Slot, access: &Access, now: Tick);
    /// `slot` was hit, or overwritten (then `access.op` is [`Set`](base::Op::Set)); its size may be
    /// new.
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
