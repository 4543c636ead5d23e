//! Reports in sentences: the answer first, then its evidence, then the command to type.
//!
//! Each question has one file. Every line keeps to 80 columns.

mod advise;
mod compressed;
mod curve;
mod decision;
mod forecasts;
mod gained;
mod history;
mod lines;
mod memory;
mod moved;
mod nodes;
#[cfg(test)]
mod operator_tests;
mod paid;
mod policies;
#[cfg(test)]
mod reader_tests;
mod sampled;
mod size;
mod tenants;
#[cfg(test)]
mod tests;
mod why;

pub use advise::{advise, more_or_less, summary};
pub use compressed::{all_compressed, compressed};
pub use curve::{best_share, best_share_says, curve};
pub use decision::{Decision, command_of, decision};
pub use forecasts::{forecasts, verdict};
pub use history::{claimed, history, measured, pilot};
pub use lines::quiet;
pub use memory::{memory, unread};
pub use moved::moved;
pub use nodes::nodes;
pub use policies::{policies, policy_words, standing};
pub use sampled::too_few;
pub use size::{size, unsettled};
pub use tenants::tenants;
pub use why::{why, why_known, why_then, word};
