//! Lessons of requests: samples for the models, costs of misses, lifetimes, evicted keys.

pub(crate) mod changed_keys;
pub(crate) mod exit;
pub(crate) mod ghosts;
pub(crate) mod lifetimes;
pub(crate) mod penalty_classes;
pub(crate) mod removals;
pub(crate) mod stopwatch;
pub(crate) mod tap;
pub(crate) mod watching;
