//! The registry entry, for the simulator and for the live store.

use super::{Lhd, Ranks};
use crate::rank::cost_lhd::Priced;
use crate::{Evictor, Param, Rank, Spec};
use std::sync::Arc;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "lhd",
    params: &[Param::k(32), Param::switch("cost", 0), Param::switch("global", 0)],
    build: |params| Box::new(Lhd::new(params, params.get("cost") > 0.0)),
    live: Some(|params| {
        let priced = params.get("cost") > 0.0;
        let rank: Arc<dyn Rank> =
            if priced { Arc::new(Priced::default()) } else { Arc::new(Ranks::default()) };
        Evictor::sampled(rank, params)
    }),
};
