//! Snapshot in, plan out: planners, recipes and the pilot.
#![forbid(unsafe_code)]
