//! The interface of the engine: `store.rs` has the calls on one key and describes the locks, and
//! the other files have walks, settings, reports and the sweep.

pub(crate) mod admin;
pub(crate) mod compress;
pub(crate) mod compression_stats;
pub(crate) mod detached;
mod dictionaries;
pub(crate) mod dump;
pub(crate) mod learn;
pub(crate) mod learnt_state;
mod on_write;
pub(crate) mod pages;
pub(crate) mod priced;
pub(crate) mod reads;
pub(crate) mod reports;
pub(crate) mod restore;
mod sample_values;
mod sampling;
pub(crate) mod scan;
pub(crate) mod store;
pub(crate) mod sweep;
pub(crate) mod watch;
