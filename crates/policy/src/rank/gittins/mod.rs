//! Gittins: ranks an item by the best rate of hits over all ages at which it may be given up.
//!
//! ```text
//! rank = price · index[tenant][interval class][age] / size
//! index = max over stopping ages of    hits until then / time until then
//! ```
//!
//! An item is a machine that one may play or leave. Kept, it costs its bytes for a while, and it
//! may pay its price, the waiting that a hit saves. Where the machines are independent, it is best
//! to play the one with the highest index, which is the best ratio of earnings to costs over all
//! times to give up \[1\]. A cache evicts the lowest of a sample of 64.
//!
//! LHD is the special case that never gives up, and learns from the content of the cache. Stopping
//! distinguishes an item that is hit soon or never from one that is hit at leisure. Their hit
//! densities may be alike, but the first is worth keeping only for a moment.
//!
//! - *Classes* follow from three fields of an item's stamps, and its size: the octave of the mean
//!   interval between its hits, and the number of hits ([`class_of`]).
//! - *Learning* is from watched keys, resident or not ([`Learner`]), at two rates of forgetting;
//!   `index` has the formulas. The table of one moment is replaced as a whole ([`IndexTable`]).
//! - *Candidates*: where sizes differ, half of them are drawn by bytes, so that large items are
//!   examined often. The eight newest are always candidates: large useless items leave at once.
//! - *Newcomers compete*: a large one evicts many items before it is itself a candidate. So one of
//!   at least [`LARGE`] mean sizes enters only if it ranks above the items evicted for it.
//! - *Evicted* keys are remembered: one that returns keeps its birth and its hits ([`Memory`]).
//!
//! \[1\] Gittins. Bandit Processes and Dynamic Allocation Indices. JRSS B 1979.

mod class;
mod counts;
mod fetches;
mod index;
mod indices;
mod learner;
mod learner_state;
mod live;
mod memory;
mod newcomer;
mod options;
mod pace;
mod recency;
mod simulated;
mod spec;
mod table;
mod tenant_counts;
mod watched;

pub use class::{AGES, BORN_STEP, CLASSES, Past, bucket, class_of, interval_class, size_class};
pub use fetches::{ClassFetches, PENALTIES};
pub use indices::{Cost, Indices};
pub use learner::Learner;
pub use learner_state::LearnerState;
pub use live::LiveRank;
pub use memory::Memory;
pub use newcomer::{LARGE, Lower};
pub use options::LearnerOptions;
pub use pace::Pace;
pub use spec::SPEC;
pub use table::{IndexTable, TENANTS};
pub use watched::KeyEvent;
