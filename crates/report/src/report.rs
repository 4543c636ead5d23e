//! The report itself, and its parts that concern the cache as a whole.

use crate::{Change, Forecasts, Gains, MemoryMoves, Process, Recent, Tenant};
use serde::{Deserialize, Serialize};

/// A cache is young for the first of these seconds, and until it is full up to the second.
const YOUNG_S: (u64, u64) = (600, 3_600);

/// A cache with this share of its memory in use is full.
const FULL: f64 = 0.9;

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
    /// The memory that moved between tenants in the last hour.
    #[serde(default)]
    pub moves: MemoryMoves,
    /// The errors of the forecasts of miss ratios.
    pub forecasts: Forecasts,
    /// The result of each policy on the same requests; empty where too little is known.
    pub policies: Vec<PolicyTrial>,
    /// The gain of self-tuning since the start; `None` before it was compared.
    #[serde(default)]
    pub gains: Option<Gains>,
    /// The replays of sampled requests that curves and policies rest on, where tenants share a
    /// pool.
    #[serde(default)]
    pub plays: Option<Plays>,
    /// The process that serves the cache, if this is it.
    #[serde(default)]
    pub process: Option<Process>,
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
    /// Seconds since the last read, where nothing was read for a while; otherwise 0. Figures of
    /// recent requests are then of the time before.
    #[serde(default)]
    pub quiet_s: u64,
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
    /// Whether the server compresses values, as the directive says; empty where it cannot.
    #[serde(default)]
    pub compression: String,
}

impl Server {
    /// The recipe's name, without its settings.
    pub fn recipe_name(&self) -> &str {
        self.recipe.split(':').next().unwrap_or_default()
    }
}

/// An eviction policy or a division of memory, tried on the requests of sampled keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyTrial {
    /// The name that `maxmemory-policy` accepts, or the name of a recipe that divides the memory.
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

    /// Whether the recipe gives budgets to classes of items, which no play divides.
    pub fn has_classes(&self) -> bool {
        tune::recipe::parse(&self.server.recipe).is_ok_and(|recipe| recipe.pools.has_classes())
    }

    /// Whether most keys are new to the cache, so that misses of keys never written say little: it
    /// started a moment ago, or was never full in its first hour.
    pub fn is_young(&self) -> bool {
        let server = &self.server;
        let is_full = server.used as f64 >= FULL * server.divided as f64;
        server.uptime_s < YOUNG_S.0 || (server.uptime_s < YOUNG_S.1 && !is_full)
    }

    /// The time until which a young cache is young at least, in Unix seconds.
    pub fn young_until(&self) -> u64 {
        let server = &self.server;
        let start = server.now_unix_s.saturating_sub(server.uptime_s);
        // A cache that fills is asked again some minutes later.
        (start + YOUNG_S.0).max(server.now_unix_s + YOUNG_S.0 / 2)
    }

    /// Whether the loop is on, which it must be for keys to be sampled.
    pub fn is_steered(&self) -> bool {
        self.server.recipe != "static"
    }
}

/// The plays that a report rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plays {
    /// Seconds of requests that were counted.
    pub seconds: u64,
    /// Sampled reads among them.
    pub reads: u64,
    /// The reason in a sentence if policies are not compared; `None` if they are.
    pub off: Option<String>,
}
