//! The entry of a planner in the list of all.

use crate::{Plan, Snapshot};

/// A planner's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used in configuration and reports.
    pub name: &'static str,
    /// Whether it divides by curves, so that its plans can be compared with them. A planner that
    /// uses counters decides for itself whether a move pays.
    pub by_curves: bool,
    /// Divides the memory of a snapshot.
    pub plan: fn(&Snapshot) -> Plan,
}
