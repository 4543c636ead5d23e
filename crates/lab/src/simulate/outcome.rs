//! Result of one policy on one trace at one size.

use super::annotator::Cause;
use super::feed::Whole;
use base::{Bytes, TenantId};
use policy::Stats;
use serde::Serialize;
use std::collections::BTreeMap;

/// One result: the fields of the JSON document, in its order.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CacheOutput {
    pub(super) trace: String,
    pub(super) policy: String,
    /// The size as the user wrote it.
    pub(super) size: String,
    pub(super) size_bytes: u64,
    /// Reads; the miss ratio is a share of these.
    pub(super) requests: u64,
    pub(super) misses: u64,
    pub(super) miss_ratio: f64,
    pub(super) byte_miss_ratio: f64,
    /// Requests of any kind that the simulator served in a second.
    pub(super) requests_per_second: f64,
    /// Mean cost of the misses over all reads, where the trace states it.
    pub(super) mean_penalty_us: Option<f64>,
    pub(super) misses_by: MissesBy,
    /// Requests of any kind.
    pub(super) accesses: u64,
    pub(super) evictions: u64,
    pub(super) expirations: u64,
    /// Objects that were not admitted.
    pub(super) refusals: u64,
    /// Objects and bytes resident at the end.
    pub(super) objects: u64,
    pub(super) used_bytes: u64,
    pub(super) footprint_bytes: u64,
    pub(super) keys: u64,
    /// Whether footprint, keys and `misses_by` are estimates from a sample of the keys.
    pub(super) estimated: bool,
    pub(super) seed: u64,
    /// Bytes stored for each plain byte of a value, if the user asked for a cache that compresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compress_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) interval: Option<Interval>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tenants: Vec<Tenant>,
}

/// Misses by the answer that an unbounded cache would have given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct MissesBy {
    pub(super) first_seen: u64,
    pub(super) expired: u64,
    pub(super) deleted: u64,
    pub(super) evicted: u64,
}

impl MissesBy {
    pub(super) fn count(&mut self, cause: Option<Cause>) {
        let Some(cause) = cause else { return };
        *match cause {
            Cause::First => &mut self.first_seen,
            Cause::Expired => &mut self.expired,
            Cause::Deleted => &mut self.deleted,
            Cause::Evicted => &mut self.evicted,
        } += 1;
    }

    /// Scales the counts to this many misses, where only a sample of the keys was counted.
    pub(super) fn of(self, misses: u64) -> Self {
        let Self { first_seen, expired, deleted, evicted } = self;
        let counted = first_seen + expired + deleted + evicted;
        if counted == misses || counted == 0 {
            return self;
        }
        let share = |count: u64| (count as f64 / counted as f64 * misses as f64) as u64;
        let [first_seen, expired, deleted] = [first_seen, expired, deleted].map(share);
        let evicted = misses.saturating_sub(first_seen + expired + deleted);
        Self { first_seen, expired, deleted, evicted }
    }
}

/// The miss ratio over time; `null` where an interval had no read.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Interval {
    pub(super) requests: u64,
    pub(super) miss_ratio: Vec<Option<f64>>,
}

/// Result of one tenant.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Tenant {
    #[serde(rename = "tenant")]
    pub(super) id: TenantId,
    /// Name of the tenant, where the trace has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) requests: u64,
    pub(super) misses: u64,
    pub(super) miss_ratio: f64,
    pub(super) byte_miss_ratio: f64,
}

/// Reads and misses of a tenant, in objects and bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    pub(super) gets: u64,
    pub(super) misses: u64,
    pub(super) get_bytes: u64,
    pub(super) miss_bytes: u64,
}

pub(super) fn tenants(shares: &BTreeMap<TenantId, Share>, whole: &Whole) -> Vec<Tenant> {
    let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let tenant = |(&id, share): (&TenantId, &Share)| Tenant {
        id,
        name: whole.tenant_names.get(&id).cloned(),
        requests: share.gets,
        misses: share.misses,
        miss_ratio: ratio(share.misses, share.gets),
        byte_miss_ratio: ratio(share.miss_bytes, share.get_bytes),
    };
    shares.iter().map(tenant).collect()
}

/// Mean cost of the misses over all reads, where the trace states the cost.
pub(super) fn mean_penalty(stats: &Stats, known: bool) -> Option<f64> {
    known.then(|| stats.miss_penalty_us / stats.gets.max(1) as f64)
}

/// The size to show: the one asked for, or the bytes in use of an unbounded cache.
pub(super) fn shown_size(asked: Bytes, capacity: Bytes, used: Bytes) -> u64 {
    if capacity.0 == u64::MAX { used.0 } else { asked.0 }
}
