//! The distance of the models from the simulator: the tables of `docs/results/curves.md`, made
//! anew.
//!
//! Every figure is the mean absolute error of `larder curve --against exact` at 40 sizes (20 for
//! the policies that only a simulation predicts, 8 for intervals). The oracle takes most of the
//! time: a cache for every size and policy sees every request. So a trace is cut after a given
//! number of requests, and each row states the number that it had.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The traces in two lists. The first list counts for the means; the second is reported separately.
const TRACES: [&str; 17] = [
    "twitter_c52_a",
    "arc_oltp",
    "tencent_blk_2706",
    "tencent_blk_3300",
    "tencent_blk_1326",
    "tencent_cbs_multi",
    "c2k_web07",
    "c2k_orm_busy",
    "cp_w106",
    "arc_p3",
    "adaptsize_req",
    "hp_ajw",
    "mooncake_synth",
    "dns_domains",
    "phases_dev",
    "mix_tenants_dev",
    "meta_bigcache",
];
const APART: [&str; 4] = ["lirs_loop", "lirs_2_pools", "lirs_multi1", "citibike"];

/// Candidates, without the pool and with it.
const PLAIN: [u64; 6] = [1, 2, 4, 8, 16, 32];
const POOLED: [u64; 3] = [2, 5, 16];
/// Seeds of the samples, because the error of a single one depends on its keys.
const SEEDS: &str = "1,2,3";
/// The fewest keys of a reliable sample.
const KEYS_MIN: f64 = 8_192.0;

const STACKS: &str = "--model krr,kaet --k 1,2,4,8,16,32 --rate 1,auto";
const POOLS: &str = "--model krr,kaet --k 2,5,16 --pool --rate 1,auto";
const LRU: &str = "--model shards,eaet,aet,footprint --rate 1,auto";
const BOUNDED: &str = "--model shards --keys-max 8192";
const POLICIES: &str = "--model miniature --policy lhd,hyperbolic,s3fifo --sizes 20 --rate auto";
/// DLRU's five K. At a rate of 5 % an interval has several hundred keys or more.
const INTERVALS: &str = "--model miniature --policy klru:1,klru:2,klru:4,klru:8,klru:16 --sizes 8 \
                         --interval 50000 --rate 0.05";

/// The results of all runs on one trace.
struct Row {
    name: &'static str,
    keys: f64,
    requests: u64,
    answers: Vec<Value>,
}

impl Row {
    /// The mean error over the samples, for the answers that fit.
    fn error(&self, sampled: bool, fits: impl Fn(&Value) -> bool) -> Option<f64> {
        let kept = |answer: &&Value| {
            let rate = answer["rate"].as_f64().unwrap_or(1.0);
            (rate < 1.0) == sampled && fits(answer)
        };
        let errors = self.answers.iter().filter(kept).filter_map(|answer| answer["mae"].as_f64());
        let errors: Vec<f64> = errors.collect();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    }
}

/// A column: its title, and the answers that it covers.
struct Column {
    title: String,
    sampled: bool,
    run: usize,
    model: &'static str,
    policy: Option<String>,
}

impl Column {
    fn of(&self, row: &Row) -> Option<f64> {
        row.error(self.sampled, |answer| {
            answer["run"] == self.run
                && answer["model"] == self.model
                && self.policy.as_ref().is_none_or(|policy| answer["policy"] == policy.as_str())
        })
    }
}

/// K-LRU as `larder` writes it: five candidates are the default and are left out.
fn klru(k: u64, pool: bool) -> String {
    let k = if k == 5 { String::new() } else { format!(":k={k}") };
    let pool = if pool { ":pool=16" } else { "" };
    format!("klru{k}{pool}")
}

/// Runs all models on the first `limit` requests of each trace in `folder`, and prints the tables.
pub(crate) fn run(folder: &Path, limit: u64) -> Result<()> {
    super::built::build(&["larder", "lab"])?;
    let start = Instant::now();
    let mut rows = vec![];
    for name in TRACES.iter().chain(&APART) {
        let path = folder.join(format!("{name}.csv.zst"));
        if !path.exists() {
            eprintln!("skipped: there is no {}", path.display());
            continue;
        }
        let mut row = Row { name, keys: 0.0, requests: 0, answers: vec![] };
        for (run, flags) in [STACKS, POOLS, LRU, BOUNDED, POLICIES, INTERVALS].iter().enumerate() {
            // A trace with fewer keys than two samples needs no sampling.
            if run >= 3 && row.keys < 2.0 * KEYS_MIN {
                continue;
            }
            for mut answer in larder(&path, limit, flags)? {
                row.keys = answer["keys"].as_f64().unwrap_or(0.0);
                row.requests = answer["requests"].as_u64().unwrap_or(0);
                answer["run"] = run.into();
                row.answers.push(answer);
            }
        }
        eprintln!("{:>6.0} s  {name}", start.elapsed().as_secs_f64());
        rows.push(row);
    }
    ensure!(!rows.is_empty(), "there is no trace in {}", folder.display());
    print(&rows);
    eprintln!("took {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn larder(trace: &Path, limit: u64, flags: &str) -> Result<Vec<Value>> {
    let output = Command::new(super::built::path("larder")?)
        .arg("curve")
        .arg(trace)
        .args(flags.split_whitespace())
        .args(["--limit", &limit.to_string(), "--seed", SEEDS, "--against", "exact", "--json"])
        .stderr(Stdio::null())
        .output()
        .context("could not start larder")?;
    ensure!(output.status.success(), "larder curve {} {flags} failed", trace.display());
    Ok(match serde_json::from_slice(&output.stdout)? {
        Value::Array(answers) => answers,
        answer => vec![answer],
    })
}

fn print(rows: &[Row]) {
    let candidates = |model: &'static str, sampled: bool| -> Vec<Column> {
        let plain = PLAIN.map(|k| (format!("K={k}"), 0, klru(k, false)));
        let pooled = POOLED.map(|k| (format!("K={k}, pool"), 1, klru(k, true)));
        let column =
            |(title, run, policy)| Column { title, sampled, run, model, policy: Some(policy) };
        plain.into_iter().chain(pooled).map(column).collect()
    };
    let lru = |sampled: bool| -> Vec<Column> {
        let column = |model: &'static str| Column {
            title: model.into(),
            sampled,
            run: 2,
            model,
            policy: None,
        };
        ["shards", "eaet", "aet", "footprint"].map(column).into()
    };
    for sampled in [false, true] {
        for model in ["krr", "kaet"] {
            let what = if sampled { "a sample of the keys" } else { "all keys watched" };
            table(&format!("`{model}`, {what}"), rows, &candidates(model, sampled));
        }
    }
    table("LRU, all keys watched", rows, &lru(false));
    let mut bounded = lru(true);
    let title = "shards, at most 8192 keys".into();
    bounded.push(Column { title, sampled: true, run: 3, model: "shards", policy: None });
    table("LRU, a sample of the keys", rows, &bounded);
    let miniature = |run: usize, policies: &[&str]| -> Vec<Column> {
        let column = |policy: &&str| Column {
            title: (*policy).into(),
            sampled: true,
            run,
            model: "miniature",
            policy: Some((*policy).into()),
        };
        policies.iter().map(column).collect()
    };
    table("Miniature simulation", rows, &miniature(4, &["lhd", "hyperbolic", "s3fifo"]));
    let five = [1, 2, 4, 8, 16].map(|k| klru(k, false));
    let five: Vec<&str> = five.iter().map(String::as_str).collect();
    table("Miniature simulation, each interval of 50 000 requests", rows, &miniature(5, &five));
}

/// Prints a table of errors, and the means over the traces that count.
fn table(title: &str, rows: &[Row], columns: &[Column]) {
    println!("## {title}\n");
    let titles: Vec<&str> = columns.iter().map(|column| column.title.as_str()).collect();
    println!("| trace | requests | {} |", titles.join(" | "));
    println!("|---|--:|{}", "--:|".repeat(columns.len()));
    let line = |head: String, errors: &[Option<f64>]| {
        let cell = |error: &Option<f64>| error.map_or("-".into(), |error| format!("{error:.4}"));
        let cells: Vec<String> = errors.iter().map(cell).collect();
        println!("| {head} | {} |", cells.join(" | "));
    };
    let mut counted: Vec<Vec<Option<f64>>> = vec![];
    for row in rows {
        let errors: Vec<Option<f64>> = columns.iter().map(|column| column.of(row)).collect();
        if errors.iter().any(Option::is_some) {
            line(format!("{} | {}", row.name, row.requests), &errors);
            if TRACES.contains(&row.name) {
                counted.push(errors);
            }
        }
    }
    let mean = |at: usize| {
        let errors: Vec<f64> = counted.iter().filter_map(|errors| errors[at]).collect();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    };
    let means: Vec<Option<f64>> = (0..columns.len()).map(mean).collect();
    line("**mean** | ".into(), &means);
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(answers: &[(&str, f64, f64)]) -> Row {
        let answer = |&(policy, rate, mae): &(&str, f64, f64)| {
            let mut answer = serde_json::json!({"model": "krr", "policy": policy, "run": 1});
            answer["rate"] = rate.into();
            answer["mae"] = mae.into();
            answer
        };
        let answers = answers.iter().map(answer).collect();
        Row { name: "trace", keys: 20_000.0, requests: 1, answers }
    }

    /// A cell is the mean over the samples of its own policy, and empty if there was no run.
    #[test]
    fn cells_are_means_over_samples() {
        let row = row(&[
            ("klru:pool=16", 1.0, 0.5),
            ("klru:pool=16", 0.1, 0.25),
            ("klru:pool=16", 0.1, 0.75),
            ("klru:k=2:pool=16", 0.1, 9.0),
        ]);
        let column = |k, sampled| {
            let policy = Some(klru(k, true));
            Column { title: String::new(), sampled, run: 1, model: "krr", policy }
        };
        assert_eq!(column(5, false).of(&row), Some(0.5));
        assert_eq!(column(5, true).of(&row), Some(0.5));
        assert_eq!(column(2, true).of(&row), Some(9.0));
        assert_eq!(column(16, true).of(&row), None);
    }
}
