//! LFU, aged: whoever was used least often goes, and fame fades as others leave.
//!
//! Plain LFU keeps yesterday's favourites for ever. With dynamic ageing a newcomer starts at the
//! level of the last victim instead of at zero, so an object that is not used any more is overtaken
//! in time. Ties go to whoever came first. `ageing=0` is plain LFU.
//!
//! Not a rank of an item's metadata, for the reason GDSF is not: the level at the last use belongs
//! to the item. The live store ranks by uses an access of its life (`hyperbolic` with `size=0`),
//! which fade as well.
//!
//! \[1\] Arlitt, Cherkasova, Dilley, Friedrich, Jin. Evaluating Content Management Techniques for
//! Web Proxy Caches. SIGMETRICS Performance Evaluation Review 2000.

use super::gdsf::GreedyDual;
use super::hyperbolic::Hyperbolic;
use crate::{Evictor, Param, Spec};
use std::sync::Arc;

/// Candidates of the live store, which keeps no order.
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
