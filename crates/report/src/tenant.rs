//! One tenant in a report.

use crate::{Compressed, Curve, Recent, Shift};
use serde::{Deserialize, Serialize};

/// One tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// Memory in use, in bytes.
    pub used: u64,
    /// The budget under the plan in force, in bytes, where the recipe divides memory.
    pub budget: Option<u64>,
    /// The floor: bytes that other tenants may not take from this one (`min`).
    pub min: u64,
    /// The ceiling of its memory, in bytes, if it has one (`max`).
    pub max: Option<u64>,
    /// The factor that multiplies this tenant's waiting when memory is divided.
    pub weight: f64,
    /// The promised target, as its line of the configuration states it.
    pub target: Option<String>,
    /// Its line of the configuration, if it has one and this is a Larder.
    #[serde(default)]
    pub line: Option<String>,
    /// The eviction policy of this tenant.
    pub policy: String,
    /// Items.
    pub items: u64,
    /// Requests since the start.
    pub counters: Counters,
    /// The recent requests of this tenant.
    pub recent: Recent,
    /// Seconds since its last read, where other tenants are read and it was not for a while;
    /// otherwise 0.
    #[serde(default)]
    pub silent_s: u64,
    /// The mean cost of a miss, in microseconds, where it was measured.
    pub penalty_us: Option<f64>,
    /// The waiting that one more MiB of memory saves, in microseconds per second; `None` where the
    /// curve is not known.
    pub mib_saves_us: Option<f64>,
    /// The miss ratio at other sizes of memory, if known.
    pub curve: Option<Curve>,
    /// The largest change of its miss ratio within the last two hours.
    pub shift: Option<Shift>,
    /// The share of the reads of expired keys that would hit if the time to live were twice as
    /// long.
    pub twice_the_ttl: Option<f64>,
    /// Whether it reads fewer and fewer keys for the first time, as in a young cache
    /// ([`crate::History::first_reads_fall`]). So it is not known how few these reads will be.
    #[serde(default)]
    pub first_reads_fall: bool,
    /// The items, grouped by size.
    pub sizes: Vec<SizeClass>,
    /// The misses, grouped by their cost.
    pub costs: Vec<CostClass>,
    /// The misses that were timed, grouped by their cost.
    #[serde(default)]
    pub fetches: Vec<FetchClass>,
    /// The keys with a large share of its requests, the hottest first.
    #[serde(default)]
    pub hot_keys: Vec<HotKey>,
    /// Its compressed values, and how far its values shrink.
    #[serde(default)]
    pub compressed: Compressed,
}

impl Tenant {
    /// Whether nobody reads it now, so that its curve fades.
    pub const fn is_silent(&self) -> bool {
        self.silent_s > 0 || self.recent.reads == 0
    }
}

/// The timed misses of a tenant that cost about the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FetchClass {
    /// The upper bound of their cost, in microseconds.
    pub us: f64,
    /// Their share of the timed misses, in which older ones count less.
    pub share: f64,
}

/// A key with a large share of a tenant's requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HotKey {
    /// The key; bytes that are not UTF-8 are replaced.
    pub key: String,
    /// Its share of the tenant's requests.
    pub share: f64,
}

/// Requests of a tenant since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Reads that found their item.
    pub hits: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Misses that found an expired item.
    pub misses_expired: u64,
    /// Writes of a value.
    pub writes: u64,
    /// Items removed on request.
    pub deletes: u64,
    /// Items that expired.
    pub expired: u64,
    /// Expired items that the sweep removed.
    pub expired_swept: u64,
    /// Expired items that were removed by writes in need of room.
    pub expired_for_room: u64,
    /// Items evicted.
    pub evicted: u64,
    /// Bytes evicted.
    pub evicted_bytes: u64,
    /// Writes of large values that the cache did not admit.
    pub not_admitted: u64,
}

impl Counters {
    /// Reads.
    pub const fn reads(&self) -> u64 {
        self.hits + self.misses
    }
}

/// The items of a tenant that have about the same size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeClass {
    /// The upper bound of the size, in bytes.
    pub size: u64,
    /// Memory of these items, in bytes.
    pub used: u64,
    /// Items.
    pub items: u64,
    /// Reads that found one of these items, since the start.
    pub hits: u64,
}

/// The items of a tenant whose misses cost about the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostClass {
    /// The cost of a miss, in microseconds.
    pub us: f64,
    /// Misses since the start.
    pub misses: u64,
    /// Memory of these items, in bytes.
    pub used: u64,
}
