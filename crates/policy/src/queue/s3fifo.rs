//! S3-FIFO: a small FIFO queue in front of a main one, and a FIFO queue of ghosts.
//!
//! Most objects have one request. They pass through the small queue, a tenth of the cache, and
//! never reach the main one. An object hit twice there, or requested again while a ghost, enters
//! the main queue. That queue gives an object as many further rounds as it had hits, three at most.
//! A hit moves nothing.
//!
//! An object larger than the small queue is refused.
//!
//! \[1\] Yang, Zhang, Qiu, Yue, Vinayak. FIFO Queues Are All You Need for Cache Eviction. SOSP '23.

use super::probation::{Probation, Traits};
use crate::{Param, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "s3fifo",
    params: &[
        Param::share("small", 0.1),
        Param::number("ghost", 0.9, 0.0, 100.0),
        Param::count("hits", 2, 1, 255),
    ],
    build: |params| {
        let traits = Traits {
            small: params.get("small"),
            ghosts: params.get("ghost"),
            window: 0.0,
            hits: params.get("hits") as u8,
            rounds: 3,
            fills_main: true,
        };
        Box::new(Probation::new(traits, params.capacity))
    },
    live: None,
};
