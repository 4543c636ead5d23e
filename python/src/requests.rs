//! Traces: read, generated, or made of arrays.

use crate::{check_signals, failed, wrong};
use base::hash::{self, KeyMap, mix};
use base::{Access, Filter, Micros, Op, Size};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;
use trace::Source;

/// Requests between two checks for Python's signals.
const STEP: usize = 1 << 18;

/// Requests to a cache, in order: read, generated, or made of arrays.
#[pyclass(frozen, module = "larder")]
pub(crate) struct Trace {
    pub(crate) requests: Arc<Vec<Access>>,
    name: String,
    /// Share of the keys that sampling kept; 1 for a trace that is no sample.
    #[pyo3(get)]
    pub(crate) rate: f64,
}

impl Trace {
    fn column<T>(&self, of: impl Fn(&Access) -> T) -> Vec<T> {
        self.requests.iter().map(of).collect()
    }

    /// Bytes of all objects, each at its largest size.
    pub(crate) fn all_bytes(&self) -> u64 {
        let mut sizes: KeyMap<Size> = KeyMap::default();
        for access in self.requests.iter().filter(|access| access.op != Op::Delete) {
            let size = sizes.entry(access.key).or_default();
            *size = access.size.max(*size);
        }
        sizes.values().map(|size| size.get()).sum()
    }
}

#[pymethods]
impl Trace {
    #[new]
    #[pyo3(signature = (keys, sizes=None, times=None, ops=None, ttls=None, tenants=None))]
    fn new(
        keys: &Bound<'_, PyAny>,
        sizes: Option<PyReadonlyArray1<'_, u64>>,
        times: Option<PyReadonlyArray1<'_, f64>>,
        ops: Option<PyReadonlyArray1<'_, u8>>,
        ttls: Option<PyReadonlyArray1<'_, f64>>,
        tenants: Option<PyReadonlyArray1<'_, u16>>,
    ) -> PyResult<Self> {
        let hashes: Vec<u64> = if let Ok(numbers) = keys.extract::<PyReadonlyArray1<'_, u64>>() {
            numbers.as_array().iter().map(|number| hash_of(&number.to_string())).collect()
        } else if let Ok(numbers) = keys.extract::<PyReadonlyArray1<'_, i64>>() {
            numbers.as_array().iter().map(|number| hash_of(&number.to_string())).collect()
        } else {
            let texts: Vec<String> =
                keys.try_iter()?.map(|key| Ok(key?.str()?.to_string())).collect::<PyResult<_>>()?;
            texts.iter().map(|text| hash_of(text)).collect()
        };
        let count = hashes.len();
        let fits = |name: &str, len: Option<usize>| match len {
            Some(len) if len != count => Err(wrong(format!(
                "{name} has {len} values, but keys has {count}: give one for each key"
            ))),
            _ => Ok(()),
        };
        fits("sizes", sizes.as_ref().map(|array| array.len().unwrap_or(0)))?;
        fits("times", times.as_ref().map(|array| array.len().unwrap_or(0)))?;
        fits("ops", ops.as_ref().map(|array| array.len().unwrap_or(0)))?;
        fits("ttls", ttls.as_ref().map(|array| array.len().unwrap_or(0)))?;
        fits("tenants", tenants.as_ref().map(|array| array.len().unwrap_or(0)))?;
        let micros = |seconds: f64| Micros((seconds.max(0.0) * 1e6).round() as u64);
        let mut requests = Vec::with_capacity(count);
        for (at, key) in hashes.into_iter().enumerate() {
            let value_size = sizes.as_ref().map_or(1, |sizes| sizes.as_array()[at]);
            let op = match ops.as_ref().map_or(0, |ops| ops.as_array()[at]) {
                0 => Op::Get,
                1 => Op::Set,
                2 => Op::Delete,
                other => {
                    return Err(wrong(format!(
                        "op {other} is unknown: 0 reads, 1 writes, 2 deletes"
                    )));
                }
            };
            requests.push(Access {
                time: times
                    .as_ref()
                    .map_or(Micros(at as u64), |times| micros(times.as_array()[at])),
                op,
                value_size,
                size: Size::of(value_size),
                ttl: ttls.as_ref().map_or(Micros(0), |ttls| micros(ttls.as_array()[at])),
                tenant: tenants.as_ref().map_or(0, |tenants| tenants.as_array()[at]),
                ..Access::get(key, 0)
            });
        }
        Ok(Self { requests: Arc::new(requests), name: "arrays".into(), rate: 1.0 })
    }

    fn __len__(&self) -> usize {
        self.requests.len()
    }

    fn __repr__(&self) -> String {
        format!("<larder.Trace {}: {} requests>", self.name, self.requests.len())
    }

    /// Hash of each request's key.
    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(|access| access.key).into_pyarray(py)
    }

    /// Bytes of each request's object.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(|access| access.value_size).into_pyarray(py)
    }

    /// Time of each request, in seconds.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(|access| access.time.0 as f64 / 1e6).into_pyarray(py)
    }

    /// Operation of each request: 0 for a read, 1 for a write, 2 for a delete.
    #[getter]
    fn ops<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        let op = |access: &Access| match access.op {
            Op::Get => 0,
            Op::Set => 1,
            Op::Delete => 2,
        };
        self.column(op).into_pyarray(py)
    }

    /// Number of the tenant that sent each request.
    #[getter]
    fn tenants<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u16>> {
        self.column(|access| access.tenant).into_pyarray(py)
    }

    /// Bytes of all objects, each at its largest size.
    #[getter]
    fn footprint(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.all_bytes())
    }

    /// All requests for a random share `rate` of the keys. Another seed keeps other keys.
    #[pyo3(signature = (rate, seed=1))]
    fn sample(&self, py: Python<'_>, rate: f64, seed: u64) -> PyResult<Self> {
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(wrong(format!("rate {rate}: write a number above 0 and at most 1")));
        }
        // A sample of a sample depends on other bits of the hashes than the first.
        let salt = mix(seed ^ (1.0_f64.to_bits() ^ self.rate.to_bits()));
        let filter = Filter::with_rate(rate);
        let keeps = |access: &&Access| filter.keeps(mix(access.key ^ salt));
        let requests = py.detach(|| self.requests.iter().filter(keeps).copied().collect());
        let name = format!("{} at {rate}", self.name);
        Ok(Self { requests: Arc::new(requests), name, rate: self.rate * rate })
    }
}

/// The hash of a key, equal to the hash that the key has in a trace file.
fn hash_of(text: &str) -> u64 {
    hash::bytes(0, text.as_bytes())
}

/// Reads up to `limit` requests of a source into memory. After each block it calls `progress` with
/// the number of requests so far.
fn collect(
    py: Python<'_>,
    mut source: Box<dyn Source>,
    name: &str,
    limit: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Trace> {
    let limit = limit.unwrap_or(usize::MAX);
    let requests = py.detach(|| {
        let mut requests = vec![];
        loop {
            let before = requests.len();
            let error = |error: trace::Error| failed(format!("trace '{name}': {error}"));
            source.read(&mut requests, STEP.min(limit - before)).map_err(error)?;
            if requests.len() == before {
                return Ok::<_, PyErr>(requests);
            }
            check_signals()?;
            if let Some(progress) = &progress {
                Python::attach(|py| progress.call1(py, (requests.len(),)).map(drop))?;
            }
        }
    })?;
    Ok(Trace { requests: Arc::new(requests), name: name.to_owned(), rate: 1.0 })
}

/// Reads a trace file of any known format, compressed or not.
#[pyfunction]
#[pyo3(signature = (path, format=None, limit=None, ignore_size=false, progress=None))]
pub(crate) fn read(
    py: Python<'_>,
    path: &str,
    format: Option<&str>,
    limit: Option<usize>,
    ignore_size: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Trace> {
    let mut file = trace::file::open(path).map_err(|error| failed(format!("{path}: {error}")))?;
    if let Some(error) = file.failure(false) {
        return Err(failed(format!("{path}: {error}")));
    }
    let spec = match format {
        Some(name) => trace::format::find(name).map_err(wrong)?,
        None => trace::format::detect(path, &file.head).ok_or_else(|| {
            wrong(format!("the format of {path} is not clear: name it, one of {:?}", formats()))
        })?,
    };
    let charge = if ignore_size { trace::Charge::One } else { trace::Charge::Value };
    let options = trace::ReadOptions { charge, ..trace::ReadOptions::default() };
    let source =
        (spec.open)(file.reader(), &options).map_err(|error| failed(format!("{path}: {error}")))?;
    collect(py, source, path, limit, progress)
}

/// Generates a trace, as described by a text such as `zipf:keys=10000:skew=0.9:requests=100000`.
#[pyfunction]
#[pyo3(signature = (text, limit=None))]
pub(crate) fn generate(py: Python<'_>, text: &str, limit: Option<usize>) -> PyResult<Trace> {
    let name = format!("synth:{}", text.trim_start_matches("synth:"));
    let source = trace::synth::open(&name, &trace::ReadOptions::default()).map_err(wrong)?;
    collect(py, source, &name, limit, None)
}

/// Names of the trace formats that `read` knows.
#[pyfunction]
pub(crate) fn formats() -> Vec<&'static str> {
    trace::format::ALL.iter().map(|spec| spec.name).collect()
}

/// Names of the trace generators.
#[pyfunction]
pub(crate) fn generators() -> Vec<&'static str> {
    trace::synth::ALL.iter().map(|spec| spec.name).collect()
}
