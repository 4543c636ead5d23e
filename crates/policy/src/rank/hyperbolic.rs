//! Hyperbolic caching: keeps the items with the most hits per byte and per unit of time resident.
//!
//! ```text
//! rank = cost · (hits + 1) / (size · life)
//! ```
//!
//! The worth of a hit falls as its item grows older, so there is no decay and no half-life to
//! choose. But an old burst still counts. The lowest of 64 candidates is evicted: a rank that moves
//! with time cannot be kept in order.
//!
//! With `cost=1` the penalty multiplies the rank; with `size=0` bytes do not count.
//!
//! \[1\] Blankstein, Sen, Freedman. Hyperbolic Caching: Flexible Caching for Web Applications.
//! ATC '17.

use super::{Meta, Rank, Sampled};
use crate::{Evictor, Param, Params, Spec};
use base::Tick;
use std::sync::Arc;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "hyperbolic",
    params: &[Param::k(64), Param::pool(), Param::switch("cost", 0), Param::switch("size", 1)],
    build: |params| Box::new(Sampled::of(Hyperbolic::of(params), params)),
    live: Some(|params| Evictor::sampled(Arc::new(Hyperbolic::of(params)), params)),
};

/// Uses per byte and unit of time.
#[derive(Clone, Copy, Debug)]
pub struct Hyperbolic {
    /// Whether the penalty counts.
    pub cost: bool,
    /// Whether bytes count.
    pub size: bool,
}

impl Hyperbolic {
    fn of(params: &Params) -> Self {
        Self { cost: params.get("cost") > 0.0, size: params.get("size") > 0.0 }
    }
}

impl Rank for Hyperbolic {
    fn rank(&self, item: &Meta, _: Tick) -> f32 {
        let size = if self.size { item.size.max(1) as f32 } else { 1.0 };
        let cost = if self.cost { item.cost() } else { 1.0 };
        cost * (item.hits as f32 + 1.0) / (size * item.life.max(1) as f32)
    }

    fn is_worth(&self) -> bool {
        self.size
    }

    fn is_priced(&self) -> bool {
        self.cost
    }
}
