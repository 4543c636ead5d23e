//! Claims of the report, tested against what then happens.

mod load;
mod loads;
mod runs;

pub(super) use runs::EXPERIMENT;
