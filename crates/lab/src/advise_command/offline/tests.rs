//! Advice on loads that each have exactly one thing to improve.

use super::args::Args;
use super::command::advise;
use super::play::Cache;
use super::verdict::Advice;
use super::{load, page};
use base::Bytes;
use clap::Parser;

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

fn advice(words: &[&str]) -> anyhow::Result<Advice> {
    let words = ["advise"].iter().chain(words);
    let args = Cli::try_parse_from(words)?.args;
    let load = load::read(&args)?;
    advise(&load, args.seed)
}

const MIX: &str = "synth:mix:requests=60000:zipf:keys=8000:size=const/400+zipf:keys=8000:\
                   skew=0.8:size=const/400";

/// The second tenant's misses cost twenty times as much, and a shared cache does not know.
#[test]
fn dear_misses_are_found_and_paid_for() {
    let penalties = ["--penalty", "1=0.5ms", "--penalty", "2=10ms"];
    let advice =
        advice(&[&["--from", MIX, "--memory", "1500kb"], &penalties[..]].concat()).unwrap();
    let Some(division) = advice.division else { panic!("two tenants") };
    assert!(advice.larder.low > 0.0 && advice.larder.share > 0.05, "{advice:?}");
    assert!(division.share > 0.03 && advice.larder.share > division.share, "{advice:?}");
    assert!(advice.tenants[1].divided_bytes > 2 * advice.tenants[0].divided_bytes, "{advice:?}");
    let text = advice.to_string();
    assert!(text.starts_with("Larder would make the clients wait"), "{text}");
    assert!(text.contains("A miss of 2 costs 10 ms, and a miss of 1 500 µs"), "{text}");
    assert!(text.contains("larder serve --maxmemory 2mb"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let html = page::page(&advice).to_string();
    assert!(html.contains("Assumptions") && html.contains("<svg"), "{html}");
    let json = serde_json::to_value(&advice).unwrap();
    assert!(json["larder"]["low"].is_number() && json["points"].as_array().unwrap().len() == 21);
}

/// Neither a memory that holds everything nor a stream without reuse leaves anything to gain.
#[test]
fn nothing_to_gain_is_said() {
    let fits = advice(&["--from", MIX, "--memory", "64mb", "--penalty", "1ms"]).unwrap();
    let text = fits.to_string();
    assert!(text.starts_with("This capture shows nothing to gain"), "{text}");
    assert!(text.contains("Capture longer") && text.contains("--window all"), "{text}");
    let scan = "synth:loop:keys=100000:size=const/400:requests=60000";
    let scan = advice(&["--from", scan, "--memory", "1mb", "--penalty", "1ms"]).unwrap();
    let text = scan.to_string();
    assert!(text.starts_with("Nothing to gain: in 1 MiB"), "{text}");
    assert!(text.contains("100 % of the reads are the first of their key"), "{text}");
    assert!(scan.division.is_none() && scan.commands().is_empty());
}

/// More memory gives less waiting in every cache, and the curve ends where everything fits.
#[test]
fn waiting_falls_with_memory() {
    let advice = advice(&["--from", MIX, "--memory", "1mb", "--penalty", "1ms"]).unwrap();
    for cache in Cache::ALL {
        let points: Vec<_> = advice.points.iter().filter(|point| point.cache == cache).collect();
        assert!(points.is_sorted_by_key(|point| point.memory));
        let waits: Vec<_> = points.iter().map(|point| point.waiting_ms_per_s).collect();
        assert!(waits.windows(2).all(|two| two[1] < 1.02 * two[0]), "{cache:?} {waits:?}");
    }
    assert!(advice.twice.low > 0.1 && advice.three_quarters.high < 0.0, "{advice:?}");
}

#[test]
fn errors_name_the_fix_and_what_nobody_says_is_marked() {
    for (words, fix) in [
        (vec!["--from", MIX], "--memory 512mb"),
        (vec!["--from", MIX, "--memory", "1mb", "--penalty", "web=1ms"], "the tenants are 1, 2"),
        (vec!["--from", "synth:zipf:requests=50", "--memory", "1mb"], "too few"),
    ] {
        let error = advice(&words).unwrap_err().to_string();
        assert!(error.contains(fix), "{error}");
    }
    let plain = advice(&["--from", MIX, "--memory", "1mb"]).unwrap();
    let text = plain.assumptions.join("\n");
    assert!(
        text.contains("The cost of a miss of 1, 2 is not known: Larder takes 1.00 ms"),
        "{text}"
    );
    let one = advice(&["--from", MIX, "--memory", "1mb", "--penalty", "2=4ms"]).unwrap();
    assert!(one.assumptions.join("\n").contains("a miss of 1 is not known"), "{one:?}");
    assert_eq!(one.memory, Bytes::parse("1mb").unwrap().0);
}
