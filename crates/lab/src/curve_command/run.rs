//! A model while the trace is read.

use curve::{Bands, Params, Spec};

/// A model and its state while the trace is read.
pub(super) struct ModelRun {
    pub(super) spec: &'static Spec,
    pub(super) params: Params,
    pub(super) model: Bands,
    pub(super) seconds: f64,
    /// Seed that chooses the watched keys.
    pub(super) seed: u64,
    /// Sum of the curves of all intervals so far, at the sizes to report.
    pub(super) sums: Vec<f64>,
    /// Sum of the absolute differences from the oracle, at the same sizes; `error_max` is the
    /// largest single difference.
    pub(super) errors: Vec<f64>,
    pub(super) error_max: f64,
    /// Index of the run that this run is compared with.
    pub(super) oracle: Option<usize>,
    /// Whether the user asked for this run; false for a run that only serves as an oracle.
    pub(super) wanted: bool,
}

impl ModelRun {
    pub(super) fn new(spec: &'static Spec, params: Params, bands: bool, wanted: bool) -> Self {
        let model = if bands { Bands::new(spec, &params) } else { Bands::alone(spec, &params) };
        Self {
            spec,
            model,
            seconds: 0.0,
            seed: params.seed,
            params,
            sums: vec![],
            errors: vec![],
            error_max: 0.0,
            oracle: None,
            wanted,
        }
    }

    pub(super) fn predicts(&self) -> String {
        (self.spec.predicts)(&self.params).to_string()
    }
}
