//! The causes of misses, by sampled keys.
//!
//! The store counts misses but cannot tell their causes: it keeps nothing of an evicted item. The
//! pilot sees every request to a sample of the keys anyway. For each of them it remembers the item
//! that an unbounded cache would hold. A miss of an item that would still be there is an eviction.
//! The shares of the causes among the sample's misses are those among all misses.
//!
//! ```text
//!                   read, found nothing
//!   unknown ─────────▶ never seen            write, later than a fetch takes ─▶ too early
//!   held, in time ───▶ evicted
//!   held, too old ───▶ expired
//!   removed ─────────▶ deleted
//! ```
//!
//! A miss counts for the number of keys that its key stands for, so that misses at another rate of
//! sampling keep their weight.
//!
//! The number of watched keys is bounded: the tenants with most of them watch half of their own.
//! When the tap samples more keys than before, the misses of new ones do not count at first. They
//! are watched for as long as they were not watched before: until then an earlier read of them may
//! be unknown.

mod watched;
mod watching;

pub use watched::SIZES;
pub(crate) use watching::{TenantTap, Watching};

#[cfg(test)]
mod tests;
