//! Measures the cost of an access to each model, and of a curve of the age models. Accesses come
//! from memory as fast as models take them: the time to read a trace is not included.
//!
//! Run `cargo run --release -p curve --example speed`, or with `curves` at the end for the curves
//! alone. The last figures are in `docs/results/curves.md`.

use base::{Access, Prng};
use curve::kaet::Kaet;
use curve::{Model, Params};
use std::time::Instant;

const REQUESTS: usize = 4_000_000;
const KEYS: u64 = 1_000_000;

/// Keys whose popularity falls as a power of the rank, with sizes from 1 to 1000 bytes.
fn trace() -> Vec<Access> {
    let mut prng = Prng::new(1);
    (0..REQUESTS)
        .map(|_| {
            let rank = (KEYS as f64).powf(prng.unit()) as u64;
            let key = base::hash::mix(rank);
            Access::get(key, 1 + (base::hash::mix(key) % 1_000) as u32)
        })
        .collect()
}

/// Seconds of the fastest of three runs, because the machine may be busy, and the model after that
/// run.
fn run(name: &str, params: &Params, trace: &[Access]) -> (f64, Box<dyn Model>) {
    let spec = curve::find(name).unwrap_or_else(|error| panic!("{error}"));
    let mut best = (f64::INFINITY, (spec.build)(params));
    for _ in 0..3 {
        let mut model = (spec.build)(params);
        let start = Instant::now();
        model.accesses(trace);
        let seconds = start.elapsed().as_secs_f64();
        if seconds < best.0 {
            best = (seconds, model);
        }
    }
    best
}

fn main() {
    let trace = trace();
    if std::env::args().nth(1).as_deref() != Some("curves") {
        accesses(&trace);
    }
    curves(&trace);
}

/// Prints the cost of an access by model, rate and K.
fn accesses(trace: &[Access]) {
    println!("| model | rate | K | million requests/s | ns by sampled access | memory |");
    println!("|---|--:|--:|--:|--:|--:|");
    for rate in [0.001, 0.01, 0.1] {
        let filter = base::Filter::with_rate(rate);
        let sampled = trace.iter().filter(|access| filter.keeps(access.key)).count();
        for (name, ks) in [
            ("shards", &[1][..]),
            ("eaet", &[1]),
            ("footprint", &[1]),
            ("kaet", &[1]),
            ("krr", &[1, 5, 8, 16]),
        ] {
            for &k in ks {
                let params = Params { k, rate, ..Params::default() };
                let (seconds, model) = run(name, &params, trace);
                println!(
                    "| {name} | {rate} | {k} | {:.1} | {:.0} | {} |",
                    REQUESTS as f64 / seconds / 1e6,
                    seconds * 1e9 / sampled as f64,
                    model.bytes()
                );
            }
        }
    }
    println!();
}

/// Prints the time to compute curves of K-AET.
fn curves(trace: &[Access]) {
    let mut kaet = Kaet::new(&Params { rate: 0.01, ..Params::default() });
    for access in trace {
        kaet.access(access);
    }
    // With one candidate there is nothing to pool.
    let plain = [1, 2, 5, 10, 16].map(|k| (k, false));
    let pooled = [2, 5, 10, 16].map(|k| (k, true));
    let fastest = |laws: &[(u32, bool)]| {
        let mut times = [0.0; 5];
        let mut points = 0;
        for time in &mut times {
            let start = Instant::now();
            points = kaet.curves(laws).iter().map(|curve| curve.points().len()).sum();
            *time = start.elapsed().as_secs_f64() * 1e3;
        }
        times.sort_by(f64::total_cmp);
        println!("{laws:?}: {points} points, {:.1} ms, median {:.1}", times[0], times[2]);
    };
    println!("kaet, (K, pool): curves from one histogram, the fastest of five");
    for law in plain.iter().chain(&pooled) {
        fastest(&[*law]);
    }
    fastest(&[plain.as_slice(), &pooled].concat());
}
