//! Claims: forecasts of figures under a setting that could be made.
//!
//! Each sentence with a forecast is made from a [`Claim`]: a figure, a setting, a value with its
//! band, and the stretch of requests that it rests on. So a reader who doubts a claim can run it.
//! `larder experiment claims` runs each claim in virtual time and compares the actual value with
//! the claimed one. The match over [`Setting`] there ensures that every claim has its run.
//!
//! Two sentences about one figure, such as a floor before and after it is set, come from one
//! function. A claim whose band is wider than its change is not made ([`Claim::is_sound`]).

mod of_report;
mod value;

pub use of_report::{
    LRU, all, compression, divided, floor, floor_costs, memory, memory_to, of_maxmemory, plain,
    policy, settled, step, twice_the_ttl,
};
pub use value::{Claim, ClaimedFigure, Setting};
