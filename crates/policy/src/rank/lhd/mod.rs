//! LHD: keeps the items with the most expected hits for their bytes and their remaining time.
//!
//! ```text
//! rank = hit density(class, age) / size            hits to come / (bytes · time to come)
//! ```
//!
//! An object's future by its age is measured, not assumed (in `model`). Objects that behave alike
//! form a class: by tenant, and by the ages of the last two hits. The lowest of a sample is
//! evicted: 32 by default, for 64 gains nothing more on any trace tried. One measured curve covers
//! loops, scans and recency.
//!
//! An age that no item reaches teaches nothing, so some newcomers are *explorers*. Objects that
//! hold a hundredth of the bytes stay, whatever their rank, until they are hit or too old. The most
//! recent newcomers that ranked below the usual victim are always candidates: large useless objects
//! are then evicted at once instead of waiting for a draw.
//!
//! Learning: the densities are computed first when the cache has turned over, then whenever the
//! requests seen have grown by an eighth. The interval is at most eight requests for each object
//! cached (4096 at least) and at most 2^20 requests. At each look the past weighs 0.9. So a short
//! trace is long enough to learn from (the released code looks first after a million requests). A
//! long trace is not ranked by its beginning, neither by a large cache nor by one of a few hundred
//! objects, for which a million requests are an age.
//!
//! In the simulator LHD is not a [`Rank`](crate::Rank): it needs the ages of the last two hits, and
//! tables that follow the cache. The live store ranks by [`Ranks`], a table of one moment, with
//! fewer bits an item.
//!
//! \[1\] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18.

mod hit_class;
mod learner;
mod live;
mod lived;
mod model;
mod pace;
mod ranks;
mod simulated;
mod spec;

pub(crate) use hit_class::octaves;
pub use hit_class::{hit_class, hit_class_of};
pub use learner::Learner;
pub use lived::Lived;
pub use ranks::Ranks;
pub(crate) use simulated::Lhd;
pub use spec::SPEC;
