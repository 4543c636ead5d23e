//! The command on synthetic traces, with several rates, seeds, intervals and parts.

use super::answer::CurveOutput;
use super::args::{Draw, MergeArgs};
use super::command::answers;
use super::parts;
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Draw,
}

fn ask(flags: &str) -> Vec<CurveOutput> {
    let trace = "synth:zipf:keys=20000:requests=120000:skew=0.8:size=const/100";
    let line = ["curve", trace].into_iter().chain(flags.split_whitespace());
    answers(&Line::parse_from(line).args).unwrap()
}

/// Each seed draws a sample of its own. Where all keys are watched there is one answer, and its
/// error is small.
#[test]
fn every_seed_draws_its_own_sample() {
    let all = ask("--model krr --k 2 --rate 1,0.5 --seed 1,2,3 --sizes 8 --against exact");
    let rates: Vec<f64> = all.iter().map(|answer| answer.rate).collect();
    assert_eq!(rates, [1.0, 0.5, 0.5, 0.5]);
    let errors: Vec<f64> = all.iter().map(|answer| answer.mae.unwrap()).collect();
    assert!(errors[0] < 0.004 && errors.iter().all(|&error| error < 0.015), "{errors:?}");
    assert!(errors[1] != errors[2] && errors[2] != errors[3], "{errors:?}");
}

/// An exact model is exact in each interval, and caches stay warm from one interval to the next. A
/// miniature simulation at rate 1 is the full simulation.
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

/// The curve of a loop is a plateau until the loop fits, and its hull is a straight line to that
/// size. Reading the trace once gives the same curve as reading it twice.
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

/// With values of 40 %, the loop fits 40 % of its plain bytes, read once or twice.
#[test]
fn compressed_values_need_less_memory() {
    for more in ["", " --rate auto"] {
        let trace = "synth:loop:keys=1000:requests=40000:size=const/100";
        let flags = format!("curve {trace} --model olken --sizes 10 --compress-ratio 0.4{more}");
        let answer = &answers(&Line::parse_from(flags.split(' ')).args).unwrap()[0];
        assert_eq!((answer.footprint, answer.compress_ratio), (100_000, Some(0.4)));
        let at = |size| answer.points.iter().find(|point| point.0 == size).unwrap().1;
        assert!(at(30_000) == 1.0 && at(40_000) < 0.03, "{:?}", answer.points);
    }
    for (flags, why) in [
        ("--compress-ratio 0", "such as 0.4"),
        ("--compress-ratio 0.4 --ignore-size", "--ignore-size"),
        ("--compress-ratio 0.4 --state counts", "--state"),
    ] {
        let line = format!("curve synth:zipf {flags}");
        let error = Line::try_parse_from(line.split(' ')).err().unwrap().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[derive(Parser)]
struct MergeLine {
    #[command(flatten)]
    args: MergeArgs,
}

fn counted(folder: &std::path::Path, flags: &str, name: &str) -> String {
    let file = folder.join(name).to_str().unwrap().to_owned();
    ask(&format!("--sizes 8 {flags} --state {file}"));
    file
}

/// Counts of parts, merged from files, give the curve of a single process. Files that do not belong
/// together are refused.
#[test]
fn parts_are_merged_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |at: u32, of: u32, more: &str| {
        let flags = format!("--model krr,shards --part {at}/{of} {more}");
        counted(folder.path(), &flags, &format!("{at}-{of}{}", more.len()))
    };
    let merge = |files: &[&String], more: &str| {
        let files = files.iter().map(|file| file.as_str());
        let line = ["merge"].into_iter().chain(files).chain(more.split_whitespace());
        parts::merged(&MergeLine::parse_from(line).args)
    };
    let all = [file(3, 3, ""), file(1, 3, ""), file(2, 3, "")];
    let whole = ask("--model krr,shards --sizes 8");
    let (title, merged) = merge(&[&all[0], &all[1], &all[2]], "--sizes 8").unwrap();
    assert!(title.ends_with("in 3 parts"), "{title}");
    for (whole, merged) in whole.iter().zip(&merged) {
        assert_eq!((whole.model, whole.k, merged.rate), (merged.model, merged.k, 1.0));
        assert_eq!(whole.requests, merged.requests);
        for (whole, merged) in whole.points.iter().zip(&merged.points) {
            assert!((whole.1 - merged.1).abs() < 0.004, "{whole:?} {merged:?}");
        }
    }
    // A sum is merged again.
    let sum = folder.path().join("sum").to_str().unwrap().to_owned();
    merge(&[&all[0], &all[1]], &format!("--state {sum}")).unwrap();
    assert_eq!(merge(&[&sum, &all[2]], "--sizes 8").unwrap().1[0].points, merged[0].points);
    let other = file(1, 4, "");
    let sampled = file(2, 3, "--rate 0.5");
    std::fs::write(folder.path().join("torn"), &std::fs::read(&sum).unwrap()[..5_000]).unwrap();
    let torn = folder.path().join("torn").to_str().unwrap().to_owned();
    for (files, why) in [
        (&[&all[0], &all[0]], "once"),
        (&[&all[0], &other], "of 4 parts"),
        (&[&all[0], &sampled], "other models"),
        (&[&all[0], &torn], "damaged"),
    ] {
        let error = format!("{:#}", merge(files, "").unwrap_err());
        assert!(error.contains(why), "{error}");
    }
}

/// A sample gives the curve of the whole trace at the sample's rate: keys and clock are the same.
#[test]
fn a_sample_says_what_it_was_taken_from() {
    let folder = tempfile::tempdir().unwrap();
    let sample = folder.path().join("s.compact").to_str().unwrap().to_owned();
    let trace = "synth:zipf:keys=20000:requests=120000:skew=0.8:size=const/100";
    crate::trace_command::sample_for_tests(trace, &sample, 0.5);
    let flags = "--model krr,aet,kaet,shards --sizes 8";
    let whole = ask(&format!("{flags} --rate 0.5"));
    let line = ["curve", &sample].into_iter().chain(flags.split_whitespace());
    let sampled = answers(&Line::parse_from(line).args).unwrap();
    for (whole, sampled) in whole.iter().zip(&sampled) {
        assert_eq!((whole.requests, whole.reads), (sampled.requests, sampled.reads));
        assert!((sampled.rate - 0.5).abs() < 1e-9);
        assert!(sampled.keys.abs_diff(whole.keys) < 600, "{} {}", sampled.keys, whole.keys);
        for ((_, whole), (_, ratio)) in whole.points.iter().zip(&sampled.points) {
            assert!((whole - ratio).abs() < 0.01, "{}: {whole} {ratio}", sampled.model);
        }
    }
}
