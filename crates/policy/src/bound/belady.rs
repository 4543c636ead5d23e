//! Belady: evicts the object whose next use is furthest away. For objects of one size no cache that
//! admits every object does better.
//!
//! With sizes it is no bound: see `belady-size`.
//!
//! \[1\] Belady. A study of replacement algorithms for a virtual-storage computer. IBM Systems
//! Journal 1966.

use crate::heap::Heap;
use crate::{Policy, Slot, Spec};
use base::{Access, Tick};

/// The registry entry.
pub const SPEC: Spec =
    Spec { name: "belady", params: &[], build: |_| Box::new(Belady::default()), live: None };

/// The residents by next use.
#[derive(Debug, Default)]
pub struct Belady(Heap);

/// The priority of an object: the later its next use, the lower. An object without another use is
/// lowest.
fn priority(access: &Access) -> f64 {
    -access.next.as_f64()
}

impl Policy for Belady {
    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        self.0.push(slot, priority(access));
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        self.0.change(slot, priority(access));
    }

    fn on_remove(&mut self, slot: Slot, _: u64, _: bool, _: Tick) {
        self.0.remove(slot);
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        self.0.first().expect("a victim is asked for only while something is resident").0
    }
}
