//! KRR's curves against simulated K-LRU, with all keys watched and with a sample of them [1].
//!
//! Errors are absolute differences of the miss ratio, averaged over sizes that are spread evenly
//! over the working set.
//!
//! [1] Yang, Wang, Wang. Efficient Modeling of Random Sampling-Based LRU. ICPP '21.

use super::dlru_fixed_k::{PENALTY, workloads};
use super::load::{Load, draw};
use super::{Experiment, Findings, Setting};
use anyhow::Result;
use base::Bytes;
use curve::{MissRatioCurve, Params, krr};
use std::collections::HashSet;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "krr-accuracy",
    about: "KRR's curves against simulated K-LRU, for K from 1 to 32",
    run,
};

const KS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Number of keys in a sample, where the load has more.
const KEYS: f64 = 8_500.0;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let sizes = setting.pick(20, 5);
    for (name, trace) in workloads(setting)? {
        let load = Load::paced(&trace, Some(setting.pick(300_000, 60_000)), PENALTY)?;
        let keys = load.requests.iter().map(|access| access.key).collect::<HashSet<_>>().len();
        let rate = KEYS / keys as f64;
        for &seed in &setting.seeds {
            for k in KS {
                let full = curve(&load, Params { k, seed, ..Params::default() });
                let sample = (rate < 1.0)
                    .then(|| curve(&load, Params { k, seed, rate, ..Params::default() }));
                let (mut misses, mut errors) = (0.0, [0.0; 2]);
                for at in 1..=sizes {
                    let size = load.share(f64::from(at) / f64::from(sizes + 1));
                    let real = load.play(&format!("klru:k={k}"), size, seed)?.miss_ratio();
                    misses += real;
                    errors[0] += (full.at(size).0 - real).abs();
                    errors[1] += sample.as_ref().map_or(0.0, |s| (s.at(size).0 - real).abs());
                }
                let mean = |sum: f64| sum / f64::from(sizes);
                let mut figures = vec![("miss_ratio", mean(misses)), ("error", mean(errors[0]))];
                figures.extend(sample.is_some().then(|| ("error_of_sample", mean(errors[1]))));
                findings.cell(&format!("k={k}"), &name, seed, &figures);
            }
        }
    }
    let of = |figure| {
        let means = KS.map(|k| findings.mean(&format!("k={k}"), None, figure));
        let text: Vec<_> = means.iter().map(|mean| format!("{mean:.4}")).collect();
        text.join(", ")
    };
    let (full, sample) = (of("error"), of("error_of_sample"));
    findings.claim("error, K = 1 to 32", full, "0.0008 (MSR), 0.00025 (Twitter)");
    findings.claim("error of a sample", sample, "0.0014, 0.0021");
    Ok(())
}

/// KRR's curve of a load.
pub(super) fn curve(load: &Load, params: Params) -> MissRatioCurve {
    draw(&krr::SPEC, load.requests.iter(), &Params { sizes: vec![Bytes(1)], ..params })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On independent requests, the model's error is below 0.4 percentage points, at small and at
    /// larger K.
    #[test]
    fn the_model_is_near_the_simulation() {
        let text = "synth:zipf:keys=5000:skew=0.8:requests=60000:size=const/100";
        let load = Load::paced(text, None, PENALTY).unwrap();
        for k in [1, 5] {
            let curve = curve(&load, Params { k, ..Params::default() });
            let size = load.share(0.3);
            let real = load.play(&format!("klru:k={k}"), size, 1).unwrap().miss_ratio();
            assert!((curve.at(size).0 - real).abs() < 0.004, "{k}: {} {real}", curve.at(size).0);
        }
    }
}
