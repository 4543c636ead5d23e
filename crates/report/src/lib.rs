//! What a cache knows of its own work, as one value, and what follows from it.
//!
//! The server builds a [`Report`] from its store and its pilot; LARDER, INFO, `/metrics`,
//! memcached's `stats`, the dashboard, `larder top` and `larder advise` read it. A fact is added
//! once; [`facts`] names those that are numbers. What follows is a function of
//! the report alone: [`sizing`] says what other sizes of memory would give, [`finding`] lists what
//! a person should know or do, and [`say`] puts both in sentences. [`draw`] makes tables, charts
//! and pages of figures.
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
pub mod say;
mod shift;
pub mod sizing;
mod trials;
pub mod words;

pub use change::{Change, ChangeKind, Effect, Fared, Moved};
pub use history::{History, Point, TENANTS_MAX};
pub use plays::Plays;
pub use shift::Shift;
pub use sizing::Curve;

use base::Cause;
use serde::{Deserialize, Serialize};

/// All that is known at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The cache as a whole.
    pub server: Server,
    /// What all tenants did lately.
    pub recent: Recent,
    /// Every tenant, in the order of their numbers.
    pub tenants: Vec<Tenant>,
    /// The last changes of settings and plans, the newest last.
    pub changes: Vec<Change>,
    /// How good forecasts were.
    pub forecasts: Forecasts,
    /// What each policy would make of the same requests; empty where too little is known.
    pub policies: Vec<PolicyTrial>,
    /// The plays of sampled requests that curves and policies rest on, where tenants share a pool.
    #[serde(default)]
    pub plays: Option<Plays>,
}

/// The cache as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// The version of Larder.
    pub version: String,
    /// When the report was made.
    pub now_unix_s: u64,
    /// What local time is ahead of UTC.
    pub utc_offset_s: i32,
    /// Since the start.
    pub uptime_s: u64,
    /// The recipe in force; `static` where the loop is off.
    pub recipe: String,
    /// Who leaves, in a word of redis.conf's.
    pub policy: String,
    /// The limit of memory; 0 where there is none.
    pub maxmemory: u64,
    /// Of that, what tenants can have.
    pub divided: u64,
    /// Memory in use.
    pub used: u64,
    /// Memory of the process.
    pub resident: u64,
    /// The memory of the machine.
    pub machine: u64,
    /// Connected clients.
    pub clients: u64,
    /// Writes refused because there was no room, since the start.
    pub refused: u64,
    /// The share of the keys that are sampled; 0 where nothing is.
    pub sampled: f64,
    /// Memory of models, observer and history.
    pub models: u64,
}

/// Requests of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// Its length.
    pub seconds: u64,
    /// Reads.
    pub reads: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Misses by cause, in the order of [`Cause::ALL`], as those of sampled keys stand for all.
    pub causes: [u64; Cause::ALL.len()],
    /// Misses of sampled keys that these rest on.
    pub sampled: u64,
    /// What the misses cost, in milliseconds.
    pub wait_ms: f64,
}

impl Recent {
    /// The sum of points, as if each was of a second.
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

    /// Reads that found nothing, as a share of all; nothing where there was no read.
    pub fn miss_ratio(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.misses as f64 / self.reads as f64)
    }

    /// Waiting for misses, in milliseconds a second.
    pub fn wait_ms_per_s(&self) -> f64 {
        self.wait_ms / self.seconds.max(1) as f64
    }

    /// The mean cost of a miss, in microseconds; nothing where none cost any.
    pub fn miss_us(&self) -> Option<f64> {
        (self.misses > 0 && self.wait_ms > 0.0).then(|| 1e3 * self.wait_ms / self.misses as f64)
    }

    /// Reads a second.
    pub fn reads_per_s(&self) -> f64 {
        self.reads as f64 / self.seconds.max(1) as f64
    }

    /// The share of the reads that missed for this cause, where the sample can bear it: with fewer
    /// than a hundred misses a share is known to no better than ten points.
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
    /// Memory in use.
    pub used: u64,
    /// Memory in use when the stretch began that `recent` is of.
    #[serde(default)]
    pub used_before: Option<u64>,
    /// Memory that the plan in force gives it, where the recipe divides memory.
    pub budget: Option<u64>,
    /// Memory that others leave it.
    pub min: u64,
    /// Memory it may have.
    pub max: Option<u64>,
    /// What its waiting counts.
    pub weight: f64,
    /// The promise to it, as its line of configuration has it.
    pub target: Option<String>,
    /// Who leaves.
    pub policy: String,
    /// Items.
    pub items: u64,
    /// Requests since the start.
    pub counters: Counters,
    /// What it did in the last minutes.
    pub recent: Recent,
    /// The mean cost of a miss, in microseconds, where it was measured.
    pub penalty_us: Option<f64>,
    /// What a MiB of its memory saves, in microseconds of waiting a second, where the recipe goes
    /// by it.
    pub mib_saves_us: Option<f64>,
    /// What other sizes would give it.
    pub curve: Option<Curve>,
    /// The largest change of its misses within the last hours.
    pub shift: Option<Shift>,
    /// Of the reads that missed because their key had expired, those that would not have with twice
    /// the time to live.
    pub twice_the_ttl: Option<f64>,
    /// Its items by size.
    pub sizes: Vec<SizeClass>,
    /// Its misses by what they cost.
    pub costs: Vec<CostClass>,
    /// The keys that have much of its requests, the hottest first.
    #[serde(default)]
    pub hot_keys: Vec<HotKey>,
}

/// A key that has much of a tenant's requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HotKey {
    /// The key; what is no UTF-8 of it is replaced.
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
    /// Of those, reads that found a dead item.
    pub misses_expired: u64,
    /// Writes of a value.
    pub writes: u64,
    /// Items removed on request.
    pub deletes: u64,
    /// Items that died of age.
    pub expired: u64,
    /// Of those, found by the sweep.
    pub expired_swept: u64,
    /// Of those, found by writes that needed room.
    pub expired_for_room: u64,
    /// Items that left to make room.
    pub evicted: u64,
    /// Bytes of those.
    pub evicted_bytes: u64,
    /// Writes of large values that were not admitted.
    pub not_admitted: u64,
}

impl Counters {
    /// Reads.
    pub const fn reads(&self) -> u64 {
        self.hits + self.misses
    }
}

/// A tenant's items of about one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeClass {
    /// The largest size, in bytes.
    pub size: u64,
    /// Memory they hold.
    pub used: u64,
    /// Items.
    pub items: u64,
    /// Reads that found one of them, since the start.
    pub hits: u64,
}

/// A tenant's items whose misses cost about the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostClass {
    /// The cost of a miss, in microseconds.
    pub us: f64,
    /// Misses since the start.
    pub misses: u64,
    /// Memory they hold.
    pub used: u64,
}

/// How far forecasts of miss ratios were off, over the last day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecasts {
    /// Minutes that had one, of all tenants.
    pub count: u64,
    /// Half of them were off by no more.
    pub median: f64,
    /// 95 % of them were off by no more.
    pub most: f64,
}

impl Forecasts {
    /// Sums up how far each was off.
    pub fn of(mut errors: Vec<f64>) -> Self {
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * errors.len() as f64) as usize;
            errors.get(place.min(errors.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        Self { count: errors.len() as u64, median: at(0.5), most: at(0.95) }
    }
}

/// A policy, tried in a miniature cache on the requests of sampled keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyTrial {
    /// Its name, as `maxmemory-policy` takes it.
    pub policy: String,
    /// Whether it is the one in force.
    pub is_present: bool,
    /// Its waiting for misses by that of the policy in force.
    pub waits: f64,
    /// How far chance may have moved that to either side: two standard errors.
    pub band: f64,
    /// Its miss ratio.
    pub miss_ratio: f64,
}

impl Report {
    /// A tenant by its name.
    pub fn tenant(&self, name: &str) -> Option<&Tenant> {
        self.tenants.iter().find(|tenant| tenant.name == name)
    }

    /// Whether the loop is on, so that anything is sampled.
    pub fn is_steered(&self) -> bool {
        self.server.recipe != "static"
    }
}
