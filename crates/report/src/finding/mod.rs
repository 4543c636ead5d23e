//! Findings: facts that a person should know and actions to take. Each kind has one file, and its
//! name stands in one list.
//!
//! A finding is a function of the report alone, and names its evidence. Too few samples, or a
//! difference within its band, give no finding.

mod evidence;
mod kind;
mod remedy;
mod search;
#[cfg(test)]
pub(crate) mod tests;

pub use kind::{Finding, FindingSpec, Remedy, Severity};
pub use remedy::{bound, command, remedy};
pub use search::all;

macro_rules! findings {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every kind of finding.
        pub const ALL: &[FindingSpec] =
            &[$(FindingSpec { name: stringify!($name), find: $name::find }),*];
    };
}

findings!(
    refused_writes,
    memory_overcommitted,
    starved,
    promise_broken,
    too_small,
    too_large,
    compressible,
    policy,
    cold_misses,
    ttl_too_short,
    deleted_misses,
    read_too_early,
    large_items,
    hot_key,
    write_only,
    floor_costs,
    forecast_off,
    loop_off,
);
