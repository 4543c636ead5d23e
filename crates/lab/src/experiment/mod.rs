//! Experiments: the measurements of the papers, repeated in virtual time, with our figures beside
//! theirs.
//!
//! An experiment is one file and its name in the list below. It makes *cells*: a subject (a
//! recipe or a policy) on one workload with one seed. The rows of the answer are the means of the
//! cells of a subject. Findings state the conclusions, with the figures of the paper.

mod command;
mod findings;
mod hindsight;
mod live;
mod load;
mod mixes;
mod setting;
mod slabs;

pub use command::{Args, run};
use findings::Findings;
use setting::{Experiment, Setting};

macro_rules! experiments {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every experiment, in the order of the help.
        const ALL: &[&Experiment] = &[$(&$name::EXPERIMENT,)*];
    };
}

experiments! {
    dlru_accuracy, dlru_fixed_k, dlru_phases, dlru_overhead, krr_accuracy, krr_speed,
    kredis_tenants, kredis_many, kredis_memory, kredis_throughput, predis_ycsb,
    predis_periodic, lama_etc, lama_accuracy, lama_parameters, lama_phases, lama_qos,
    lhd_policies, lhd_associativity, rankcache_balance, no_harm, changes, cold_start, everything,
    auto_ablation, claims,
}
