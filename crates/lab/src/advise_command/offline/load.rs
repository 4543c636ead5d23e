//! Requests from a server or a file, ready to be played.

use super::Args;
use crate::capture_command::{self, Server, TenantRules};
use crate::requests::duration;
use ::load::Place;
use ::load::open::{self, ChargeBy};
use anyhow::{Context, anyhow, ensure};
use base::hash::mix;
use base::{Access, Bytes, Micros, Op, Size, TenantId};
use std::collections::{BTreeMap, HashMap, HashSet};
use trace::Source;

/// Maximum number of requests to play. A longer load is thinned to a share of its keys.
const REQUESTS_MAX: usize = 1 << 19;
/// Minimum number of reads for advice.
const READS_MIN: u64 = 1_000;
/// The cost of a miss without a measurement or a `--penalty`.
const PENALTY_DEFAULT: Micros = Micros::from_millis(1);
/// Minimum number of items for a meaningful mean of the memory that the server reports for them.
const ITEMS_MIN: u64 = 1_000;
/// Bounds for the ratio of an item's bytes in the server to its bytes in Larder. A ratio beyond
/// them counts something else.
const DEARNESS: (f64, f64) = (0.7, 8.0);
/// A server that uses this share of its limit is full.
const FULL: f64 = 0.9;
/// Makes the choice of keys to play, and of the eighths, independent of other uses of the hash.
const SALT: u64 = 0x9e37_79b9_7f4a_7c15;
/// Number of lots into which keys are divided.
const LOTS: u64 = 1 << 10;

/// The requests to play, with the facts about the cache that served them.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) from: String,
    /// The requests, each with the size that the store charges for its item.
    pub(super) accesses: Vec<Access>,
    pub(super) names: Vec<String>,
    /// Time in which the requests arrived, without pauses.
    pub(super) seconds: f64,
    /// Memory of the present cache.
    pub(super) memory: Bytes,
    /// Share of the keys that are played.
    pub(super) share: f64,
    /// Miss ratio of the present server, if the capture shows it.
    pub(super) missed: Option<f64>,
    /// Cost of a miss of each tenant, in microseconds.
    pub(super) penalties: Vec<f64>,
    pub(super) assumptions: Vec<String>,
    /// Lines of `--tenant`, for the commands that the advice suggests.
    pub(super) rules: Vec<String>,
    /// Bytes of the items of all keys, before the load is thinned.
    pub(super) footprint: Bytes,
    /// Ratio of an item's bytes in the watched server to its bytes in Larder.
    pub(super) dearness: f64,
    /// Whether the server is full and evicts.
    pub(super) evicts: bool,
}

impl Load {
    /// The number of the eighth of the keys that holds a key, from 0 to 7.
    pub(super) fn eighth(key: u64) -> u64 {
        mix(key ^ SALT.rotate_left(17)) % 8
    }

    /// The load of these requests, which arrived within `seconds` without pauses.
    fn of(from: &str, names: Vec<String>, accesses: Vec<Access>, seconds: f64) -> Self {
        Self {
            from: from.to_owned(),
            accesses,
            names,
            seconds,
            memory: Bytes(0),
            share: 1.0,
            missed: None,
            penalties: vec![],
            assumptions: vec![],
            rules: vec![],
            footprint: Bytes(0),
            dearness: 1.0,
            evicts: false,
        }
    }

    /// Fills in unknown costs of misses, and thins the load to [`REQUESTS_MAX`] requests.
    fn ready(mut self, args: &Args, server: Option<&Server>) -> anyhow::Result<Self> {
        let reads = self.accesses.iter().filter(|access| access.op == Op::Get).count() as u64;
        ensure!(
            reads >= READS_MIN,
            "{}: {reads} reads are too few for advice: watch longer, for example with --for 5m \
             --window all, or read a longer trace",
            self.from
        );
        self.price(&args.penalty)?;
        let mut sizes: HashMap<u64, Size> = HashMap::new();
        for access in &self.accesses {
            let size = sizes.entry(access.key).or_default();
            *size = access.size.max(*size);
        }
        self.footprint = Bytes(sizes.values().map(|size| u64::from(*size)).sum());
        self.dearness = dearness(server, self.footprint.as_f64() / sizes.len().max(1) as f64);
        if let Some(server) = server.filter(|_| self.dearness != 1.0) {
            self.assumptions.push(format!(
                "An item takes {:.2} times as much memory in {} {} as in Larder: the simulation of \
                 the present cache has that much less memory.",
                self.dearness, server.kind, server.version
            ));
        }
        if self.accesses.len() > REQUESTS_MAX {
            self.thin();
        }
        Ok(self)
    }

    fn price(&mut self, said: &[String]) -> anyhow::Result<()> {
        let mut by_name: BTreeMap<&str, Micros> = BTreeMap::new();
        for text in said {
            let (name, value) = text.rsplit_once('=').unwrap_or(("", text));
            ensure!(
                name.is_empty() || self.names.iter().any(|known| known == name),
                "--penalty: there is no tenant '{name}': the tenants are {}",
                self.names.join(", ")
            );
            by_name.insert(name, duration(value)?);
        }
        let said = |name: &String| by_name.get(name.as_str()).or(by_name.get("")).copied();
        let said: Vec<_> = self.names.iter().map(said).collect();
        let mut sums = vec![(0u64, 0u64); self.names.len()];
        for access in self.accesses.iter().filter(|access| access.op == Op::Get) {
            let (sum, count) = &mut sums[usize::from(access.tenant)];
            *sum += access.penalty.0;
            *count += u64::from(access.penalty > Micros(0));
        }
        let all = sums.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let mean = |(sum, count): (u64, u64)| (count > 0).then(|| Micros(sum.div_ceil(count)));
        let stand_in = mean(all).unwrap_or(PENALTY_DEFAULT);
        let mut unknown = vec![];
        for (at, name) in self.names.iter().enumerate() {
            if said[at].is_none() && mean(sums[at]).is_none() {
                unknown.push(name.as_str());
            }
        }
        if !unknown.is_empty() {
            let whose =
                if mean(all).is_some() { "the mean of the other tenants" } else { "the default" };
            self.assumptions.push(format!(
                "The cost of a miss of {} is not known: Larder takes {stand_in}, {whose}. \
                 --penalty sets it.",
                unknown.join(", ")
            ));
        }
        for access in &mut self.accesses {
            let at = usize::from(access.tenant);
            access.penalty = match said[at] {
                Some(said) => said,
                None if access.penalty > Micros(0) => access.penalty,
                None => mean(sums[at]).unwrap_or(stand_in),
            };
        }
        let penalty = |at: usize| said[at].or(mean(sums[at])).unwrap_or(stand_in).as_f64();
        self.penalties = (0..self.names.len()).map(penalty).collect();
        Ok(())
    }

    /// Keeps a share of the keys with all their requests; the memory shrinks with them.
    fn thin(&mut self) {
        let lots = LOTS * REQUESTS_MAX as u64 / self.accesses.len() as u64;
        let lots = lots.clamp(1, LOTS);
        self.share = lots as f64 / LOTS as f64;
        self.accesses.retain(|access| mix(access.key ^ SALT) % LOTS < lots);
        self.assumptions.push(format!(
            "The simulation uses the requests for {:.0} % of the keys, with that share of the \
             memory.",
            100.0 * self.share
        ));
    }
}

/// Ratio of an item's bytes in a server to its bytes in Larder, which are `charged` in the mean. It
/// uses the server's own count of its items, or else the known overhead of its kind.
fn dearness(server: Option<&Server>, charged: f64) -> f64 {
    let Some(server) = server.filter(|server| server.kind != "larder" && charged > 0.0) else {
        return 1.0;
    };
    let counted = server.items.zip(server.items_used);
    let measured = counted.filter(|(items, _)| *items >= ITEMS_MIN);
    let item = match measured {
        Some((items, used)) => used as f64 / items as f64,
        None => charged + beside(&server.kind, &server.version),
    };
    (item / charged).clamp(DEARNESS.0, DEARNESS.1)
}

/// Additional bytes of an item in a server compared with Larder, if the server does not report it:
/// table entries, headers and rounding by the allocator. Since 8.1, Valkey keeps the key in the
/// entry.
fn beside(kind: &str, version: &str) -> f64 {
    let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match kind {
        "valkey" if version >= (8, 1) => 25.0,
        "redis" | "valkey" => 50.0,
        "memcached" => 30.0,
        _ => 0.0,
    }
}

/// Bytes that the store charges for the item of a request.
fn charged(access: &Access) -> Size {
    let life = access.ttl > Micros(0);
    Size::of(store::charge(access.key_size as usize, access.value_size as usize, life) as u64)
}

/// A key that is different for each tenant, so that a key of two tenants is two objects.
fn own_key(access: &Access) -> u64 {
    mix(access.key ^ u64::from(access.tenant) << 32)
}

/// Captures the load of a live server.
pub(super) fn watched(args: &Args) -> anyhow::Result<Load> {
    let place = Place::parse(&args.from)?;
    let captured = capture_command::watch(&place, &args.watch)?;
    let (summary, recorded) = (captured.summary, captured.recorded);
    let mut accesses = vec![];
    let done: Result<(), std::convert::Infallible> = recorded.each(usize::MAX, |access, _| {
        let (key, size) = (own_key(access), charged(access));
        accesses.push(Access { key, size, ..*access });
        Ok(())
    });
    done?;
    let names = recorded.names().to_vec();
    let mut load = Load::of(&place.to_string(), names, accesses, summary.seconds);
    let server = &summary.server;
    load.assumptions.clone_from(&summary.assumptions);
    if let Some(why) = &summary.ended {
        load.assumptions.push(format!("The capture ended early: {why}."));
    }
    load.assumptions.push(summary.cost.sentence(summary.how));
    load.memory = match (args.memory, server.memory_limit, server.memory_used) {
        (Some(memory), ..) => memory,
        (None, Some(limit), _) => Bytes(limit),
        (None, None, Some(used)) => {
            load.assumptions.push(format!(
                "The server has no memory limit: Larder takes the {} in use as its limit.",
                Bytes(used)
            ));
            Bytes(used)
        }
        _ => anyhow::bail!("the server does not report its memory: state it with --memory"),
    };
    let (counted, reads) = (summary.cost.with.misses, summary.reads());
    let missed = if summary.tells_hits { summary.misses() } else { counted };
    let is_known = summary.tells_hits || counted > 0;
    load.missed = is_known.then(|| missed as f64 / reads.max(1) as f64);
    load.rules.clone_from(&args.watch.tenant);
    let full = server.memory_limit.zip(server.memory_used);
    let is_full = full.is_some_and(|(limit, used)| used as f64 >= FULL * limit as f64);
    load.evicts = is_full && server.evicted.is_some_and(|evicted| evicted > 0);
    load.ready(args, Some(server))
}

/// Reads the load from a trace file.
pub(super) fn read(args: &Args) -> anyhow::Result<Load> {
    let memory = args.memory.filter(|memory| *memory > Bytes(0)).with_context(
        || "a trace does not contain the memory of the cache: state it, for example --memory 512mb",
    )?;
    let mut owner = match args.watch.tenant.as_slice() {
        [] => None,
        lines => Some(TenantRules::parse(lines, 0).map_err(|error| anyhow!(error))?),
    };
    let options = open::Options { charge: ChargeBy::Item, ..args.read.clone() };
    let mut source = open::open(&args.from, &options)?;
    let mut names: Vec<String> = vec![];
    let mut numbers: HashMap<TenantId, TenantId> = HashMap::new();
    let mut accesses = vec![];
    while let Some(access) = source.next() {
        let access = access.with_context(|| format!("trace '{}'", args.from))?;
        let tenant = match &mut owner {
            Some(owner) => number(&mut names, owner.owner(0, source.key()).to_owned()),
            None => *numbers.entry(access.tenant).or_insert_with(|| {
                let word = source.tenant_name(access.tenant).map(str::to_owned);
                number(&mut names, word.unwrap_or_else(|| access.tenant.to_string()))
            }),
        };
        let access = Access { tenant, ..access };
        let size = if args.read.ignore_size { access.size } else { charged(&access) };
        accesses.push(Access { key: own_key(&access), size, ..access });
    }
    let end = accesses.last().map_or(Micros(0), |access| access.time);
    let mut load = Load::of(&args.from, names, accesses, end.as_f64().max(1.0) / 1e6);
    if !args.from.starts_with("synth:") {
        load.assumptions.push(
            "`larder capture` printed the trace's own assumptions when it recorded the trace."
                .to_owned(),
        );
    }
    if source.lost() > 0 {
        load.assumptions.push(format!("{} requests are missing from the trace.", source.lost()));
    }
    load.memory = memory;
    load.rules.clone_from(&args.watch.tenant);
    load.ready(args, None)
}

fn number(names: &mut Vec<String>, name: String) -> TenantId {
    let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    TenantId::try_from(at).unwrap_or(TenantId::MAX)
}

/// The share of first reads of a key among the reads of the second half, and their share of the
/// cost if all reads missed. No memory makes a first read a hit.
pub(super) fn first_reads(load: &Load) -> (f64, f64) {
    let middle = load.accesses.len() / 2;
    let mut seen = HashSet::new();
    let (mut first, mut reads, mut waited, mut all) = (0u64, 0u64, 0.0, 0.0);
    for (at, access) in load.accesses.iter().enumerate() {
        let is_new = seen.insert(access.key);
        if at >= middle && access.op == Op::Get {
            reads += 1;
            all += access.penalty.as_f64();
            if is_new {
                first += 1;
                waited += access.penalty.as_f64();
            }
        }
    }
    (first as f64 / reads.max(1) as f64, waited / all.max(1.0))
}
