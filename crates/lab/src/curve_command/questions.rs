//! Questions to a curve: the memory for a goal, and the gain by one step more. Nothing was measured
//! beyond the bytes that the trace touches, so nothing is answered there.

use super::survey::Survey;
use base::{Bytes, MissRatio};
use curve::MissRatioCurve;
use serde::Serialize;

/// Reads `5%` or `0.05`.
pub(super) fn ratio(text: &str) -> Result<MissRatio, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent, 100.0),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&(number / scale)) => Ok(MissRatio(number / scale)),
        _ => Err(format!(
            "'{text}' is not a miss ratio: write a number from 0 to 1, or a percentage such as 5%"
        )),
    }
}

/// The memory that a goal needs.
#[derive(Debug, Serialize)]
pub(super) struct Goal {
    pub(super) miss_ratio: f64,
    pub(super) bytes: Option<u64>,
    /// Reason, where there is no size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

impl Goal {
    pub(super) fn of(curve: &MissRatioCurve, survey: &Survey, goal: MissRatio) -> Self {
        let all = Bytes(survey.footprint);
        let bytes = curve.size_for(goal).filter(|&size| size <= all);
        let why = bytes.is_none().then(|| {
            format!(
                "no size reaches {:.2} % on this trace: even with all its {all}, {:.2} % of the \
                 reads miss, most of them the first of their key; a longer trace may show more",
                goal.0 * 100.0,
                curve.at(all).0 * 100.0
            )
        });
        Self { miss_ratio: goal.0, bytes: bytes.map(|size| size.0), why }
    }
}

/// Miss ratios at a size and with one step more.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    pub(super) bytes: u64,
    pub(super) miss_ratio: Option<f64>,
    #[serde(rename = "step")]
    pub(super) more_bytes: u64,
    #[serde(rename = "miss_ratio_with_step")]
    pub(super) with_more: Option<f64>,
    /// Reason, where a number is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

impl Step {
    pub(super) fn of(curve: &MissRatioCurve, survey: &Survey, size: Bytes, step: Bytes) -> Self {
        let all = Bytes(survey.footprint);
        let known = |size: Bytes| (size <= all).then(|| curve.at(size).0);
        let more = Bytes(size.0.saturating_add(step.0));
        let why = (more > all).then(|| {
            format!("the footprint of this trace is {all}: it does not show what more memory saves")
        });
        Self {
            bytes: size.0,
            miss_ratio: known(size),
            more_bytes: step.0,
            with_more: known(more),
            why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURVEY: Survey = Survey { requests: 10, reads: 10, keys: 5, footprint: 1_000 };

    fn curve() -> MissRatioCurve {
        MissRatioCurve::new([(Bytes(500), MissRatio(0.4)), (Bytes(1_000), MissRatio(0.2))])
    }

    #[test]
    fn ratios_are_read() {
        assert_eq!(ratio("5%"), Ok(MissRatio(0.05)));
        assert_eq!(ratio("0.25"), Ok(MissRatio(0.25)));
        for text in ["5", "-1%", "101%", "much", ""] {
            assert!(ratio(text).is_err(), "{text}");
        }
    }

    /// Neither a goal below what the trace can show nor a size beyond it gets a number.
    #[test]
    fn nothing_is_said_beyond_the_data() {
        let (curve, all) = (curve(), Bytes(1_000));
        let goal = Goal::of(&curve, &SURVEY, MissRatio(0.3)).bytes;
        assert!(goal.is_some_and(|size| (750..=751).contains(&size)), "{goal:?}");
        let goal = Goal::of(&curve, &SURVEY, MissRatio(0.1));
        assert!(goal.bytes.is_none() && goal.why.unwrap().contains("20.00 %"));
        let step = Step::of(&curve, &SURVEY, Bytes(500), Bytes(250));
        assert!((step.with_more.unwrap() - 0.3).abs() < 1e-12 && step.why.is_none());
        let step = Step::of(&curve, &SURVEY, all, Bytes(1));
        assert_eq!((step.miss_ratio, step.with_more), (Some(0.2), None));
        assert!(step.why.is_some());
    }
}
