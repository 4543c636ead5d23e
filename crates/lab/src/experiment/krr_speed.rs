//! Cost of a curve of K-LRU: KRR on a sample beside SHARDS on the same sample, KRR on all keys, and
//! simulations of K-LRU at several sizes [1].
//!
//! Times are CPU times of this thread, medians of rounds that take turns.
//!
//! [1] Yang, Wang, Wang. Efficient Modeling of Random Sampling-Based LRU. ICPP '21.

use super::dlru_fixed_k::PENALTY;
use super::dlru_overhead::cpu_ns;
use super::load::Load;
use super::{Experiment, Findings, Setting};
use anyhow::Result;
use base::Bytes;
use curve::{Params, krr, shards};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "krr-speed",
    about: "time of a curve of K-LRU: KRR compared with SHARDS and simulation",
    run,
};

const KS: [u32; 4] = [1, 5, 8, 16];
/// The published sampling rate.
const RATE: f64 = 0.001;
/// Number of sizes in a curve by simulation.
const SIZES: u32 = 40;
const ROUNDS: usize = 5;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let (keys, requests) = setting.pick((1_000_000, 4_000_000), (100_000, 400_000));
    for &seed in &setting.seeds {
        let text = format!(
            "synth:zipf:keys={keys}:skew=0.8:requests={requests}:size=const/200:seed={seed}"
        );
        let load = Load::paced(&text, None, PENALTY)?;
        let mut times: Vec<(String, Vec<f64>)> = vec![];
        let mut time = |row: String, ns: f64| {
            let known = times.iter().position(|(name, _)| *name == row);
            let at = known.unwrap_or_else(|| {
                times.push((row, vec![]));
                times.len() - 1
            });
            times[at].1.push(ns / f64::from(requests));
        };
        for round in 0..ROUNDS {
            time("shards R=0.001".to_owned(), model(&load, shards::SPEC, 5, RATE, seed)?);
            for k in KS {
                time(format!("krr k={k} R=0.001"), model(&load, krr::SPEC, k, RATE, seed)?);
            }
            // These runs take seconds and differ widely, so one round is enough.
            if round == 0 {
                for k in KS {
                    time(format!("krr k={k}"), model(&load, krr::SPEC, k, 1.0, seed)?);
                    let before = cpu_ns()?;
                    load.play(&format!("klru:k={k}"), load.share(0.5), seed)?;
                    let once = cpu_ns()? - before;
                    time(format!("simulation k={k}"), once * f64::from(SIZES));
                }
            }
        }
        for (row, mut values) in times {
            values.sort_by(f64::total_cmp);
            findings.cell(&row, "zipf", seed, &[("request_ns", values[values.len() / 2])]);
        }
    }
    let ns = |row: &str| findings.mean(row, None, "request_ns");
    let by_shards = KS.map(|k| ns(&format!("krr k={k} R=0.001")) / ns("shards R=0.001"));
    let by_simulation = KS.map(|k| ns(&format!("simulation k={k}")) / ns(&format!("krr k={k}")));
    let sampled = KS.map(|k| ns(&format!("simulation k={k}")) / ns(&format!("krr k={k} R=0.001")));
    let text = |values: [f64; 4], digits: usize| {
        values.map(|value| format!("{value:.digits$}")).join(", ")
    };
    let what = "time of KRR relative to SHARDS, R = 0.001, K = 1, 5, 8, 16";
    findings.claim(what, text(by_shards, 2), "1.14");
    let what = format!("time of simulating {SIZES} sizes relative to KRR, all keys");
    findings.claim(&what, text(by_simulation, 1), "");
    findings.claim(&format!("{what}, R = 0.001"), text(sampled, 0), "");
    Ok(())
}

fn model(load: &Load, spec: curve::Spec, k: u32, rate: f64, seed: u64) -> Result<f64> {
    let params = Params { k, rate, seed, sizes: vec![Bytes(1)], ..Params::default() };
    let mut model = (spec.build)(&params);
    let before = cpu_ns()?;
    for accesses in load.requests.chunks(1 << 12) {
        model.accesses(accesses);
    }
    // Drawing the curve is part of the measured time.
    let points = model.curve().points().len();
    let ns = cpu_ns()? - before;
    anyhow::ensure!(points > 0, "the model has no points");
    Ok(ns)
}
