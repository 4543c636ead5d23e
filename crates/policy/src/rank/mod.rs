//! Policies that need only an item's metadata: draw candidates, score them, evict the lowest rank.
//!
//! One [`Rank`] runs in the simulator, through [`Sampled`], and in the live store. The store keeps
//! the fields of [`Meta`] in each item's header, whatever policy is active. So a live store changes
//! policy without touching an item.
//!
//! Some policies need more than a rank of the metadata, for reasons in their module docs: `gdsf`
//! and `lfu` age by a priority that is fixed when an object is used, `lhd` and `gittins` learn.

pub mod balance;
pub mod cost_lhd;
mod dense;
pub mod gdsf;
pub mod gittins;
pub mod hyperbolic;
pub mod klru;
pub mod lfu;
pub mod lhd;
pub mod lrm;
mod meta;
pub mod random;
mod ranking;
mod sampled;
mod stamps;
mod tag;
mod victims;

pub(crate) use dense::Dense;
pub use meta::Meta;
pub use ranking::{Learnt, Lessons, Rank};
pub use sampled::Sampled;
pub use stamps::Stamps;
pub use tag::Tag;
pub use victims::Victims;
