//! `larder trace stat`: what a trace holds.

use super::copy::in_trace;
use super::print_line;
use super::progress::Progress;
use super::sensitivity::{self, Kept, Sensitivity};
use crate::report;
use anyhow::Context;
use base::hash::KeyMap;
use base::histogram::Histogram;
use base::{Access, Micros, Op, Size, TenantId};
use load::open::{self, Options};
use serde::Serialize;
use std::collections::BTreeMap;
use trace::Source;

/// Print a summary of a trace
///
/// Requests, keys, bytes, sizes, operations, lives, reuse times, tenants, the misses no cache can
/// avoid, and whether it matters how many candidates an eviction draws (K). Takes 32 bytes of
/// memory for each key.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  larder trace stat web.csv.zst
  larder trace stat --json --quick synth:zipf:keys=1m")]
pub(super) struct Args {
    /// Trace to read: a file, - for standard input, or synth:NAME:…
    trace: String,
    /// Leave out the simulations that tell whether K matters
    #[arg(long)]
    quick: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Options,
}

/// Statistics of a trace.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Stat {
    pub(super) trace: String,
    pub(super) requests: u64,
    pub(super) keys: u64,
    /// Bytes of the values, summed over all requests.
    pub(super) bytes: u64,
    /// Bytes of the objects, each at its largest size.
    pub(super) footprint_bytes: u64,
    pub(super) span_us: u64,
    /// Malformed records that were skipped, and requests that are known to be missing.
    pub(super) skipped: u64,
    pub(super) lost: u64,
    /// Bytes of an object's value, at its largest.
    pub(super) sizes: Spread,
    pub(super) key_sizes: Spread,
    pub(super) operations: Operations,
    pub(super) ttls: Ttls,
    /// Requests since the last request to the same key.
    pub(super) reuse_requests: Quantiles,
    /// Microseconds since the last request to the same key.
    pub(super) reuse_us: Quantiles,
    /// First requests to a key: no cache can avoid these misses.
    pub(super) compulsory_misses: u64,
    pub(super) compulsory_miss_ratio: f64,
    /// Share of the keys with a single request.
    pub(super) one_hit_keys: f64,
    /// Share of the requests that go to the most popular hundredth of the keys.
    pub(super) top_requests: f64,
    /// Exponent of Zipf's law that fits the popularity.
    pub(super) zipf: Option<f64>,
    pub(super) tenants: Vec<TenantStat>,
    pub(super) k_sensitivity: Option<Sensitivity>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Spread {
    pub(super) min: u64,
    pub(super) p50: u64,
    pub(super) mean: f64,
    pub(super) p99: u64,
    pub(super) max: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Operations {
    pub(super) get: u64,
    pub(super) set: u64,
    pub(super) delete: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Ttls {
    /// Requests with a time to live.
    pub(super) requests: u64,
    /// Different times to live, counted up to [`TTLS_MAX`].
    pub(super) distinct: usize,
    pub(super) min_us: u64,
    pub(super) p50_us: u64,
    pub(super) max_us: u64,
}

/// Quantiles, to the width of a histogram's bucket: a sixteenth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Quantiles {
    pub(super) p10: u64,
    pub(super) p50: u64,
    pub(super) p90: u64,
    pub(super) p99: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct TenantStat {
    #[serde(rename = "tenant")]
    pub(super) number: TenantId,
    /// Name of the tenant, where the trace has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) requests: u64,
    /// Keys whose first request was the tenant's.
    pub(super) keys: u64,
    pub(super) bytes: u64,
    pub(super) footprint_bytes: u64,
}

/// Maximum number of different times to live; a trace with a random one for each key has millions.
const TTLS_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Object {
    last: u64,
    last_time: Micros,
    requests: u32,
    size: Size,
    key_size: u32,
    tenant: TenantId,
}

/// Counts the requests of a trace.
#[derive(Default)]
pub(super) struct Survey {
    requests: u64,
    bytes: u64,
    first: Option<Micros>,
    end: Micros,
    objects: KeyMap<Object>,
    operations: Operations,
    ttls: BTreeMap<u64, u64>,
    ttl_requests: u64,
    ttl_max: u64,
    reuse_requests: Histogram,
    reuse_us: Histogram,
    tenants: BTreeMap<TenantId, TenantStat>,
    kept: Option<Kept>,
}

impl Survey {
    /// A survey that also keeps requests, to find out whether K matters.
    pub(super) fn with_sensitivity() -> Self {
        Self { kept: Some(Kept::default()), ..Self::default() }
    }

    /// Counts one request.
    pub(super) fn add(&mut self, access: &Access) {
        let now = self.requests;
        self.requests += 1;
        self.bytes += access.value_size;
        self.first.get_or_insert(access.time);
        self.end = self.end.max(access.time);
        *match access.op {
            Op::Get => &mut self.operations.get,
            Op::Set => &mut self.operations.set,
            Op::Delete => &mut self.operations.delete,
        } += 1;
        if access.ttl != Micros(0) {
            self.ttl_requests += 1;
            self.ttl_max = self.ttl_max.max(access.ttl.0);
            if self.ttls.len() < TTLS_MAX || self.ttls.contains_key(&access.ttl.0) {
                *self.ttls.entry(access.ttl.0).or_default() += 1;
            }
        }
        let tenant = self.tenants.entry(access.tenant).or_default();
        tenant.requests += 1;
        tenant.bytes += access.value_size;
        let object = self.objects.entry(access.key).or_insert(Object {
            last: now,
            last_time: access.time,
            requests: 0,
            size: Size::default(),
            key_size: access.key_size,
            tenant: access.tenant,
        });
        if object.requests > 0 {
            self.reuse_requests.add(now - object.last, 1.0);
            self.reuse_us.add(access.time.saturating_sub(object.last_time).0, 1.0);
        }
        object.last = now;
        object.last_time = access.time;
        object.requests = object.requests.saturating_add(1);
        object.size = object.size.max(Size::of(access.value_size));
        if let Some(kept) = &mut self.kept {
            kept.add(access);
        }
    }

    /// The statistics of all counted requests.
    pub(super) fn stat(mut self, trace: &str, source: &dyn Source) -> Stat {
        let k_sensitivity = self.kept.take().as_ref().and_then(sensitivity::measure);
        let keys = self.objects.len();
        let mut sizes: Vec<u64> = self.objects.values().map(|object| object.size.get()).collect();
        let key_sizes = self.objects.values().map(|object| u64::from(object.key_size));
        let mut key_sizes: Vec<u64> = key_sizes.collect();
        let mut counts: Vec<u32> = self.objects.values().map(|object| object.requests).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        for object in self.objects.values() {
            let tenant = self.tenants.entry(object.tenant).or_default();
            tenant.keys += 1;
            tenant.footprint_bytes += u64::from(object.size);
        }
        for (number, tenant) in &mut self.tenants {
            tenant.number = *number;
            tenant.name = source.tenant_name(*number).map(str::to_owned);
        }
        let top = counts[..keys.div_ceil(100)].iter().map(|count| u64::from(*count)).sum::<u64>();
        let once = counts.iter().rev().take_while(|count| **count == 1).count();
        Stat {
            trace: trace.to_owned(),
            requests: self.requests,
            keys: keys as u64,
            bytes: self.bytes,
            footprint_bytes: sizes.iter().sum(),
            span_us: self.end.saturating_sub(self.first.unwrap_or_default()).0,
            skipped: source.skipped(),
            lost: source.lost(),
            sizes: Spread::of(&mut sizes),
            key_sizes: Spread::of(&mut key_sizes),
            operations: self.operations,
            ttls: ttls(&self.ttls, self.ttl_requests, self.ttl_max),
            reuse_requests: Quantiles::of(&self.reuse_requests),
            reuse_us: Quantiles::of(&self.reuse_us),
            compulsory_misses: keys as u64,
            compulsory_miss_ratio: keys as f64 / self.requests.max(1) as f64,
            one_hit_keys: once as f64 / keys.max(1) as f64,
            top_requests: top as f64 / self.requests.max(1) as f64,
            zipf: zipf(&counts),
            tenants: self.tenants.into_values().collect(),
            k_sensitivity,
        }
    }
}

impl Spread {
    fn of(values: &mut [u64]) -> Self {
        values.sort_unstable();
        let at = |q: f64| {
            let place = (q * values.len() as f64).ceil() as usize;
            values.get(place.saturating_sub(1)).copied().unwrap_or(0)
        };
        let sum: u64 = values.iter().sum();
        Self {
            min: at(0.0),
            p50: at(0.5),
            mean: sum as f64 / values.len().max(1) as f64,
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

impl Quantiles {
    fn of(histogram: &Histogram) -> Self {
        let at = |q| histogram.quantile(q);
        Self { p10: at(0.1), p50: at(0.5), p90: at(0.9), p99: at(0.99) }
    }
}

fn ttls(counts: &BTreeMap<u64, u64>, requests: u64, max_us: u64) -> Ttls {
    let half = counts.values().sum::<u64>().div_ceil(2);
    let mut sum = 0;
    let p50 = counts.iter().find(|(_, count)| {
        sum += **count;
        sum >= half
    });
    Ttls {
        requests,
        distinct: counts.len(),
        min_us: counts.keys().next().copied().unwrap_or(0),
        p50_us: p50.map_or(0, |(ttl, _)| *ttl),
        max_us,
    }
}

/// The slope of log count over log rank, over the keys with at least three requests: below that,
/// the counts are steps. `None` with fewer than three such keys.
fn zipf(counts: &[u32]) -> Option<f64> {
    let often = counts.iter().take_while(|count| **count >= 3).count();
    if often < 3 {
        return None;
    }
    let points = counts[..often]
        .iter()
        .enumerate()
        .map(|(rank, count)| (((rank + 1) as f64).ln(), f64::from(*count).ln()));
    let n = often as f64;
    let (x, y) = points.clone().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xy, xx) = points
        .fold((0.0, 0.0), |(xy, xx), p| (xy + (p.0 - x) * (p.1 - y), xx + (p.0 - x) * (p.0 - x)));
    Some(-xy / xx)
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut source = open::open(&args.trace, &args.reading)?;
    let mut survey = if args.quick { Survey::default() } else { Survey::with_sensitivity() };
    let mut progress = Progress::new("reading");
    while let Some(access) = source.next() {
        survey.add(&access.with_context(|| in_trace(&args.trace))?);
        progress.step();
    }
    drop(progress);
    let stat = survey.stat(&args.trace, &*source);
    if args.json { report::json::print(&stat) } else { Ok(print_line(&stat.text())?) }
}
