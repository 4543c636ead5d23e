//! The report of a cache about its own work, as one value, and the conclusions drawn from it.
//!
//! The server builds a [`Report`] from its store and its pilot. LARDER, INFO, `/metrics`,
//! memcached's `stats`, the dashboard, `larder top` and `larder advise` read it. A new fact is
//! added in one place; [`facts`] names the facts that are numbers. Every conclusion is a function
//! of the report alone: [`sizing`] computes the effect of other memory sizes, [`finding`] lists
//! what a person should know or do, and [`say`] puts both in sentences. [`draw`] makes tables,
//! charts and pages of figures.
#![forbid(unsafe_code)]

mod change;
mod check;
pub mod claim;
pub mod draw;
mod effects;
pub mod facts;
pub mod finding;
mod history;
mod levels;
pub mod nodes;
pub mod page;
pub mod plans;
pub mod plays;
mod pool;
mod rings;
pub mod say;
mod shift;
pub mod sizing;
mod trials;
pub mod words;

pub use change::{Change, ChangeKind, Effect, Fared, Moved};
pub use history::{History, TENANTS_MAX};
pub use plays::Plays;
pub use rings::Point;
pub use shift::Shift;
pub use sizing::Curve;

use base::Cause;
use serde::{Deserialize, Serialize};

/// Everything that the cache knows about itself at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The cache as a whole.
    pub server: Server,
    /// The recent requests of all tenants together.
    pub recent: Recent,
    /// Every tenant, in the order of tenant numbers.
    pub tenants: Vec<Tenant>,
    /// The last changes of settings, load and plans, the newest last.
    pub changes: Vec<Change>,
    /// The errors of the forecasts of miss ratios.
    pub forecasts: Forecasts,
    /// The result of each policy on the same requests; empty where too little is known.
    pub policies: Vec<PolicyTrial>,
    /// The replays of sampled requests that curves and policies rest on, where tenants share a
    /// pool.
    #[serde(default)]
    pub plays: Option<Plays>,
}

/// The cache as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// The version of Larder.
    pub version: String,
    /// The time of the report, in Unix seconds.
    pub now_unix_s: u64,
    /// The offset of local time from UTC, in seconds; positive east of Greenwich.
    pub utc_offset_s: i32,
    /// Seconds since the server started.
    pub uptime_s: u64,
    /// The recipe in force; `static` where the loop is off.
    pub recipe: String,
    /// The eviction policy, as `maxmemory-policy` names it.
    pub policy: String,
    /// The memory limit (`maxmemory`), in bytes; 0 where there is none.
    pub maxmemory: u64,
    /// The part of `maxmemory` that tenants can have, in bytes; 0 where there is no limit.
    pub divided: u64,
    /// Memory in use, in bytes.
    pub used: u64,
    /// Resident memory of the process, in bytes.
    pub resident: u64,
    /// Memory of the machine, in bytes.
    pub machine: u64,
    /// Connected clients.
    pub clients: u64,
    /// Writes refused for lack of memory since the start.
    pub refused: u64,
    /// The share of the keys that are sampled; 0 where no keys are.
    pub sampled: f64,
    /// Memory of models, observer and history, in bytes.
    pub models: u64,
}

/// The requests of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// Length of the stretch, in seconds.
    pub seconds: u64,
    /// The number of reads.
    pub reads: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Misses by cause, in the order of [`Cause::ALL`], scaled up from the sampled keys.
    pub causes: [u64; Cause::ALL.len()],
    /// Misses of sampled keys that `causes` rests on.
    pub sampled: u64,
    /// Total cost of the misses, in milliseconds.
    pub wait_ms: f64,
}

impl Recent {
    /// The sum of the points; `seconds` counts each point as one second.
    pub fn of(points: &[Point]) -> Self {
        let mut sum = Self::default();
        for point in points {
            sum.reads += u64::from(point.reads);
            sum.misses += u64::from(point.misses);
            sum.sampled += u64::from(point.sampled);
            for (sum, more) in sum.causes.iter_mut().zip(point.causes) {
                *sum += u64::from(more);
            }
            sum.wait_ms += f64::from(point.wait_ms);
        }
        let [never, .., early] = &mut sum.causes;
        *never = never.saturating_sub(*early);
        sum.seconds = points.len() as u64;
        sum
    }

    /// Reads that found nothing, as a share of all; `None` without reads.
    pub fn miss_ratio(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.misses as f64 / self.reads as f64)
    }

    /// Waiting for misses, in milliseconds per second.
    pub fn wait_ms_per_s(&self) -> f64 {
        self.wait_ms / self.seconds.max(1) as f64
    }

    /// The mean cost of a miss, in microseconds; `None` where no miss had a cost.
    pub fn miss_us(&self) -> Option<f64> {
        (self.misses > 0 && self.wait_ms > 0.0).then(|| 1e3 * self.wait_ms / self.misses as f64)
    }

    /// Reads per second.
    pub fn reads_per_s(&self) -> f64 {
        self.reads as f64 / self.seconds.max(1) as f64
    }

    /// The share of the reads that missed for this cause. `None` with fewer than a hundred sampled
    /// misses, whose shares are known only to about ten percentage points.
    pub fn missed_for(&self, cause: Cause) -> Option<f64> {
        const SAMPLED_MIN: u64 = 100;
        let all: u64 = self.causes.iter().sum();
        let share = self.causes[cause as usize] as f64 / all.max(1) as f64;
        (self.sampled >= SAMPLED_MIN).then(|| Some(share * self.miss_ratio()?))?
    }
}

/// One tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// Memory in use, in bytes.
    pub used: u64,
    /// Memory in use at the start of the stretch that `recent` covers, in bytes.
    #[serde(default)]
    pub used_before: Option<u64>,
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
    /// The eviction policy of this tenant.
    pub policy: String,
    /// Items.
    pub items: u64,
    /// Requests since the start.
    pub counters: Counters,
    /// The recent requests of this tenant.
    pub recent: Recent,
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
    /// The items, grouped by size.
    pub sizes: Vec<SizeClass>,
    /// The misses, grouped by their cost.
    pub costs: Vec<CostClass>,
    /// The keys with a large share of its requests, the hottest first.
    #[serde(default)]
    pub hot_keys: Vec<HotKey>,
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

/// The errors of forecast miss ratios over the last day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecasts {
    /// The number of minutes with a forecast, summed over all tenants.
    pub count: u64,
    /// The median error, as a difference of miss ratios.
    pub median: f64,
    /// The 95th percentile of the error, as a difference of miss ratios.
    pub most: f64,
}

impl Forecasts {
    /// Summarises the absolute errors of all forecasts.
    pub fn of(mut errors: Vec<f64>) -> Self {
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * errors.len() as f64) as usize;
            errors.get(place.min(errors.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        Self { count: errors.len() as u64, median: at(0.5), most: at(0.95) }
    }
}

/// An eviction policy, tried on the requests of sampled keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyTrial {
    /// The name that `maxmemory-policy` accepts.
    pub policy: String,
    /// Whether this policy is in force.
    pub is_present: bool,
    /// Waiting for misses, divided by the waiting under the policy in force.
    pub waits: f64,
    /// The band of `waits` to either side: two standard errors, plus the error of the model.
    pub band: f64,
    /// The miss ratio of all reads under this policy.
    pub miss_ratio: f64,
}

impl Report {
    /// A tenant by its name.
    pub fn tenant(&self, name: &str) -> Option<&Tenant> {
        self.tenants.iter().find(|tenant| tenant.name == name)
    }

    /// Whether the loop is on, which it must be for keys to be sampled.
    pub fn is_steered(&self) -> bool {
        self.server.recipe != "static"
    }
}
