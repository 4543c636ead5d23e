//! Clock2Q+: hits soon after the first request do not count.
//!
//! Two requests within moments often mean no third: several rows of one page of an index, a page of
//! metadata behind several blocks. The newest half of the small queue is a *correlation window*
//! (section 3.4): hits in it set no bit. An object hit behind the window moves on to the main
//! queue, a CLOCK of one bit. The others are evicted, and their keys are kept, for the bytes of
//! half a cache. A ghost that comes back enters the main queue.
//!
//! The bytes that entered behind an object tell its position in the small queue, so a hit stays a
//! comparison. An object larger than the small queue is refused.
//!
//! \[1\] Zhai et al. Clock2Q+: A Simple and Efficient Replacement Algorithm for Metadata Cache in
//! `VMware` vSAN. VLDB '26.

use super::probation::{Probation, Traits};
use crate::{Param, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "clock2q-plus",
    params: &[
        Param::share("small", 0.1),
        Param::number("ghost", 0.5, 0.0, 100.0),
        Param::share("window", 0.5),
    ],
    build: |params| {
        let traits = Traits {
            small: params.get("small"),
            ghosts: params.get("ghost"),
            window: params.get("window"),
            hits: 1,
            rounds: 1,
            fills_main: true,
        };
        Box::new(Probation::new(traits, params.capacity))
    },
    live: None,
};
