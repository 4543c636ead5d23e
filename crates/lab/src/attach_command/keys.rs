//! A Redis or Valkey without the module, as the pilot's plant: one pool for all keys. MONITOR
//! watches it in bursts, whose clocks are joined as in `plant.rs`.
//!
//! MONITOR tells neither which reads hit nor how large their values were. A model of another number
//! of candidates needs no hits: it finds out itself whether the key would be resident. A key has
//! the size of its last write, or else the mean size of the writes seen.

use crate::capture_command::redis::{Control, Fields, number};
use base::{Bytes, Filter, Micros, Sample, Sighting, hash};
use report::{Counters, Server, Tenant};
use std::collections::HashMap;
use trace::capture::{Deed, Event};
use tune::{Evictor, Plant, Reading, Step, TenantReading};

/// Approximate bytes of a key beside its text and its value: an entry of the table, and two
/// objects.
const OVERHEAD: u64 = 64;
/// Largest change of the limit that is not passed on, as a share of the limit.
const DRIFT: f64 = 1.0 / 32.0;
/// Maximum number of sizes that are remembered. Beyond it, all are forgotten.
const KNOWN_MAX: usize = 1 << 20;
/// Maximum number of samples kept of a burst.
const SAMPLES_MAX: usize = 1 << 20;

/// Memory and counts that the server reports of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RedisStats {
    pub(super) limit: u64,
    pub(super) used: u64,
    pub(super) items: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) evicted: u64,
}

impl RedisStats {
    /// Asks the server for INFO.
    ///
    /// # Errors
    /// The connection is lost, or the server refuses INFO.
    pub(super) fn ask(control: &mut Control) -> anyhow::Result<Self> {
        Ok(Self::of(&control.info()?))
    }

    /// Reads the fields of INFO; a missing field counts as zero.
    pub(super) fn of(info: &Fields) -> Self {
        let of = |name| number(info, name).unwrap_or_default();
        let keys = |text: &String| {
            let keys = text.strip_prefix("keys=")?.split(',').next()?;
            keys.parse::<u64>().ok()
        };
        let databases = info.iter().filter(|(name, _)| name.starts_with("db"));
        Self {
            limit: of("maxmemory"),
            used: of("used_memory"),
            items: databases.filter_map(|(_, text)| keys(text)).sum(),
            hits: of("keyspace_hits"),
            misses: of("keyspace_misses"),
            evicted: of("evicted_keys"),
        }
    }

    /// All keys, as the only tenant of a report: nothing tells tenants apart.
    pub(super) fn tenant(&self, policy: &str) -> Tenant {
        let Self { used, items, hits, misses, evicted, .. } = *self;
        Tenant {
            name: "all".to_owned(),
            used,
            items,
            weight: 1.0,
            policy: policy.to_owned(),
            counters: Counters { hits, misses, evicted, ..Counters::default() },
            ..Tenant::default()
        }
    }
}

/// The server as a whole, by the fields of INFO.
pub(super) fn server(info: &Fields) -> Server {
    let of = |name| number(info, name).unwrap_or_default();
    let word = |name: &str| info.get(name).cloned();
    let (kind, version) = match word("valkey_version") {
        Some(version) => ("Valkey", Some(version)),
        None => ("Redis", word("redis_version")),
    };
    let (version, own) = (version.unwrap_or_default(), env!("CARGO_PKG_VERSION"));
    Server {
        version: format!("{own} attached to {kind} {version}"),
        uptime_s: of("uptime_in_seconds"),
        recipe: "dlru".to_owned(),
        policy: word("maxmemory_policy").unwrap_or_default(),
        maxmemory: of("maxmemory"),
        divided: of("maxmemory"),
        used: of("used_memory"),
        resident: of("used_memory_rss"),
        machine: of("total_system_memory"),
        clients: of("connected_clients"),
        ..Server::default()
    }
}

/// The server, as the pilot sees and sets it.
#[derive(Debug)]
pub(super) struct KeyPlant {
    told: RedisStats,
    now: Micros,
    length: Micros,
    first_us: Option<u64>,
    reads: u64,
    writes: u64,
    misses: u64,
    sizes: HashMap<u64, u32>,
    /// Sum of the sizes of all writes seen, and their number.
    written: (u64, u64),
    samples: Vec<Sample>,
    filter: Filter,
    /// Room for items, in the sizes that MONITOR shows.
    limit: Bytes,
    /// Eviction that the pilot wants.
    pub(super) wanted: Option<Evictor>,
}

impl KeyPlant {
    pub(super) fn new(told: RedisStats) -> Self {
        Self {
            told,
            now: Micros(0),
            length: Micros(0),
            first_us: None,
            reads: 0,
            writes: 0,
            misses: 0,
            sizes: HashMap::new(),
            written: (0, 0),
            samples: vec![],
            filter: Filter::NONE,
            limit: Bytes(0),
            wanted: None,
        }
    }

    /// Begins a burst of this length.
    pub(super) const fn begin(&mut self, length: Micros) {
        (self.length, self.first_us) = (length, None);
    }

    /// Ends a burst, with the server's figures at its start and at its end.
    pub(super) fn end(&mut self, from: &RedisStats, to: RedisStats) {
        self.now += self.length;
        self.misses += to.misses.saturating_sub(from.misses);
        self.told = to;
    }

    /// Counts a request, and keeps a sample of it if its key is sampled.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let sighting = match event.deed {
            Deed::Read => Sighting::Hit,
            Deed::Write | Deed::Change => Sighting::Write,
            Deed::Delete => Sighting::Delete,
            Deed::Expire => return,
        };
        self.reads += u64::from(sighting == Sighting::Hit);
        self.writes += u64::from(sighting == Sighting::Write);
        let key = hash::bytes(u64::from(event.db), event.key);
        if !self.filter.keeps(key) || self.samples.len() >= SAMPLES_MAX {
            return;
        }
        let size = self.size(key, event);
        let first = *self.first_us.get_or_insert(event.time_us);
        let since = Micros(event.time_us.saturating_sub(first)).min(self.length);
        let (time, ttl) = (self.now + since, event.ttl.unwrap_or(Micros(0)));
        let penalty = Micros(0);
        self.samples.push(Sample { time, key, tenant: 0, sighting, size, ttl, penalty });
    }

    fn size(&mut self, key: u64, event: &Event<'_>) -> u32 {
        if event.deed == Deed::Write
            && let Some(value) = event.size
        {
            let size = (event.key.len() as u64 + value + OVERHEAD).min(u64::from(u32::MAX));
            self.written = (self.written.0 + size, self.written.1 + 1);
            if self.sizes.len() >= KNOWN_MAX {
                self.sizes.clear();
            }
            self.sizes.insert(key, size as u32);
            return size as u32;
        }
        let mean = || self.told.used.checked_div(self.told.items).unwrap_or(OVERHEAD);
        let mean = || self.written.0.checked_div(self.written.1).unwrap_or_else(mean);
        self.sizes.get(&key).copied().unwrap_or_else(|| mean() as u32)
    }
}

impl KeyPlant {
    /// Sets the limit in the sizes that MONITOR shows. The memory that the server reports also
    /// covers its tables, its buffers and the overhead of items. So the limit is scaled by the
    /// share that the items, at their mean size, have in the used memory.
    fn measure(&mut self) {
        let RedisStats { limit, used, items, .. } = self.told;
        let mean = self.written.0 as f64 / self.written.1.max(1) as f64;
        let share = items as f64 * mean / used.max(1) as f64;
        let room = if share > 0.0 { limit as f64 * share.min(1.0) } else { limit as f64 };
        if (room - self.limit.as_f64()).abs() > DRIFT * room {
            self.limit = Bytes(room as u64);
        }
    }
}

impl Plant for KeyPlant {
    fn read(&mut self) -> Reading {
        self.measure();
        let told = &self.told;
        Reading {
            now: self.now,
            limit: self.limit,
            tenants: vec![TenantReading {
                name: "all".to_owned(),
                used: Bytes(told.used).min(self.limit),
                items: told.items,
                gets: self.reads,
                misses: self.misses,
                sets: self.writes,
                weight: 1.0,
                ..TenantReading::default()
            }],
            samples: std::mem::take(&mut self.samples),
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        let Some(pool) = step.pools.first() else { return };
        (self.wanted, self.filter) = (Some(pool.evictor), pool.filter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A read takes the size of the last write of its key, or else the mean. Samples of two bursts
    /// follow each other without the pause between them.
    #[test]
    fn bursts_are_joined_and_sizes_are_of_the_last_write() {
        let mut plant = KeyPlant::new(RedisStats::default());
        plant.filter = Filter::ALL;
        let write = |us, key, size| Event { size: Some(size), ..Event::new(us, key, Deed::Write) };
        plant.begin(Micros(100));
        plant.see(&write(1_000, b"a", 35));
        plant.see(&write(1_010, b"b", 135));
        plant.see(&Event::new(1_020, b"a", Deed::Read));
        plant.end(&RedisStats::default(), RedisStats { misses: 3, ..RedisStats::default() });
        plant.begin(Micros(100));
        plant.see(&Event::new(9_000, b"c", Deed::Read));
        plant.see(&Event::new(9_990, b"b", Deed::Delete));
        let reading = plant.read();
        let seen: Vec<_> = reading.samples.iter().map(|s| (s.time.0, s.size)).collect();
        assert_eq!(seen, [(0, 100), (10, 200), (20, 100), (100, 150), (200, 200)]);
        let all = &reading.tenants[0];
        assert_eq!((all.gets, all.sets, all.misses), (2, 2, 3));
    }
}
