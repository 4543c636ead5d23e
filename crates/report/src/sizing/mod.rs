//! The effect of other sizes of memory on misses and waiting.
//!
//! If tenants share a pool, each curve is of the policy in force and fitted to the measured figures
//! ([`crate::plays`]). The pool then says how much each tenant would hold (`pool`). Otherwise a
//! curve is of sampled LRU over the last minutes, and the policy in force may be better. So the
//! curve is fitted to two measured figures. At the memory a tenant holds, it gives the measured
//! miss ratio. With all keys seen in memory, it gives the misses without the evictions. Where
//! causes are not known, the curve is shifted: if a tenant misses as often as sampled LRU would
//! with 1.3 times the memory, each of its bytes counts 1.3 times. Memory for all is divided as the
//! recipe would divide it: by the waiting that the next byte saves, along the convex hulls of the
//! curves.
//!
//! No estimate goes beyond the data: a curve ends at the size that holds all keys seen of a tenant.

mod curve;
mod divide;
mod division;
mod fitted;
mod outlook;
mod pool;
#[cfg(test)]
pub(crate) mod tests;

pub use curve::{Curve, Estimate};
pub use divide::divide;
pub use division::Division;
pub use fitted::{Need, Sizing, mib_saves_us};
pub(crate) use fitted::{READS_MIN, waits};
pub use outlook::{Outlook, outlook};
pub(crate) use pool::{Bounds, SharedPool};
