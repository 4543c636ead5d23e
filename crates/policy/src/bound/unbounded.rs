//! A cache without limit: only first reads, expiry and removals miss. No policy can miss less.

use crate::{Policy, Slot, Spec};
use base::{Access, Tick};

/// The registry entry.
pub const SPEC: Spec =
    Spec { name: "unbounded", params: &[], build: |_| Box::new(Unbounded), live: None };

/// A policy that never evicts.
#[derive(Clone, Copy, Debug)]
pub struct Unbounded;

impl Policy for Unbounded {
    fn on_insert(&mut self, _: Slot, _: &Access, _: Tick) {}

    fn on_hit(&mut self, _: Slot, _: &Access, _: Tick) {}

    fn on_remove(&mut self, _: Slot, _: u64, _: bool, _: Tick) {}

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        unreachable!("a cache without limit is never full")
    }

    fn is_bounded(&self) -> bool {
        false
    }
}
