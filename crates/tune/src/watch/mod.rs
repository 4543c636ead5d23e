//! The models of one pool, and the share of its keys that they watch.
//!
//! Two limits bound the share. A model holds a limited number of keys, and lowers its own rate when
//! more appear: that bounds memory. The models of all pools together see a limited number of
//! requests a second, or their time would lower the throughput. That limit sets the rate at which
//! they are built. A rate far off is chosen anew. Then new models begin, and the last curves of the
//! old ones serve until the new ones have seen enough.

mod allowance;
mod curves;
mod models;
mod rate;
mod remember;

pub(crate) use allowance::{keys_max, octave, samples_per_s};
pub(crate) use models::Watch;

#[cfg(test)]
mod tests;
