//! LHD that counts what a miss costs: keep what will save the most waiting for its bytes and time.
//!
//! ```text
//! rank = penalty · hit density(class, age) / size
//! ```
//!
//! The penalty multiplies; it does not make classes of its own, which would leave each class fewer
//! lifetimes to learn from.

use super::lhd::Lhd;
use crate::{Param, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "cost-lhd",
    params: &[Param::k(32), Param::switch("global", 0)],
    build: |params| Box::new(Lhd::new(params, true)),
};
