//! The figures of one play, beside those of the store.

use crate::Tenant;
use tune::tape::{Fared, GROUPS, Played};

/// Bounds of the ratio between the memory of a tenant in the store and in the play.
pub(crate) const HOLDS: (f64, f64) = (0.5, 2.0);

/// The sum over the groups of the sample.
pub(crate) fn sum(groups: &[f64; GROUPS]) -> f64 {
    groups.iter().sum()
}

/// The share of a tenant's reads that a play misses. Whether the few hottest keys are in the sample
/// decides how many reads it has, and hardly changes its misses. So the misses are divided by the
/// reads that an average sample of as many keys has.
pub(crate) fn missed(tenant: &Tenant, fared: &Fared, of: &Played) -> Option<f64> {
    let reads = reads(tenant, of);
    (reads > 0.0 && sum(&fared.reads) > 0.0).then(|| (sum(&fared.misses) / reads).min(1.0))
}

/// The expected reads of a tenant in a play: its reads over the length of the play, times the share
/// of keys sampled.
pub(crate) fn reads(tenant: &Tenant, of: &Played) -> f64 {
    tenant.recent.reads_per_s() * of.length.as_f64() / 1e6 * of.rate
}
