//! Gittins: of all ways to keep an item until some age and then give it up, what the best earns.
//!
//! ```text
//! rank = price · index[tenant][interval class][age] / size
//! index = max over stopping ages of    hits until then / time until then
//! ```
//!
//! An item is a machine that one may play or leave: kept, it costs its bytes for a while, and it
//! may pay its price, the waiting that a hit saves. Which of many such machines to play at a time
//! has an exact answer where each goes its own way: the one with the highest index, the best ratio
//! of what is earned to what is spent until one gives up, if one gives up at the best time \[1\].
//! Here a set of them is held, and the lowest of a sample of 64 goes.
//!
//! LHD is the special case that never gives up, and learns from what the cache holds. Stopping
//! tells an item that is hit soon or never from one that is hit at leisure: their hit densities may
//! be alike, but the first need be kept for a moment only.
//!
//! - *Classes* are by what three fields of an item's stamps tell, and its size: the octave of the
//!   mean interval between its hits, and how many those were ([`class_of`]).
//! - *Learning* is from watched keys, resident or not ([`Learner`]), at two rates of forgetting;
//!   `index` has the formulas. A table of one moment is swapped whole ([`Table`]).
//! - *Candidates*: half of them are drawn by bytes where sizes differ, for what takes much memory
//!   should be looked at often; and the eight newest always, so that large useless items leave at
//!   once.
//! - *Newcomers compete*: a large one evicts many before it is itself a candidate. So one of at
//!   least [`LARGE`] mean sizes enters only where it is worth more than those that would leave.
//! - *Evicted* keys are remembered, as many as there are residents, so that a key which returns
//!   goes on with its birth and its hits ([`Memory`]).
//!
//! All of it can be left out, to see what it gives: `cost=0` counts hits in place of waiting;
//! `tail=0` takes ages that were never seen for hopeless; `stop=0` never gives up; `watch` is the
//! share of the keys that is watched at least (all while they are few), 0 to learn from residents;
//! `tenants=0` has one table for all; `bytes=0` draws all candidates alike; `newest` and `memory`
//! are the numbers of those; `compete=0` lets all in; `parts=0` has one class an octave;
//! `profile=0` lets octaves learn from those beside them only; `fast=0` forgets slowly only;
//! `recency=0` believes what little is known at the start.
//!
//! \[1\] Gittins. Bandit Processes and Dynamic Allocation Indices. JRSS B 1979.

mod class;
mod counts;
mod index;
mod known;
mod learner;
mod live;
mod lived;
mod memory;
mod newcomer;
mod recency;
mod simulated;
mod table;

pub use class::{AGES, BORN_STEP, CLASSES, Past, bucket, class_of, interval_class, size_class};
pub use known::Known;
pub use learner::{Kind, Learner, Options, PENALTIES};
pub use live::{Cost, Gittins as LiveRank, Indices};
pub use memory::Memory;
pub use newcomer::{LARGE, Lower};
pub use table::{TENANTS, Table};

use crate::{Evictor, Param, Spec};
use simulated::Gittins;
use std::sync::Arc;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "gittins",
    params: &[
        Param::k(64),
        Param::switch("cost", 1),
        Param::switch("tail", 1),
        Param::switch("stop", 1),
        Param::share("watch", 0.1),
        Param::switch("tenants", 1),
        Param::switch("bytes", 1),
        Param::count("newest", 8, 0, 64),
        Param::number("memory", 1.0, 0.0, 16.0),
        Param::switch("compete", 1),
        Param::switch("parts", 1),
        Param::switch("profile", 1),
        Param::switch("fast", 1),
        Param::switch("recency", 1),
    ],
    build: |params| Box::new(Gittins::new(params)),
    live: Some(|params| {
        let rank = LiveRank::unlearnt(params.get("cost") > 0.0);
        Evictor::sampled(Arc::new(rank), params)
    }),
};
