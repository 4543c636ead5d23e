//! The command on traces that are made up: what several rates, seeds and intervals give.

use super::{Args, answers};
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn ask(flags: &str) -> Vec<super::Answer> {
    let trace = "synth:zipf:keys=20000:requests=120000:skew=0.8:size=const/100";
    let line = ["curve", trace].into_iter().chain(flags.split_whitespace());
    answers(&Line::parse_from(line).args).unwrap()
}

/// A seed is a sample of its own; where all keys are watched there is one answer, and it is near.
#[test]
fn every_seed_draws_its_own_sample() {
    let all = ask("--model krr --k 2 --rate 1,0.5 --seed 1,2,3 --sizes 8 --against exact");
    let rates: Vec<f64> = all.iter().map(|answer| answer.rate).collect();
    assert_eq!(rates, [1.0, 0.5, 0.5, 0.5]);
    let errors: Vec<f64> = all.iter().map(|answer| answer.mae.unwrap()).collect();
    assert!(errors[0] < 0.004 && errors.iter().all(|&error| error < 0.015), "{errors:?}");
    assert!(errors[1] != errors[2] && errors[2] != errors[3], "{errors:?}");
}

/// A model that is exact is so in each interval, caches stay warm from one to the next, and a
/// simulation at rate 1 is the simulation.
#[test]
fn intervals_are_compared_one_by_one() {
    let flags = "--policy lru --sizes 4 --against exact --model olken,miniature";
    let whole = ask(flags);
    let parts = ask(&format!("{flags} --interval 30000"));
    for (whole, parts) in whole.iter().zip(&parts) {
        assert!(parts.mae.unwrap() < 1e-3, "{} {:?}", parts.model, parts.mae);
        for (whole, part) in whole.points.iter().zip(&parts.points) {
            assert!((whole.1 - part.1).abs() < 2e-3, "{}: {whole:?} {part:?}", parts.model);
        }
    }
}

/// A loop is a plateau before it fits, its hull a straight line to where it does; and what is read
/// once says what is read twice.
#[test]
fn plateaus_and_hull_of_a_loop() {
    let line = |more: &str| {
        let trace = "synth:loop:keys=1000:requests=40000:size=const/100";
        let line = ["curve", trace, "--model", "olken", "--sizes", "10"].into_iter();
        answers(&Line::parse_from(line.chain(more.split_whitespace())).args).unwrap().remove(0)
    };
    let (once, twice) = (line(""), line("--rate auto"));
    assert_eq!((once.keys, once.footprint, &once.points), (1_000, 100_000, &twice.points));
    assert_eq!(once.plateaus, [(10_000, 90_000)]);
    assert_eq!(once.hull.len(), 2, "{:?}", once.hull);
    assert!(once.ns_per_sampled_access > 0.0);
}
