//! memcached's default: first come, first served. Pages go to the classes that ask for them until
//! none is left, and never move. From then on a class makes room among its own items [1]. So the
//! first requests determine the pages of each class (slab calcification).
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
