//! Claims of the report, tested against actual results.

mod load;
mod loads;
mod repeated;
mod runs;

pub(super) use runs::EXPERIMENT;
