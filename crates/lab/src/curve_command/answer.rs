//! The answer of one model.

use super::args::QuestionArgs;
use super::plan::depends_on_k;
use super::questions::{Goal, Step};
use super::survey::Survey;
use base::{Bytes, MissRatio};
use curve::{MissRatioCurve, Params, Spec};
use serde::Serialize;

/// Largest fall of the miss ratio that still counts as a plateau.
const LEVEL: f64 = 0.005;

/// One model run over the trace.
#[derive(Debug, Serialize)]
pub(super) struct CurveOutput {
    pub(super) trace: String,
    pub(super) model: &'static str,
    /// Candidates of an eviction, where the model is one of K-LRU.
    pub(super) k: Option<u32>,
    pub(super) pool: Option<bool>,
    /// Policy whose miss ratio the model predicts.
    pub(super) policy: String,
    /// Share of the keys watched, at the end.
    pub(super) rate: f64,
    pub(super) seed: u64,
    /// Bytes stored for each plain byte of a value, if the user asked for a cache that compresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compress_ratio: Option<f64>,
    pub(super) points: Vec<(u64, f64)>,
    /// Size, and the lower and upper end of the band for its miss ratio.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) band: Vec<(u64, f64, f64)>,
    /// Sizes and miss ratios of the reference model, at the sizes of `points`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) against: Option<Vec<(u64, f64)>>,
    /// Mean absolute error over the points, and over the intervals where there are several.
    pub(super) mae: Option<f64>,
    /// Largest absolute error.
    pub(super) error_max: Option<f64>,
    pub(super) seconds: f64,
    /// Nanoseconds per access to a watched key, including the time to draw the curve.
    pub(super) ns_per_sampled_access: f64,
    pub(super) model_bytes: u64,
    /// Miss ratios that two pools reach when they share the keys between them: the corners of the
    /// lower hull.
    pub(super) hull: Vec<(u64, f64)>,
    /// Ranges of sizes in which the miss ratio hardly falls: first and last size, the last more
    /// than twice the first.
    pub(super) plateaus: Vec<(u64, u64)>,
    pub(super) requests: u64,
    pub(super) reads: u64,
    pub(super) keys: u64,
    pub(super) footprint: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<Goal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<Step>,
}

/// A model's parameters and costs, as an answer reports them.
pub(super) struct Made<'a> {
    pub(super) spec: &'static Spec,
    pub(super) params: &'a Params,
    /// Share of the keys watched, at the end.
    pub(super) rate: f64,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    /// Memory of the model.
    pub(super) bytes: Bytes,
}

impl Made<'_> {
    /// The answer at the sizes of `points`, without a comparison.
    pub(super) fn answer(
        &self,
        trace: &str,
        curve: &MissRatioCurve,
        points: &[(u64, f64)],
        survey: &Survey,
        asked: &QuestionArgs,
    ) -> CurveOutput {
        let reported = through(points);
        let flat = reported.plateaus(LEVEL);
        let k = depends_on_k(self.spec).then_some(self.params.k);
        let k = k.filter(|_| self.params.policy.is_none());
        CurveOutput {
            trace: trace.to_owned(),
            model: self.spec.name,
            k,
            pool: k.map(|_| self.params.pool),
            policy: (self.spec.predicts)(self.params).to_string(),
            rate: self.rate,
            seed: self.seed,
            compress_ratio: None,
            points: points.to_vec(),
            band: vec![],
            against: None,
            mae: None,
            error_max: None,
            seconds: self.seconds,
            ns_per_sampled_access: self.seconds * 1e9
                / (survey.requests as f64 * self.rate).max(1.0),
            model_bytes: self.bytes.0,
            hull: reported.hull().points().iter().map(|(size, ratio)| (size.0, ratio.0)).collect(),
            plateaus: flat.into_iter().map(|(from, to)| (from.0, to.0)).collect(),
            requests: survey.requests,
            reads: survey.reads,
            keys: survey.keys,
            footprint: survey.footprint,
            goal: asked.goal.map(|goal| Goal::of(curve, survey, goal)),
            at: asked.at.map(|size| Step::of(curve, survey, size, asked.step)),
        }
    }
}

impl CurveOutput {
    /// The curve through the points.
    pub(super) fn curve(&self) -> MissRatioCurve {
        through(&self.points)
    }
}

/// The curve through some points.
pub(super) fn through(points: &[(u64, f64)]) -> MissRatioCurve {
    MissRatioCurve::new(points.iter().map(|&(size, ratio)| (Bytes(size), MissRatio(ratio))))
}
