//! How a step's policy is the store's.

use policy::rank::klru::Klru;
use std::sync::Arc;
use store::Evictor;

/// Candidates that stand for an order that the store does not keep: with so many the item idle
/// longest of all is seldom far.
const LRU_CANDIDATES: u8 = 16;

/// How the store evicts as a step says.
pub fn evictor(step: tune::Evictor) -> Evictor {
    match (step.policy, step.k) {
        ("lhd", k) => Evictor::lhd(k),
        (_, 0) => Evictor { rank: Arc::new(Klru), k: LRU_CANDIDATES, pool: false },
        (_, k) => Evictor { rank: Arc::new(Klru), k, pool: step.pool },
    }
}
