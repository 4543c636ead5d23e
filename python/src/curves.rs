//! Miss ratio curves, the models that compute them, and the counts of models.

use crate::requests::Trace;
use crate::{check_signals, wrong};
use ::curve::{MissRatioCurve, Params, Part, Spec};
use base::hash::{self, mix};
use base::{Bytes, MissRatio};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// Requests between two checks for Python's signals.
const STEP: usize = 1 << 18;

/// Makes the keys that a model samples independent of those that [`Trace`] samples with the same
/// seed.
const SALT: u64 = 0x6d6f_6465_6c00;

/// A miss ratio curve: the miss ratio of a cache at every size.
#[pyclass(frozen, module = "larder")]
pub(crate) struct Curve {
    pub(crate) curve: MissRatioCurve,
}

#[pymethods]
impl Curve {
    /// Sizes of the curve's points, in bytes. Between points the curve is linear.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        let sizes: Vec<u64> = self.curve.points().iter().map(|(size, _)| size.0).collect();
        sizes.into_pyarray(py)
    }

    /// Miss ratios at `sizes`.
    #[getter]
    fn miss_ratios<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let ratios: Vec<f64> = self.curve.points().iter().map(|(_, ratio)| ratio.0).collect();
        ratios.into_pyarray(py)
    }

    /// The miss ratio of a cache of `size` bytes.
    fn __call__(&self, size: u64) -> f64 {
        self.curve.at(Bytes(size)).0
    }

    /// The smallest size in bytes with a miss ratio of at most `miss_ratio`; None if no size of the
    /// curve reaches it.
    fn size_for(&self, miss_ratio: f64) -> Option<u64> {
        self.curve.size_for(MissRatio(miss_ratio)).map(|size| size.0)
    }

    fn __repr__(&self) -> String {
        format!("<larder.Curve of {} points>", self.curve.points().len())
    }
}

/// A model and its parameters. Only counts of one kind can be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kind {
    model: String,
    k: u32,
    pool: bool,
    rate: f64,
    seed: u64,
}

impl Kind {
    fn spec(&self) -> PyResult<&'static Spec> {
        ::curve::find(&self.model).map_err(wrong)
    }

    fn params(&self) -> Params {
        let Self { k, pool, rate, seed, .. } = *self;
        Params { k, pool, rate, seed, ..Params::default() }
    }
}

/// Computes a miss ratio curve from the requests of traces.
#[pyclass(frozen, module = "larder")]
pub(crate) struct Model {
    kind: Kind,
    part: Part,
    inner: Mutex<Box<dyn ::curve::Model>>,
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (name="krr", k=5, pool=false, rate=1.0, part=None, seed=1))]
    fn new(
        name: &str,
        k: u32,
        pool: bool,
        rate: f64,
        part: Option<(u32, u32)>,
        seed: u64,
    ) -> PyResult<Self> {
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(wrong(format!("rate {rate}: write a number above 0 and at most 1")));
        }
        let part = match part {
            None => Part::WHOLE,
            Some((at, of)) if at >= 1 && Part { at: at - 1, of }.is_sound() => {
                Part { at: at - 1, of }
            }
            Some((at, of)) => {
                return Err(wrong(format!("part ({at}, {of}): write for example (1, 4)")));
            }
        };
        let kind = Kind { model: name.to_owned(), k, pool, rate, seed };
        let inner = (kind.spec()?.build)(&Params { part, ..kind.params() });
        Ok(Self { kind, part, inner: Mutex::new(inner) })
    }

    /// Shows the model all requests of a trace.
    fn access(&self, py: Python<'_>, trace: &Trace) -> PyResult<()> {
        let requests = trace.requests.clone();
        let salt = mix(self.kind.seed ^ SALT);
        py.detach(|| {
            let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut block = Vec::with_capacity(STEP);
            for some in requests.chunks(STEP) {
                block.clear();
                block.extend(some.iter().map(|access| {
                    let mut access = *access;
                    access.key = mix(access.key ^ salt);
                    access
                }));
                inner.accesses(&block);
                check_signals()?;
            }
            Ok(())
        })
    }

    /// The curve of all requests so far.
    fn curve(&self, py: Python<'_>) -> Curve {
        let curve = py.detach(|| {
            self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner).curve()
        });
        Curve { curve }
    }

    /// The model's counts, which can be added to the counts of other parts of the keys.
    fn counts(&self, py: Python<'_>) -> PyResult<Counts> {
        let counts = py.detach(|| {
            self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner).counted()
        });
        let counts = counts.ok_or_else(|| {
            wrong(format!(
                "the counts of {} cannot be added: choose olken, shards, krr, aet, eaet or kaet",
                self.kind.model
            ))
        })?;
        Ok(Counts(Counted {
            kind: self.kind.clone(),
            of: self.part.of,
            parts: vec![self.part.at],
            counts,
        }))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counted {
    kind: Kind,
    of: u32,
    parts: Vec<u32>,
    counts: ::curve::ModelCounts,
}

/// Counts of a model for one or more parts of the keys. They can be added and pickled.
#[pyclass(frozen, module = "larder")]
pub(crate) struct Counts(Counted);

/// The first bytes of pickled counts, with the version of their format.
const MAGIC: &[u8] = b"larder py counts 1\n";

#[pymethods]
impl Counts {
    #[new]
    fn new(state: &[u8]) -> PyResult<Self> {
        let rest = state.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<8>());
        let Some((sum, body)) = rest else {
            return Err(wrong("these are not counts of this version of Larder: count again"));
        };
        if hash::bytes(0, body) != u64::from_le_bytes(*sum) {
            return Err(wrong("the counts are damaged: count again"));
        }
        let counted: Counted = postcard::from_bytes(body).map_err(wrong)?;
        if !counted.counts.are_sound() {
            return Err(wrong("the counts are damaged: count again"));
        }
        Ok(Self(counted))
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>,)> {
        let body = postcard::to_stdvec(&self.0).map_err(wrong)?;
        let mut state = MAGIC.to_vec();
        state.extend(hash::bytes(0, &body).to_le_bytes());
        state.extend(body);
        Ok((PyBytes::new(py, &state),))
    }

    /// Numbers of the counted parts, from 1, and the number of all parts.
    #[getter]
    fn parts(&self) -> (Vec<u32>, u32) {
        (self.0.parts.iter().map(|at| at + 1).collect(), self.0.of)
    }

    fn __add__(&self, other: &Self) -> PyResult<Self> {
        let mut sum = self.0.clone();
        if sum.kind != other.0.kind || sum.of != other.0.of {
            return Err(wrong(
                "the counts come from two kinds of models: count all parts with the same options",
            ));
        }
        if let Some(twice) = other.0.parts.iter().find(|at| sum.parts.contains(at)) {
            return Err(wrong(format!("part {} of {} is given twice", twice + 1, sum.of)));
        }
        sum.counts.add(&other.0.counts).map_err(wrong)?;
        sum.parts.extend(&other.0.parts);
        sum.parts.sort_unstable();
        Ok(Self(sum))
    }

    /// The curve of all keys, or of a sample of them if parts are missing.
    fn curve(&self, py: Python<'_>) -> PyResult<Curve> {
        let (spec, params) = (self.0.kind.spec()?, self.0.kind.params());
        let curve = py.detach(|| self.0.counts.curve(spec, &params)).map_err(wrong)?;
        Ok(Curve { curve })
    }

    fn __repr__(&self) -> String {
        let Counted { kind, of, parts, .. } = &self.0;
        format!("<larder.Counts of {}: {} of {of} parts>", kind.model, parts.len())
    }
}

/// Adds the counts of several parts.
#[pyfunction]
pub(crate) fn merge(counts: Vec<PyRef<'_, Counts>>) -> PyResult<Counts> {
    let Some((first, rest)) = counts.split_first() else {
        return Err(wrong("no counts: give at least one"));
    };
    let first = Counts(first.0.clone());
    rest.iter().try_fold(first, |sum, next| sum.__add__(next))
}

/// The miss ratio curve of a trace.
#[pyfunction]
#[pyo3(signature = (trace, model="krr", k=5, pool=false, rate=1.0, seed=1))]
pub(crate) fn curve(
    py: Python<'_>,
    trace: &Trace,
    model: &str,
    k: u32,
    pool: bool,
    rate: f64,
    seed: u64,
) -> PyResult<Curve> {
    let model = Model::new(model, k, pool, rate, None, seed)?;
    model.access(py, trace)?;
    Ok(model.curve(py))
}

/// Names of the models.
#[pyfunction]
pub(crate) fn models() -> Vec<&'static str> {
    ::curve::ALL.iter().map(|spec| spec.name).collect()
}
