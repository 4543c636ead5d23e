//! Clock2Q+: hits that come right after the first request count for nothing.
//!
//! What is asked for twice within moments is often asked for no more: several rows of one page of
//! an index, a page of metadata behind several blocks. The newest half of the small queue is a
//! *correlation window* (section 3.4): hits in it set no bit. Who is hit behind the window moves on
//! to the main queue, a CLOCK of one bit; the others leave, and their keys are kept, those of half
//! a cache. A ghost that comes back enters the main queue.
//!
//! How far an object has come in the small queue is told by the bytes that entered behind it, so a
//! hit stays a comparison. An object larger than the small queue is refused.
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
