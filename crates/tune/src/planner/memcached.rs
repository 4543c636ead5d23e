//! memcached's default: whoever comes first. Pages go to the classes that ask for them until there
//! is none left, and stay where they are; from then on a class makes room among its own items [1].
//! What classes then have is what the first requests wanted (slab calcification).
//!
//! [1] memcached 1.4, slabs.c.

use super::Spec;
use crate::slab::held;
use crate::{Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "memcached", by_curves: false, plan };

fn plan(snapshot: &Snapshot) -> Plan {
    Plan::of(SPEC.name, snapshot, &held(snapshot), vec![])
}
