//! Simulated caches.

use crate::requests::Trace;
use crate::{check_signals, wrong};
use base::{Access, Bytes};
use policy::{Cache, Choice};
use pyo3::prelude::*;

/// Requests between two checks for Python's signals.
const STEP: usize = 1 << 20;

/// The counts of one simulation: one policy and one cache size on a trace.
#[pyclass(frozen, get_all, module = "larder")]
pub(crate) struct Result {
    policy: String,
    /// Capacity of the cache in bytes.
    size: u64,
    requests: u64,
    reads: u64,
    misses: u64,
    miss_ratio: f64,
    byte_miss_ratio: f64,
    evictions: u64,
}

#[pymethods]
impl Result {
    fn __repr__(&self) -> String {
        let Self { policy, size, miss_ratio, .. } = self;
        format!("<larder.Result {policy} at {size} bytes: {miss_ratio:.4} missed>")
    }
}

/// A size: a number of bytes, a text such as `64mb`, or a share of the footprint such as `10%`.
#[derive(FromPyObject)]
pub(crate) enum Size {
    Bytes(u64),
    Text(String),
}

impl Size {
    pub(crate) fn of(&self, footprint: u64) -> PyResult<Bytes> {
        let size = match self {
            Self::Bytes(bytes) => Bytes(*bytes),
            Self::Text(text) => match text.strip_suffix('%') {
                Some(percent) => {
                    let share: f64 = percent.trim().parse().map_err(|_| size_error(text))?;
                    Bytes((footprint as f64 * share / 100.0) as u64)
                }
                None => Bytes::parse(text).map_err(wrong)?,
            },
        };
        if size == Bytes(0) {
            Err(wrong("the size is 0 bytes: give a larger one"))
        } else {
            Ok(size)
        }
    }

    /// The size in bytes; a share is an error, because there is no footprint.
    pub(crate) fn whole(&self) -> PyResult<Bytes> {
        match self {
            Self::Text(text) if text.ends_with('%') => Err(wrong(format!(
                "'{text}' is a share of an unknown footprint: give a size such as 64mb"
            ))),
            size => size.of(0),
        }
    }
}

fn size_error(text: &str) -> PyErr {
    wrong(format!("'{text}' is not a size: give bytes, 64mb, or a share such as 10%"))
}

/// One value or a list of values.
#[derive(FromPyObject)]
pub(crate) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    fn all(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// Simulates caches on a trace: every policy at every size.
#[pyfunction]
#[pyo3(signature = (trace, policies, sizes, seed=1, keep_sizes=false))]
pub(crate) fn simulate(
    py: Python<'_>,
    trace: &Trace,
    policies: OneOrMany<String>,
    sizes: OneOrMany<Size>,
    seed: u64,
    keep_sizes: bool,
) -> PyResult<Vec<Result>> {
    let policies: Vec<Choice> = policies
        .all()
        .iter()
        .map(|text| policy::parse(text).map_err(wrong))
        .collect::<PyResult<_>>()?;
    let sizes = sizes.all();
    // The footprint takes a pass over the trace, and only shares need it.
    let is_share = |size: &Size| matches!(size, Size::Text(text) if text.contains('%'));
    let footprint = if sizes.iter().any(is_share) { py.detach(|| trace.all_bytes()) } else { 0 };
    let sizes: Vec<Bytes> = sizes.iter().map(|size| size.of(footprint)).collect::<PyResult<_>>()?;
    let requests = trace.requests.clone();
    py.detach(|| {
        let mut results = vec![];
        for policy in &policies {
            for &size in &sizes {
                let cache = Cache::new(policy, size, seed);
                let cache = if keep_sizes { cache.keeping_sizes() } else { cache };
                results.push(play(policy, size, cache, &requests)?);
            }
        }
        Ok(results)
    })
}

fn play(policy: &Choice, size: Bytes, mut cache: Cache, requests: &[Access]) -> PyResult<Result> {
    for block in requests.chunks(STEP) {
        for access in block {
            cache.access(access);
        }
        check_signals()?;
    }
    let stats = cache.stats();
    Ok(Result {
        policy: policy.to_string(),
        size: size.0,
        requests: requests.len() as u64,
        reads: stats.gets,
        misses: stats.misses,
        miss_ratio: stats.miss_ratio(),
        byte_miss_ratio: stats.byte_miss_ratio(),
        evictions: stats.evictions,
    })
}

/// Names of the eviction policies.
#[pyfunction]
pub(crate) fn policies() -> Vec<&'static str> {
    policy::ALL.iter().map(|spec| spec.name).collect()
}
