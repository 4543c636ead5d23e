//! Planners: pure functions from a snapshot to a plan.
//!
//! A planner neither reads counters nor moves memory. So the same planner runs in the lab on a
//! trace, in a test on a literal, and in the server.

mod spec;

pub use spec::Spec;

macro_rules! planners {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        /// Every planner, in the order of reports.
        pub const ALL: &[&Spec] = &[$(&$name::SPEC,)*];
    };
}

planners! {
    adapt_k, guard, dp, hull, qos, manual, nothing, memcached, automove, automove_former, psa,
    facebook, twemcache, cachelib, rank_balance, bound,
}

#[cfg(test)]
pub(crate) mod test_slabs;

/// The planner with this name.
///
/// # Errors
/// A sentence that names the known planners.
pub fn find(name: &str) -> Result<&'static Spec, String> {
    ALL.iter().copied().find(|spec| spec.name == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        format!("unknown planner '{name}': choose one of {}", known.join(", "))
    })
}
