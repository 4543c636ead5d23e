//! What every policy owes, and what each must give.

mod by_hand;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod oracles;
