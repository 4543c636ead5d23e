//! QDLP (QD-LP-FIFO): quick demotion in front of lazy promotion.
//!
//! *Quick demotion*: newcomers pass through a FIFO queue of a tenth of the cache. An object not hit
//! there is evicted; a ghost that comes back enters the main queue at once. *Lazy promotion*: the
//! main queue is a CLOCK of two bits, so an object moves when it would be evicted, not when it is
//! hit (section 4). The ghosts are those of nine tenths of the cache, as many objects as the main
//! queue holds.
//!
//! S3-FIFO derives from this policy and differs from it. Here one hit in the first queue is enough,
//! and newcomers stay in the first queue even before the cache is full. An object larger than that
//! queue is refused.
//!
//! \[1\] Yang, Qiu, Zhang, Yue, Rashmi. FIFO Can Be Better than LRU: the Power of Lazy Promotion
//! and Quick Demotion. HotOS '23.

use super::probation::{Probation, Traits};
use crate::{Param, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "qdlp",
    params: &[Param::share("small", 0.1), Param::number("ghost", 0.9, 0.0, 100.0)],
    build: |params| {
        let traits = Traits {
            small: params.get("small"),
            ghosts: params.get("ghost"),
            window: 0.0,
            hits: 1,
            rounds: 3,
            fills_main: false,
        };
        Box::new(Probation::new(traits, params.capacity))
    },
    live: None,
};
