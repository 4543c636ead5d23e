//! A finished capture: its requests, with missing facts filled in.
//!
//! Each fact comes from the first of its sources that exists.
//!
//! - *Size*: the value that the request wrote or found; the key's value before, or else after; the
//!   server's answer to a query; the mean of the tenant's keys.
//! - *Penalty* of a read: the measured time; the mean of the key, drawn towards the mean of the
//!   tenant; the server's report; the mean of the tenant; the mean of all tenants.
//! - *Time to live*: the one that the write stated; the one of the key's last write.
//!
//! The number of uses of each source is counted, so that a report can state its basis.

use super::record::{Fills, Key, RecordedRequest, Recorder};
use base::{Access, Micros, Op, Size, Tick, hash};
use serde::Serialize;

/// The weight of the tenant's mean penalty, in measurements of a key.
const PRIOR: f64 = 2.0;
/// Penalties above this quantile count as the quantile in the mean, as in the server.
const CUT: f64 = 0.99;

/// The sources of sizes and penalties, in requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filled {
    /// Sizes from a write or a hit, of this value or of another value of the key.
    pub sizes_told: u64,
    /// Sizes from a query to the server.
    pub sizes_asked: u64,
    /// Sizes that are the mean of the tenant, or of all tenants.
    pub sizes_mean: u64,
    /// Sizes that stay unknown and count as one byte.
    pub sizes_unknown: u64,
    /// Penalties of reads that were measured.
    pub penalties_measured: u64,
    /// Penalties from the key.
    pub penalties_of_key: u64,
    /// Penalties that are the tenant's mean.
    pub penalties_of_tenant: u64,
    /// Penalties that are the mean of all tenants, because the tenant has no measured miss.
    pub penalties_of_all: u64,
    /// Penalties that stay unknown.
    pub penalties_unknown: u64,
}

/// Counts of a tenant in the capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TenantSeen {
    /// The tenant's name.
    pub name: String,
    /// Number of reads.
    pub reads: u64,
    /// Number of reads that are known to have missed.
    pub misses: u64,
    /// Number of writes that answer no read.
    pub writes: u64,
    /// Number of removals.
    pub deletes: u64,
    /// Number of keys.
    pub keys: u64,
    /// Bytes of the values of the keys, each counted once.
    pub value_bytes: u64,
    /// Number of misses with a measured penalty.
    pub fetches: u64,
    /// Mean of the measured penalties, in microseconds; `None` without measurements.
    pub penalty_us: Option<f64>,
}

/// The requests of a capture.
#[derive(Debug)]
pub struct Recorded {
    keys: Vec<Key>,
    requests: Vec<RecordedRequest>,
    names: Vec<String>,
    fills: Fills,
    /// The measured penalties, by tenant.
    fetches: Vec<Fetches>,
    sizes: Vec<Option<u64>>,
    all_fetches: Option<f64>,
    filled: Filled,
}

/// The measured penalties of a tenant.
#[derive(Clone, Copy, Debug, Default)]
struct Fetches {
    count: u64,
    mean: Option<f64>,
    cut: u64,
}

impl Fetches {
    fn of(mut all: Vec<u64>) -> Self {
        all.sort_unstable();
        let Some(last) = all.len().checked_sub(1) else { return Self::default() };
        let cut = all[(last as f64 * CUT) as usize];
        let sum: f64 = all.iter().map(|us| (*us).min(cut) as f64).sum();
        Self { count: all.len() as u64, mean: Some(sum / all.len() as f64), cut }
    }
}

/// The mean of `count` numbers with this sum, rounded up.
fn mean(sum: u64, count: u64) -> Option<u64> {
    (count > 0).then(|| sum.div_ceil(count))
}

impl Recorded {
    pub(super) fn of(recorder: Recorder) -> Self {
        let fills = recorder.fills();
        let Recorder { keys, mut requests, names, .. } = recorder;
        // Several threads of a server may report slightly out of order.
        requests.sort_by_key(|request| request.time_us);
        let mut fetches: Vec<Vec<u64>> = vec![vec![]; names.len()];
        for request in &requests {
            if let Some(took) = request.fetch {
                let tenant = keys[request.key as usize].tenant;
                fetches[usize::from(tenant)].push(took.0);
            }
        }
        let fetches: Vec<_> = fetches.into_iter().map(Fetches::of).collect();
        let count: u64 = fetches.iter().map(|tenant| tenant.count).sum();
        let sum: f64 = fetches.iter().filter_map(|one| Some(one.mean? * one.count as f64)).sum();
        let sizes = (0..names.len()).map(|tenant| size_of_unknown(&keys, tenant)).collect();
        let mut recorded = Self {
            keys,
            requests,
            names,
            fills,
            fetches,
            sizes,
            all_fetches: (count > 0).then(|| sum / count as f64),
            filled: Filled::default(),
        };
        let mut filled = Filled::default();
        let mut pass_over = |_: &Access, _: &[u8]| Ok::<(), ()>(());
        recorded.complete(usize::MAX, &mut filled, &mut pass_over).unwrap_or(());
        recorded.filled = filled;
        recorded
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The names of the tenants, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The sources of the filled-in sizes and penalties.
    pub const fn filled(&self) -> Filled {
        self.filled
    }

    /// The ways in which misses were found.
    pub const fn fills(&self) -> Fills {
        self.fills
    }

    /// The counts of each tenant.
    pub fn tenants(&self) -> Vec<TenantSeen> {
        let seen = |(name, fetches): (&String, &Fetches)| TenantSeen {
            name: name.clone(),
            fetches: fetches.count,
            penalty_us: fetches.mean,
            ..TenantSeen::default()
        };
        let mut all: Vec<_> = self.names.iter().zip(&self.fetches).map(seen).collect();
        for key in &self.keys {
            let tenant = &mut all[usize::from(key.tenant)];
            tenant.keys += 1;
            tenant.value_bytes += self.value_size(key, None).0;
        }
        for request in &self.requests {
            let tenant = &mut all[usize::from(self.keys[request.key as usize].tenant)];
            match request.op {
                Op::Get => {
                    tenant.reads += 1;
                    tenant.misses += u64::from(request.missed);
                }
                Op::Set => tenant.writes += 1,
                Op::Delete => tenant.deletes += 1,
            }
        }
        all
    }

    /// Passes the first `most` requests, each with its key's text, to `show`, until it returns an
    /// error.
    ///
    /// # Errors
    /// The error of `show`.
    pub fn each<E>(
        &self,
        most: usize,
        mut show: impl FnMut(&Access, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.complete(most, &mut Filled::default(), &mut show)
    }

    fn complete<E>(
        &self,
        most: usize,
        filled: &mut Filled,
        show: &mut impl FnMut(&Access, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut held: Vec<Option<u64>> = vec![None; self.keys.len()];
        let first = self.requests.first().map_or(0, |request| request.time_us);
        let mut text = vec![];
        for request in self.requests.iter().take(most) {
            let key = &self.keys[request.key as usize];
            let held = &mut held[request.key as usize];
            *held = request.size.or(*held);
            let (value_size, source) = self.value_size(key, *held);
            let penalty = match request.op {
                Op::Get => self.penalty(key, request, filled),
                Op::Set | Op::Delete => Micros(0),
            };
            match source {
                SizeFrom::Told => filled.sizes_told += 1,
                SizeFrom::Asked => filled.sizes_asked += 1,
                SizeFrom::Mean => filled.sizes_mean += 1,
                SizeFrom::Nowhere => filled.sizes_unknown += 1,
            }
            text.clear();
            if key.db > 0 {
                // One key in two databases is two objects.
                text.extend_from_slice(format!("{}/", key.db).as_bytes());
            }
            text.extend_from_slice(&key.text);
            let ttl = if request.op == Op::Delete { None } else { request.ttl.or(key.ttl) };
            let access = Access {
                time: Micros(request.time_us - first),
                key: hash::bytes(0, &text),
                op: request.op,
                tenant: key.tenant,
                key_size: key.text.len() as u32,
                value_size,
                size: Size::of(value_size),
                ttl: ttl.unwrap_or_default(),
                penalty,
                next: Tick::NEVER,
            };
            show(&access, &text)?;
        }
        Ok(())
    }

    /// The size of a key's value, where `held` is the last reported size so far.
    fn value_size(&self, key: &Key, held: Option<u64>) -> (u64, SizeFrom) {
        if let Some(size) = held.or(key.size) {
            return (size, SizeFrom::Told);
        }
        if let Some(size) = key.asked {
            return (size, SizeFrom::Asked);
        }
        if key.changed > 0 {
            return (key.changed, SizeFrom::Told);
        }
        let known = self.sizes.iter().copied().flatten();
        let of_all = || mean(known.clone().sum(), known.clone().count() as u64);
        match self.sizes[usize::from(key.tenant)].or_else(of_all) {
            Some(size) => (size, SizeFrom::Mean),
            None => (1, SizeFrom::Nowhere),
        }
    }

    fn penalty(&self, key: &Key, request: &RecordedRequest, filled: &mut Filled) -> Micros {
        let tenant = self.fetches[usize::from(key.tenant)];
        if let Some(took) = request.fetch {
            filled.penalties_measured += 1;
            return Micros(took.0.min(tenant.cut));
        }
        if let (1.., Some(prior)) = (key.fetches, tenant.mean) {
            filled.penalties_of_key += 1;
            let count = f64::from(key.fetches);
            let most = tenant.cut as f64 * count;
            let sum = key.fetched.as_f64().min(most) + PRIOR * prior;
            return Micros((sum / (count + PRIOR)) as u64);
        }
        if key.told > Micros(0) {
            filled.penalties_of_key += 1;
            return key.told;
        }
        if let Some(mean) = tenant.mean {
            filled.penalties_of_tenant += 1;
            return Micros(mean as u64);
        }
        if let Some(mean) = self.all_fetches {
            filled.penalties_of_all += 1;
            return Micros(mean as u64);
        }
        filled.penalties_unknown += 1;
        Micros(0)
    }
}

/// The source of a size.
enum SizeFrom {
    Told,
    Asked,
    Mean,
    Nowhere,
}

/// The size for keys of a tenant without a known size: the mean of the sizes that the server
/// answered, or else of all known sizes.
fn size_of_unknown(keys: &[Key], tenant: usize) -> Option<u64> {
    let of_tenant = || keys.iter().filter(|key| usize::from(key.tenant) == tenant);
    let mean_of = |size: fn(&Key) -> Option<u64>| {
        let (mut sum, mut count) = (0, 0);
        for size in of_tenant().filter_map(size) {
            (sum, count) = (sum + size, count + 1);
        }
        mean(sum, count)
    };
    mean_of(|key| key.asked).or_else(|| mean_of(|key| key.size))
}
