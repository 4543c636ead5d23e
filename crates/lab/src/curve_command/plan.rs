//! The models to run, with their parameters.

use super::args::Draw;
use super::run::ModelRun;
use super::survey::Survey;
use anyhow::{anyhow, bail};
use base::Bytes;
use curve::{Choice, Params, Part, Spec};
use trace::Sample;

/// Minimum number of sampled keys for a trustworthy curve. `--rate auto` aims at `KEYS_GOAL`, which
/// leaves a margin for chance.
const KEYS_MIN: u64 = 8_192;
const KEYS_GOAL: f64 = 8_500.0;

/// One run for each model and each K or policy it depends on, and one oracle for each policy.
pub(super) fn plan(
    args: &Draw,
    survey: Option<&Survey>,
    sample: Option<Sample>,
    sizes: &[Bytes],
) -> anyhow::Result<Vec<ModelRun>> {
    let base = Params {
        pool: args.pool,
        keys_max: args.keys_max.map_or(usize::MAX, |keys| keys as usize),
        sizes: sizes.to_vec(),
        part: args.part.unwrap_or(Part::WHOLE),
        ..Params::default()
    };
    let policies = args.policy.iter().map(|text| policy::parse(text).map_err(|e| anyhow!(e)));
    let policies: Vec<Choice> = policies.collect::<Result<_, _>>()?;
    let rates: Vec<f64> = match sample {
        Some(sample) => vec![sample.rate],
        None => args.rate.iter().map(|text| rate(text, survey)).collect::<anyhow::Result<_>>()?,
    };
    if let Some(survey) = survey {
        warn(rates.iter().copied(), survey);
    }
    let mut runs = vec![];
    for name in &args.model {
        let spec = curve::find(name).map_err(|error| anyhow!(error))?;
        for params in variants(spec, &base, &args.k, &policies) {
            for &rate in &rates {
                // The seed chooses the sample, so a further seed adds nothing where all keys are
                // watched.
                let is_sample = rate < 1.0 || args.keys_max.is_some();
                let seeds = if is_sample { &args.seed[..] } else { &args.seed[..1] };
                for &seed in seeds {
                    let params = Params { rate, seed, ..params.clone() };
                    runs.push(ModelRun::new(spec, params, args.bands, true));
                }
            }
        }
    }
    if let Some(name) = &args.against {
        let spec = curve::find(name).map_err(|error| anyhow!(error))?;
        for at in 0..runs.len() {
            let wanted = runs[at].predicts();
            let known = runs.iter().position(|run| !run.wanted && run.predicts() == wanted);
            let oracle = known.unwrap_or(runs.len());
            if oracle == runs.len() {
                let policy = Some((runs[at].spec.predicts)(&runs[at].params));
                let params = runs[at].params.clone();
                // The oracle takes another seed, or a simulator would confirm itself.
                let seed = !params.seed;
                let keys_max = usize::MAX;
                let params = Params { policy, rate: 1.0, keys_max, seed, ..params };
                let oracle = ModelRun::new(spec, params, false, false);
                runs.push(ModelRun { seed: runs[at].seed, ..oracle });
            }
            runs[at].oracle = Some(oracle);
        }
    }
    Ok(runs)
}

/// One set of parameters for each value that makes a difference to the model.
fn variants(spec: &Spec, base: &Params, ks: &[u32], policies: &[Choice]) -> Vec<Params> {
    if runs_caches(spec) && !policies.is_empty() {
        let with = |policy: &Choice| Params { policy: Some(policy.clone()), ..base.clone() };
        return policies.iter().map(with).collect();
    }
    if !depends_on_k(spec) {
        return vec![base.clone()];
    }
    ks.iter().map(|&k| Params { k, ..base.clone() }).collect()
}

/// Whether the model simulates any policy it is given.
pub(super) fn runs_caches(spec: &Spec) -> bool {
    let lru = policy::parse("lru").ok();
    (spec.predicts)(&Params { policy: lru, k: 2, ..Params::default() }).to_string() == "lru"
        && depends_on_k(spec)
}

/// Whether the model is one of K-LRU.
pub(super) fn depends_on_k(spec: &Spec) -> bool {
    let of = |k| (spec.predicts)(&Params { k, ..Params::default() }).to_string();
    of(2) != of(3)
}

fn rate(text: &str, survey: Option<&Survey>) -> anyhow::Result<f64> {
    if let (Some(survey), "auto") = (survey, text) {
        return Ok((KEYS_GOAL / survey.keys.max(1) as f64).min(1.0));
    }
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1.0 => Ok(rate),
        _ => bail!("--rate {text}: write a number above 0 and at most 1, or auto"),
    }
}

/// Warns about each rate that watches too few keys.
pub(super) fn warn(rates: impl Iterator<Item = f64>, survey: &Survey) {
    let mut rates: Vec<f64> = rates.filter(|&rate| rate < 1.0).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    for rate in rates {
        let keys = rate * survey.keys as f64;
        if keys < KEYS_MIN as f64 {
            eprintln!(
                "larder: at rate {rate} the model watches about {keys:.0} keys; do not trust a \
                 curve from fewer than {KEYS_MIN}: use --rate auto"
            );
        }
    }
}
