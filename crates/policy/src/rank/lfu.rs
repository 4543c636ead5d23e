//! LFU, aged: evicts the object with the fewest uses, and old uses fade with every eviction.
//!
//! Plain LFU keeps yesterday's favourites for ever. With dynamic ageing a newcomer starts at the
//! level of the last victim instead of at zero, so newer objects overtake one that is no longer
//! used. Among equal objects the oldest is evicted. `ageing=0` is plain LFU.
//!
//! LFU is not a rank of an item's metadata, for the same reason as GDSF: the level at the last use
//! belongs to the item. The live store ranks by uses per access of its life (`hyperbolic` with
//! `size=0`), which fade as well.
//!
//! \[1\] Arlitt, Cherkasova, Dilley, Friedrich, Jin. Evaluating Content Management Techniques for
//! Web Proxy Caches. SIGMETRICS Performance Evaluation Review 2000.

use super::gdsf::GreedyDual;
use super::hyperbolic::Hyperbolic;
use crate::{Evictor, Param, Spec};
use std::sync::Arc;

/// Candidates that the live store draws, since it keeps no order.
const CANDIDATES: u8 = 64;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "lfu",
    params: &[Param::share("ageing", 1.0)],
    build: |params| Box::new(GreedyDual::new(|_| 1.0, params.get("ageing"), params.capacity)),
    live: Some(|_| Evictor {
        rank: Arc::new(Hyperbolic { cost: false, size: false }),
        k: CANDIDATES,
        pool: false,
    }),
};
