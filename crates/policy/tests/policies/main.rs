//! What every policy owes, and what each must give.

#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod oracles;
