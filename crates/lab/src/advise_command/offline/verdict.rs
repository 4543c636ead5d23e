//! The advice in sentences: the answer first, then its reasons, then the commands to type.

use super::load::{Load, first_reads};
use super::play::{Cache, Played};
use crate::report::Table;
use crate::report::format::{Format, bytes};
use crate::wrapped::wrapped;
use base::Bytes;
use serde::Serialize;
use std::fmt;
use tune::Plan;

/// Minimum gain that is worth a change, as a share of the waiting.
const GAIN_MIN: f64 = 0.02;
/// Half the width of a band in standard errors: Student's t for eight parts, at 95 %.
const ERRORS: f64 = 2.36;
/// Tolerated difference between the miss ratios of the model and of the server in any case.
const APART: f64 = 0.03;
/// Ratio between the miss costs of two tenants from which on the advice mentions it.
const DEARER: f64 = 4.0;
/// Share of first reads above which the capture may be too short.
const SHORT: f64 = 0.2;
/// Maximum number of tenants in the text.
const SHOWN_MAX: usize = 12;

/// The saved share of the waiting, with its band. It is negative if the waiting grows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Gain {
    pub(super) share: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Gain {
    /// The saving of `other` against `base`. The band is a jackknife over eighths of the keys.
    pub(super) fn of(base: &Played, other: &Played) -> Self {
        let share = 1.0 - other.waited() / base.waited().max(1.0);
        let sum = |parts: &[f64]| parts.iter().sum::<f64>();
        let (all_base, all_other) = (sum(&base.parts), sum(&other.parts));
        let pairs = base.parts.iter().zip(&other.parts);
        let without: Vec<f64> =
            pairs.map(|(a, b)| (all_other - b) / (all_base - a).max(1.0)).collect();
        let n = without.len().max(2) as f64;
        let mean = without.iter().sum::<f64>() / n;
        let squares: f64 = without.iter().map(|ratio| (ratio - mean).powi(2)).sum();
        let error = ERRORS * (squares * (n - 1.0) / n).sqrt();
        Self { share, low: share - error, high: share + error }
    }

    /// Whether the gain is certain, and large enough to matter.
    fn is_worth(self) -> bool {
        self.low > 0.0 && self.share >= GAIN_MIN
    }

    fn is_loss(self) -> bool {
        self.high < 0.0 && self.share <= -GAIN_MIN
    }

    fn words(self) -> String {
        // A small negative share rounds to -0; adding 0 removes the sign.
        let percent = |share: f64| format!("{:.0}", (100.0 * share).round() + 0.0);
        if self.is_worth() {
            let (low, high) = (percent(self.low), percent(self.high));
            return format!("{} % less ({low} to {high} %)", percent(self.share));
        }
        if self.is_loss() {
            let (low, high) = (percent(-self.high), percent(-self.low));
            return format!("{} % more ({low} to {high} %)", percent(-self.share));
        }
        let (low, high) = (percent(-self.high), percent(-self.low));
        format!("no clear difference (between {low} and {high} % more)")
    }
}

/// Half the width of the band of the mean of these ratios.
fn band(ratios: &[f64]) -> f64 {
    let n = ratios.len() as f64;
    if n < 2.0 {
        return 0.0;
    }
    let mean = ratios.iter().sum::<f64>() / n;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    ERRORS * (squares / (n * (n - 1.0))).sqrt()
}

/// The forecasts for one tenant in the three caches.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TenantAdvice {
    pub(super) name: String,
    pub(super) reads_per_s: f64,
    pub(super) penalty_us: f64,
    pub(super) shared_miss_ratio: f64,
    pub(super) divided_miss_ratio: f64,
    pub(super) larder_miss_ratio: f64,
    pub(super) shared_bytes: u64,
    pub(super) divided_bytes: u64,
    pub(super) larder_bytes: u64,
}

/// A point of the curve of a cache over its memory.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Point {
    pub(super) cache: Cache,
    pub(super) memory: u64,
    /// Time waited for misses, in milliseconds per second.
    pub(super) waiting_ms_per_s: f64,
    pub(super) miss_ratio: f64,
}

/// The whole advice, as printed with `--json`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Advice {
    pub(super) from: String,
    pub(super) memory: u64,
    /// Bytes of the items of all requested keys in Larder.
    pub(super) footprint: u64,
    pub(super) seconds: f64,
    pub(super) requests: usize,
    pub(super) waiting_ms_per_s: f64,
    pub(super) larder: Gain,
    pub(super) division: Option<Gain>,
    pub(super) twice: Gain,
    pub(super) three_quarters: Gain,
    /// First reads of a key, as a share of the reads and of the waiting if all reads missed.
    pub(super) first_reads: (f64, f64),
    /// Miss ratio of the model of the present cache; the next field is the server's own.
    pub(super) miss_ratio: f64,
    pub(super) server_miss_ratio: Option<f64>,
    /// Half the width of the band of the model's miss ratio.
    pub(super) miss_band: f64,
    /// Bytes of the items of all requested keys in the watched server.
    pub(super) there: u64,
    /// Whether the server is full and evicts.
    pub(super) evicts: bool,
    pub(super) tenants: Vec<TenantAdvice>,
    pub(super) points: Vec<Point>,
    pub(super) assumptions: Vec<String>,
    #[serde(skip)]
    pub(super) rules: Vec<String>,
    pub(super) seed: u64,
}

impl Advice {
    pub(super) fn of(load: &Load, division: &Plan, played: &[Played], seed: u64) -> Self {
        let find = |cache, times| {
            let found = played.iter().find(|one| one.cache == cache && one.times == times);
            found.unwrap_or(&played[0])
        };
        // The counts cover the second half of the played share of the keys.
        let a_second = 1e-3 / (0.5 * load.seconds * load.share);
        let now = find(Cache::Shared, 1.0);
        let (divided, larder) = (find(Cache::Divided, 1.0), find(Cache::Larder, 1.0));
        let whole = |used: Bytes| (used.as_f64() / load.share) as u64;
        let tenants = load.names.iter().enumerate().map(|(at, name)| TenantAdvice {
            name: name.clone(),
            reads_per_s: now.counts[at].gets as f64 * 1e3 * a_second,
            penalty_us: load.penalties[at],
            shared_miss_ratio: now.counts[at].miss_ratio(),
            divided_miss_ratio: divided.counts[at].miss_ratio(),
            larder_miss_ratio: larder.counts[at].miss_ratio(),
            shared_bytes: whole(now.used[at]),
            divided_bytes: division.pools[at].budget.0,
            larder_bytes: whole(larder.used[at]),
        });
        let point = |one: &Played| Point {
            cache: one.cache,
            memory: (load.memory.as_f64() * one.times) as u64,
            waiting_ms_per_s: one.waited() * a_second,
            miss_ratio: one.miss_ratio(),
        };
        let mut assumptions = load.assumptions.clone();
        assumptions.push(
            "The simulation of the present cache evicts as Redis does with allkeys-lru, and \
             charges an item what Larder's store charges for it. The first half of the requests \
             fills the caches; only the second half is counted."
                .to_owned(),
        );
        Self {
            from: load.from.clone(),
            memory: load.memory.0,
            footprint: load.footprint.0,
            seconds: load.seconds,
            requests: load.accesses.len(),
            waiting_ms_per_s: now.waited() * a_second,
            larder: Gain::of(now, larder),
            division: (load.names.len() > 1).then(|| Gain::of(now, divided)),
            twice: Gain::of(now, find(Cache::Shared, 2.0)),
            three_quarters: Gain::of(now, find(Cache::Shared, 0.75)),
            first_reads: first_reads(load),
            miss_ratio: now.miss_ratio(),
            server_miss_ratio: load.missed,
            miss_band: band(&now.ratios).max(APART),
            there: (load.footprint.as_f64() * load.dearness) as u64,
            evicts: load.evicts,
            tenants: tenants.collect(),
            points: played.iter().map(point).collect(),
            assumptions,
            rules: load.rules.clone(),
            seed,
        }
    }

    /// Whether all requested keys fit: then no cache is better than another.
    pub(super) fn fits(&self) -> bool {
        self.there <= self.memory && !self.evicts
    }

    /// The answer, in one or two sentences.
    pub(super) fn answer(&self) -> String {
        if let Some(none) = self.no_verdict() {
            return none;
        }
        let memory = bytes(self.memory);
        let gains = [Some(self.larder), self.division, Some(self.twice)];
        if self.fits() {
            return format!(
                "This capture shows nothing to gain: all requested items take {} and fit into the \
                 {memory} of the cache. Capture longer to see more keys.",
                bytes(self.there)
            );
        }
        if !gains.into_iter().flatten().any(Gain::is_worth) {
            return format!(
                "Nothing to gain: in {memory} neither Larder nor fixed shares would clearly \
                 shorten the waiting of the clients, nor would twice the memory."
            );
        }
        if self.larder.is_worth() {
            return format!(
                "Larder would make the clients wait {} in the same {memory}.",
                self.larder.words()
            );
        }
        if self.twice.is_worth() {
            return format!(
                "More memory helps: with twice the {memory} the clients would wait {}. Larder in \
                 the same memory: {}.",
                self.twice.words(),
                self.larder.words()
            );
        }
        "Fixed shares for the tenants help, as the next lines show; Larder and more memory do not."
            .to_owned()
    }

    /// The alternatives, one line each.
    pub(super) fn alternatives(&self) -> Vec<String> {
        if self.no_verdict().is_some() {
            return vec![];
        }
        let mut all = vec![format!(
            "Now all clients together wait {:.0} ms per second for misses.",
            self.waiting_ms_per_s
        )];
        all.push(format!("Larder, in the same memory: {}.", self.larder.words()));
        if let Some(division) = self.division {
            all.push(format!("Fixed shares for the tenants: {}.", division.words()));
        }
        all.push(format!("Twice the memory: {}.", self.twice.words()));
        all.push(format!("A quarter less memory: {}.", self.three_quarters.words()));
        all
    }

    /// The reasons for the answer, in sentences.
    pub(super) fn reasons(&self) -> Vec<String> {
        let mut all = vec![];
        let by_cost = |a: &&TenantAdvice, b: &&TenantAdvice| a.penalty_us.total_cmp(&b.penalty_us);
        let dearest = self.tenants.iter().max_by(by_cost);
        let cheapest = self.tenants.iter().min_by(by_cost);
        if let (Some(dear), Some(cheap)) = (dearest, cheapest)
            && dear.penalty_us >= DEARER * cheap.penalty_us.max(1.0)
        {
            all.push(format!(
                "A miss of {} costs {}, and a miss of {} {}: a cache that ignores the difference \
                 evicts costly items to keep cheap ones.",
                dear.name,
                Format::Micros.show(dear.penalty_us),
                cheap.name,
                Format::Micros.show(cheap.penalty_us)
            ));
        }
        let (reads, waiting) = self.first_reads;
        if reads > 0.01 {
            let short = if reads > SHORT {
                " That share is large: forecasts for large memories are uncertain, and a longer \
                 capture would make them better."
            } else {
                ""
            };
            all.push(format!(
                "{:.0} % of the reads are the first of their key, with {:.0} % of the cost of all \
                 misses: as far as this capture shows, no memory saves these misses.{short}",
                100.0 * reads,
                100.0 * waiting
            ));
        }
        if let Some(server) = self.server_miss_ratio {
            all.push(format!(
                "The server missed {:.0} % of the reads, its model {:.0} %.",
                100.0 * server,
                100.0 * self.miss_ratio
            ));
        }
        all
    }

    /// The commands that put the advice into effect, or that capture more requests.
    pub(super) fn commands(&self) -> Vec<String> {
        let size = |bytes: u64| format!("{}mb", bytes.div_ceil(1 << 20).max(1));
        let mut all = vec![];
        if self.fits() || self.no_verdict().is_some() {
            all.push("larder advise --from ... --for 10m --window all".to_owned());
            return all;
        }
        if self.larder.is_worth() {
            let mut words = vec![format!("larder serve --maxmemory {}", size(self.memory))];
            words.extend(self.rules.iter().map(|rule| format!("--tenant {rule}")));
            all.push(words.join(" "));
        }
        if self.division.is_some_and(Gain::is_worth) && !self.larder.is_worth() {
            for tenant in self.tenants.iter().take(SHOWN_MAX) {
                let memory = size(tenant.divided_bytes);
                all.push(format!("redis-server --maxmemory {memory}   # for {}", tenant.name));
            }
        }
        if self.twice.is_worth() && !self.larder.is_worth() {
            all.push(format!("redis-cli config set maxmemory {}", size(2 * self.memory)));
        }
        all
    }

    /// Costs, misses and shares of the tenants, in 80 columns.
    pub(super) fn table(&self) -> Table {
        let head = ["tenant", "reads/s", "miss cost", "misses", "Larder", "share", "with share"];
        let mut table = Table::new(head);
        let ratio = |ratio: f64| format!("{:.1} %", 100.0 * ratio);
        for tenant in self.tenants.iter().take(SHOWN_MAX) {
            table.row([
                tenant.name.chars().take(16).collect(),
                format!("{:.0}", tenant.reads_per_s),
                Format::Micros.show(tenant.penalty_us),
                ratio(tenant.shared_miss_ratio),
                ratio(tenant.larder_miss_ratio),
                bytes(tenant.divided_bytes),
                ratio(tenant.divided_miss_ratio),
            ]);
        }
        table
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&wrapped(&self.answer(), ""))?;
        f.write_str("\n")?;
        for line in self.alternatives() {
            f.write_str(&wrapped(&line, "  "))?;
        }
        writeln!(f, "\n{}", self.table())?;
        if self.tenants.len() > SHOWN_MAX {
            writeln!(
                f,
                "{} more tenants are in the output of --json.",
                self.tenants.len() - SHOWN_MAX
            )?;
        }
        f.write_str("\n")?;
        for reason in self.reasons() {
            f.write_str(&wrapped(&reason, ""))?;
        }
        f.write_str("\nAssumptions:\n")?;
        for assumption in &self.assumptions {
            f.write_str(&wrapped(assumption, "  "))?;
        }
        let commands = self.commands();
        if !commands.is_empty() {
            f.write_str("\nCommands:\n")?;
        }
        for command in commands {
            f.write_str(&wrapped(&command, ""))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_to_nothing_has_no_sign() {
        let gain = Gain { share: 0.0, low: 0.0, high: 0.001 };
        assert_eq!(gain.words(), "no clear difference (between 0 and 0 % more)");
    }
}
