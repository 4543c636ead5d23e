//! The result of the two runs: one JSON document, or a table, a picture and a verdict.
//!
//! The verdict uses *counts*: misses, times the stated cost of a miss of the tenant. Neighbours on
//! the machine can make every request slow, and one run slower than the other, but they cannot
//! change the number of misses. The *measured times* stand beside it.

use super::workload::DemoTenant;
use load::{Latency, Report};
use report::draw::Format;
use serde::Serialize;
use std::fmt;
use std::fmt::Write as _;

/// The timing is doubted where hits of one run took this many times longer than hits of the other.
const HITS_ALIKE: f64 = 1.25;

/// A tenant gave or gained memory if its two amounts differ by this share of the plain run's
/// memory.
const MOVED: f64 = 0.02;

/// Characters of the longest bar.
const BAR: f64 = 44.0;

/// Two waits that differ by less than this share are reported as the same.
const SAME: f64 = 0.005;

/// The demo's answer.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DemoOutput {
    /// The seed, which reproduces the requests.
    pub(super) seed: u64,
    /// The plain cache.
    pub(super) r#static: DemoRun,
    /// The tuned one.
    pub(super) auto: DemoRun,
}

/// One run: counts and times after the warm-up.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DemoRun {
    requests: u64,
    miss_ratio: f64,
    /// Seconds of waiting: misses times the stated cost of each, over all tenants.
    waited_s: f64,
    latency_us: Latency,
    /// Median time of a hit.
    hit_us: f64,
    tenants: Vec<TenantRun>,
}

/// One tenant of a run.
#[derive(Clone, Debug, Serialize)]
struct TenantRun {
    name: String,
    requests: u64,
    gets: u64,
    misses: u64,
    miss_ratio: f64,
    /// The stated cost of a miss.
    penalty_us: f64,
    waited_s: f64,
    mean_us: f64,
    /// Memory at the end.
    bytes: u64,
}

/// The memory of a tenant in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holding {
    /// Bytes that the tenant uses.
    pub(super) bytes: u64,
}

impl DemoRun {
    /// Makes a run from the report of a replay, the tenants with their penalties, and the final
    /// holding of each tenant.
    pub(super) fn new(report: &Report, tenants: &[DemoTenant], holdings: &[Holding]) -> Self {
        let known = report.tenants.iter().zip(tenants).zip(holdings);
        let tenants: Vec<_> = known
            .map(|((tenant, of), holding)| TenantRun {
                name: tenant.name.clone(),
                requests: tenant.requests,
                gets: tenant.gets,
                misses: tenant.misses,
                miss_ratio: tenant.miss_ratio,
                penalty_us: of.penalty.as_secs_f64() * 1e6,
                waited_s: tenant.misses as f64 * of.penalty.as_secs_f64(),
                mean_us: tenant.latency_us.mean,
                bytes: holding.bytes,
            })
            .collect();
        Self {
            requests: report.requests,
            miss_ratio: report.miss_ratio,
            waited_s: tenants.iter().map(|tenant| tenant.waited_s).sum(),
            latency_us: report.latency_us,
            hit_us: report.hit_us,
            tenants,
        }
    }

    fn bytes(&self) -> u64 {
        self.tenants.iter().map(|tenant| tenant.bytes).sum()
    }
}

/// The saving of the second number over the first, in words.
fn less(before: f64, after: f64) -> String {
    let saved = 1.0 - after / before.max(f64::MIN_POSITIVE);
    match saved.abs() {
        same if same < SAME => "the same".to_owned(),
        share => format!("{:.1} % {}", 100.0 * share, if saved > 0.0 { "less" } else { "more" }),
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// A line of the table.
fn line(f: &mut fmt::Formatter<'_>, name: &str, cells: [&str; 8]) -> fmt::Result {
    let short: String = name.chars().take(12).collect();
    let [costs, reads, a, b, c, d, e, g] = cells;
    writeln!(f, "{short:<12} {costs:>7} {reads:>8} {a:>7} {b:>6} {c:>8} {d:>8} {e:>7} {g:>6}")
}

impl DemoOutput {
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, "", ["", "", "missed", "%", "waited", "s", "memory", "MiB"])?;
        let runs = ["static", "auto", "static", "auto", "static", "auto"];
        let [a, b, c, d, e, g] = runs;
        line(f, "tenant", ["costs", "reads", a, b, c, d, e, g])?;
        for (plain, tuned) in self.r#static.tenants.iter().zip(&self.auto.tenants) {
            let missed = |run: &TenantRun| format!("{:.1}", 100.0 * run.miss_ratio);
            let waited = |run: &TenantRun| format!("{:.2}", run.waited_s);
            let costs = Format::Micros.show(plain.penalty_us);
            let [a, b] = [plain, tuned].map(missed);
            let [c, d] = [plain, tuned].map(waited);
            let [e, g] = [plain.bytes, tuned.bytes].map(mib);
            let cells = [&costs, &plain.gets.to_string(), &a, &b, &c, &d, &e, &g];
            line(f, &plain.name, cells.map(String::as_str))?;
        }
        let both = [&self.r#static, &self.auto];
        let [a, b] = both.map(|run| format!("{:.1}", 100.0 * run.miss_ratio));
        let [c, d] = both.map(|run| format!("{:.2}", run.waited_s));
        let [e, g] = both.map(|run| mib(run.bytes()));
        let gets: u64 = self.r#static.tenants.iter().map(|tenant| tenant.gets).sum();
        line(f, "all", ["", &gets.to_string(), &a, &b, &c, &d, &e, &g])?;
        writeln!(
            f,
            "\ncosts   the time that a miss of this tenant takes, set by its backend\nmissed  \
             reads that missed, in per cent\nwaited  misses times costs, from counts: a busy \
             machine does not change it\nmemory  the memory that the tenant held at the end"
        )
    }

    /// The tenants that have less memory in the tuned run, and the tenants that have more.
    fn moves(&self) -> Option<String> {
        let least = MOVED * self.r#static.bytes() as f64;
        let pairs = || self.r#static.tenants.iter().zip(&self.auto.tenants);
        let names = |sign: f64| -> Vec<String> {
            let moved = |(plain, tuned): (&TenantRun, &TenantRun)| {
                let more = tuned.bytes as f64 - plain.bytes as f64;
                (sign * more >= least).then(|| format!("{} ({:+.1})", plain.name, more / MIB))
            };
            pairs().filter_map(moved).collect()
        };
        let (gained, gave) = (names(1.0), names(-1.0));
        (!gained.is_empty() && !gave.is_empty()).then(|| {
            format!("Memory moved from {} to {}, in MiB.", gave.join(", "), gained.join(", "))
        })
    }

    fn picture(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.r#static.waited_s.max(self.auto.waited_s).max(f64::MIN_POSITIVE);
        for (name, run) in [("static", &self.r#static), ("auto", &self.auto)] {
            let bar = "█".repeat((BAR * run.waited_s / most).round() as usize);
            writeln!(f, "waited for misses  {name:<6} {bar} {:.1} s", run.waited_s)?;
        }
        Ok(())
    }

    fn verdict(&self) -> String {
        let (plain, tuned) = (&self.r#static, &self.auto);
        let us = |value: f64| Format::Micros.show(value);
        let mut text = format!(
            "With the same memory and the same requests, clients wait {:.1} s for misses with \
             recipe auto and {:.1} s with a plain cache: {}.",
            tuned.waited_s,
            plain.waited_s,
            less(plain.waited_s, tuned.waited_s)
        );
        let _ = write!(
            text,
            " On this machine a request took {} on average instead of {}: {}.",
            us(tuned.latency_us.mean),
            us(plain.latency_us.mean),
            less(plain.latency_us.mean, tuned.latency_us.mean)
        );
        let (fast, slow) = (plain.hit_us.min(tuned.hit_us), plain.hit_us.max(tuned.hit_us));
        if slow > HITS_ALIKE * fast {
            let _ = write!(
                text,
                " But the median hit took {} with recipe auto and {} with the plain cache: \
                 something else kept the machine busy during one of the runs, so trust the counts.",
                us(tuned.hit_us),
                us(plain.hit_us)
            );
        }
        text
    }
}

const MIB: f64 = (1 << 20) as f64;

impl fmt::Display for DemoOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table(f)?;
        writeln!(f)?;
        self.picture(f)?;
        writeln!(f)?;
        if let Some(moves) = self.moves() {
            writeln!(f, "{}", wrapped(&moves))?;
        }
        writeln!(f, "{}\n", wrapped(&self.verdict()))?;
        write!(f, "Next, with your own requests: larder demo --trace FILE [--trace FILE ...]")
    }
}

/// Wraps the text into lines of at most 80 characters.
pub(super) fn wrapped(text: &str) -> String {
    const WIDTH: usize = 80;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_owned());
        } else {
            *line += if line.is_empty() { "" } else { " " };
            *line += word;
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run in which `misses` of ten thousand reads found nothing, with these times.
    fn run(misses: u64, mean: f64, hit_us: f64, bytes: [u64; 2]) -> DemoRun {
        let latency_us = Latency { mean, p50: 80.0, p99: 5_000.0, p999: 9_000.0, p9999: 9_900.0 };
        let tenant = |(name, bytes): (&str, u64)| TenantRun {
            name: name.to_owned(),
            requests: 12_000,
            gets: 10_000,
            misses,
            miss_ratio: misses as f64 / 1e4,
            penalty_us: 2_000.0,
            waited_s: misses as f64 * 0.002,
            mean_us: mean,
            bytes,
        };
        let names = ["web", "a tenant whose name is longer than any column"];
        DemoRun {
            requests: 24_000,
            miss_ratio: misses as f64 / 1e4,
            waited_s: misses as f64 * 0.004,
            latency_us,
            hit_us,
            tenants: names.into_iter().zip(bytes).map(tenant).collect(),
        }
    }

    fn answer(plain: DemoRun, tuned: DemoRun) -> DemoOutput {
        DemoOutput { seed: 3, r#static: plain, auto: tuned }
    }

    const EVEN: [u64; 2] = [4 << 20, 4 << 20];

    /// Programs read this document, so its keys are stable.
    #[test]
    fn the_json_has_the_documented_keys() {
        let answer = answer(run(2_500, 400.0, 60.0, EVEN), run(2_000, 300.0, 60.0, EVEN));
        let value = serde_json::to_value(&answer).unwrap();
        let keys = |value: &serde_json::Value| {
            value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(keys(&value), "auto seed static");
        assert_eq!(
            keys(&value["static"]),
            "hit_us latency_us miss_ratio requests tenants waited_s"
        );
        assert_eq!(keys(&value["static"]["latency_us"]), "mean p50 p99 p999 p9999");
        let tenant = &value["auto"]["tenants"][0];
        assert_eq!(
            keys(tenant),
            "bytes gets mean_us miss_ratio misses name penalty_us requests waited_s"
        );
    }

    /// The verdict says a fifth less waiting, whatever the clock says, and doubts the clock where
    /// hits differ.
    #[test]
    fn the_verdict_is_of_what_was_counted() {
        let text = |mean, hit_us| {
            let tuned = run(2_000, mean, hit_us, EVEN);
            answer(run(2_500, 400.0, 60.0, EVEN), tuned).to_string().replace('\n', " ")
        };
        let calm = text(320.0, 62.0);
        assert!(calm.contains(
            "8.0 s for misses with recipe auto and 10.0 s with a plain cache: 20.0 % less"
        ));
        assert!(calm.contains("320 µs on average instead of 400 µs: 20.0 % less"), "{calm}");
        assert!(!calm.contains("trust"), "{calm}");
        let busy = text(900.0, 200.0);
        assert!(busy.contains("20.0 % less") && busy.contains("125.0 % more"), "{busy}");
        assert!(busy.contains("median hit took 200 µs") && busy.contains("trust the counts"));
        let worse = answer(run(2_000, 300.0, 60.0, EVEN), run(2_200, 330.0, 60.0, EVEN));
        assert!(worse.to_string().contains("10.0 % more"), "{worse}");
    }

    #[test]
    fn it_says_who_gave_and_who_gained() {
        let still = answer(run(9, 1.0, 1.0, EVEN), run(9, 1.0, 1.0, EVEN));
        assert!(still.moves().is_none());
        let moved = answer(run(9, 1.0, 1.0, EVEN), run(9, 1.0, 1.0, [6 << 20, 2 << 20]));
        let text = moved.moves().unwrap();
        assert!(text.contains("from a tenant") && text.contains("to web (+2.0)"), "{text}");
    }

    /// A terminal of 80 columns shows all of it, with a line for each column.
    #[test]
    fn it_fits_a_terminal() {
        let plain = run(9_999, 987_654.0, 60.0, [1 << 30, 1 << 30]);
        let text = answer(plain, run(2_000, 1.0, 1.0, EVEN)).to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for column in ["costs", "missed", "waited", "memory"] {
            assert!(text.lines().any(|line| line.starts_with(column)), "{column}");
        }
        assert!(text.contains("larder demo --trace"), "{text}");
    }
}
