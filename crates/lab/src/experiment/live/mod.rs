//! Live experiments: the papers' tables with real servers, real databases, and real waiting.
//!
//! An experiment is one file and its name in the list below. It has *rows*, servers with their
//! settings, and *workloads*. In every round each row plays each workload in turn, with a server
//! that was started for it. Results are ratios of rows within a round, and the median of these:
//! other work of the machine comes and goes from round to round.
//!
//! There is a near and a far database. Without `--near` and `--far`, fixed waits stand in for them,
//! and a message says so.

mod kept;
mod load;
mod peer;
mod rounds;
mod row;
mod setting;

use super::Findings;
use load::{Load, Tenant};
use rounds::{compare, memory, play, play_at_once};
use row::{PROMISED, ServerRow};
pub(super) use setting::Args;
use setting::{Experiment, Setting};

macro_rules! experiments {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every live experiment, in the order of the help.
        pub(super) const ALL: &[&Experiment] = &[$(&$name::EXPERIMENT,)*];
    };
}

experiments! { dlru, kredis, predis, periodic, lama, rankcache, overhead }
