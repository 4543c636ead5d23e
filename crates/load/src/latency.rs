//! Counts and latencies: one tally for each connection, merged at the end of the run.
//!
//! Latencies go into an HDR histogram: three significant digits from a microsecond to a minute.
//! Means come from exact sums, not from the buckets. Tallies of many connections add up to the
//! tally of a single one, so percentiles cover all requests and are no means of percentiles.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

const MICROSECOND_NS: u64 = 1_000;
const MINUTE_NS: u64 = 60_000_000_000;

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// Half of the requests took at most this.
    pub p50: f64,
    /// 99 of 100 requests took at most this.
    pub p99: f64,
    /// 999 of 1000 requests took at most this.
    pub p999: f64,
    /// 9999 of 10000 requests took at most this.
    pub p9999: f64,
}

/// Counts and latencies of the measured requests.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    latencies: Histogram<u64>,
    /// Latencies of reads that hit.
    hits: Histogram<u64>,
    latency_sum_ns: u128,
    pub(crate) requests: u64,
    pub(crate) gets: u64,
    pub(crate) misses: u64,
    /// Hits whose value had an earlier length of the object.
    pub(crate) resized: u64,
    pub(crate) errors: u64,
    /// The text of the first error.
    pub(crate) first_error: Option<String>,
    /// Total time that the backend actually took.
    pub(crate) penalty_sum: Duration,
}

impl Default for Tally {
    fn default() -> Self {
        let latencies = || {
            let latencies = Histogram::new_with_bounds(MICROSECOND_NS, MINUTE_NS, 3);
            latencies.expect("bounds and digits are within what the histogram takes")
        };
        Self {
            latencies: latencies(),
            hits: latencies(),
            latency_sum_ns: 0,
            requests: 0,
            gets: 0,
            misses: 0,
            resized: 0,
            errors: 0,
            first_error: None,
            penalty_sum: Duration::ZERO,
        }
    }
}

impl Tally {
    /// Counts one request that took `latency`. More than a minute counts as a minute in the
    /// percentiles.
    pub(crate) fn record(&mut self, latency: Duration) {
        let ns = latency.as_nanos();
        self.latencies.saturating_record(u64::try_from(ns).unwrap_or(u64::MAX));
        self.latency_sum_ns += ns;
        self.requests += 1;
    }

    /// Records the latency of a hit.
    pub(crate) fn record_hit(&mut self, latency: Duration) {
        self.hits.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds the counts of another connection.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, other) in [(&mut self.latencies, &other.latencies), (&mut self.hits, &other.hits)]
        {
            own.add(other).expect("all tallies have the same bounds");
        }
        self.latency_sum_ns += other.latency_sum_ns;
        self.requests += other.requests;
        self.gets += other.gets;
        self.misses += other.misses;
        self.resized += other.resized;
        self.errors += other.errors;
        if self.first_error.is_none() {
            self.first_error.clone_from(&other.first_error);
        }
        self.penalty_sum += other.penalty_sum;
    }

    pub(crate) fn latency(&self) -> Latency {
        if self.requests == 0 {
            return Latency::default();
        }
        let at = |q| self.latencies.value_at_quantile(q) as f64 / 1e3;
        Latency {
            mean: self.latency_sum_ns as f64 / self.requests as f64 / 1e3,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
        }
    }

    /// Median latency of hits in microseconds; zero without hits.
    pub(crate) fn hit_us(&self) -> f64 {
        if self.hits.is_empty() { 0.0 } else { self.hits.value_at_quantile(0.5) as f64 / 1e3 }
    }

    pub(crate) fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.gets.max(1) as f64
    }

    /// Mean time of a backend answer in microseconds; zero without misses.
    pub(crate) fn penalty_us(&self) -> f64 {
        self.penalty_sum.as_secs_f64() * 1e6 / self.misses.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means of percentiles would hide a slow connection. If 1 % of all requests are slow, p99 must
    /// show it, even if nine of ten connections had no slow request.
    #[test]
    fn merging_is_as_if_one_had_counted_all() {
        let (mut one, mut parts) = (Tally::default(), vec![Tally::default(); 10]);
        for i in 1..=10_000u64 {
            let connection = (i / 1_000).min(9) as usize;
            let latency = Duration::from_nanos(i * 1_000);
            one.record(latency);
            parts[connection].record(latency);
            parts[connection].misses += i % 2;
        }
        let mut all = Tally::default();
        for part in &parts {
            all.merge(part);
        }
        assert_eq!(all.latency(), one.latency());
        assert_eq!((all.requests, all.misses), (10_000, 5_000));
        let latency = all.latency();
        assert!((latency.mean - 5_000.5).abs() < 1e-9, "{latency:?}");
        assert!((latency.p50 / 5_000.0 - 1.0).abs() < 0.002, "{latency:?}");
        assert!((latency.p99 / 9_900.0 - 1.0).abs() < 0.002, "{latency:?}");
        assert!((latency.p999 / 9_990.0 - 1.0).abs() < 0.002, "{latency:?}");
        assert!(latency.p9999 >= 9_999.0 && latency.p9999 < 10_020.0, "{latency:?}");
    }

    #[test]
    fn nothing_counted_is_zero_and_hours_are_kept_in_the_mean() {
        let mut tally = Tally::default();
        assert_eq!(tally.latency(), Latency::default());
        tally.record(Duration::from_secs(3_600));
        assert_eq!(tally.latency().mean, 3.6e9);
        assert!(tally.latency().p99 >= 60e6);
    }
}
