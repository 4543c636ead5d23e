//! Guarantees common to all policies, and the results of each one.

mod by_hand;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod oracles;
