//! Comparison of several servers, or of several rounds: a row for each server, with medians over
//! its rounds.
//!
//! A median is used and not a mean, because one disturbed round must not change the figure; the
//! range shows that there was one.

use crate::latency::Latency;
use crate::peers::Peer;
use crate::report::Report;
use ::report::draw::{Format, Table};
use serde::Serialize;
use std::fmt;

/// The most characters of a name in the table, so that it stays within 80 columns.
const NAME_MAX: usize = 20;
/// If all names are at most this long, the table has one more column, p99.99.
const NAME_BESIDE_ALL: usize = 10;

/// The columns of the table; the last is left out where the names are long.
const HEAD: [&str; 8] = ["server", "misses", "req/s", "mean", "p50", "p99", "p99.9", "p99.99"];

/// The results of all servers.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    peers: Vec<Compared>,
}

/// The results of one server.
#[derive(Debug, Serialize)]
struct Compared {
    name: String,
    /// The URL without user and password.
    to: String,
    rounds: Vec<Report>,
    median: Figures,
    range: Range,
}

#[derive(Debug, Serialize)]
struct Range {
    min: Figures,
    max: Figures,
}

/// The figures that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Figures {
    miss_ratio: f64,
    latency_us: Latency,
    requests_per_second: f64,
}

impl Comparison {
    /// Makes a comparison from the reports of each server, in the order of `peers`.
    pub(crate) fn new(peers: &[Peer], reports: Vec<Vec<Report>>) -> Self {
        let peers = peers.iter().zip(reports).map(|(peer, rounds)| Compared {
            name: peer.name.clone(),
            to: peer.place.to_string(),
            median: Figures::over(&rounds, median),
            range: Range {
                min: Figures::over(&rounds, |values| values[0]),
                max: Figures::over(&rounds, |values| values[values.len() - 1]),
            },
            rounds,
        });
        Self { peers: peers.collect() }
    }

    /// The first server with a round in which no request was served, and its first error.
    pub(crate) fn all_failed(&self) -> Option<(&str, &str)> {
        let failed = |peer: &&Compared| peer.rounds.iter().any(Report::all_failed);
        let peer = self.peers.iter().find(failed)?;
        Some((&peer.name, peer.first_error().unwrap_or_default()))
    }
}

impl Compared {
    fn first_error(&self) -> Option<&str> {
        self.rounds.iter().find_map(|report| report.first_error.as_deref())
    }
}

impl Figures {
    /// Picks each figure with `pick` from the values of all rounds in ascending order.
    fn over(rounds: &[Report], pick: fn(&[f64]) -> f64) -> Self {
        let of = |figure: fn(&Report) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            pick(&values)
        };
        Self {
            miss_ratio: of(|report| report.miss_ratio),
            latency_us: Latency {
                mean: of(|report| report.latency_us.mean),
                p50: of(|report| report.latency_us.p50),
                p99: of(|report| report.latency_us.p99),
                p999: of(|report| report.latency_us.p999),
                p9999: of(|report| report.latency_us.p9999),
            },
            requests_per_second: of(Report::requests_per_second),
        }
    }

    /// A row below [`HEAD`].
    fn row(&self, name: String) -> [String; HEAD.len()] {
        let us = |value: f64| Format::Micros.show(value);
        let Latency { mean, p50, p99, p999, p9999 } = self.latency_us;
        let ratio = format!("{:.4}", self.miss_ratio);
        let rate = Format::Number.show(self.requests_per_second);
        [name, ratio, rate, us(mean), us(p50), us(p99), us(p999), us(p9999)]
    }
}

/// The middle of values in ascending order, or the mean of the two in the middle; NaN for no
/// values.
pub fn median(values: &[f64]) -> f64 {
    let middle = values.get(values.len().saturating_sub(1) / 2..=values.len() / 2);
    middle.map_or(f64::NAN, |middle| f64::midpoint(middle[0], middle[middle.len() - 1]))
}

/// The end of a long name, which contains the port.
fn short(name: &str) -> String {
    let length = name.chars().count();
    if length <= NAME_MAX {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length + 1 - NAME_MAX).collect();
    format!("…{end}")
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.peers.iter().map(|peer| peer.name.chars().count());
        let beside_all = names.max().unwrap_or(0) <= NAME_BESIDE_ALL;
        let columns = HEAD.len() - usize::from(!beside_all);
        let mut table = Table::new(HEAD.into_iter().take(columns));
        let mut add = |figures: &Figures, name: String| {
            table.row(figures.row(name).into_iter().take(columns));
        };
        let rounds = self.peers.iter().map(|peer| peer.rounds.len()).max().unwrap_or(0);
        for peer in &self.peers {
            add(&peer.median, short(&peer.name));
            if rounds > 1 {
                add(&peer.range.min, "· least".to_owned());
                add(&peer.range.max, "· most".to_owned());
            }
        }
        write!(f, "{table}\nmisses: share of the reads; latencies of all requests")?;
        if rounds > 1 {
            write!(f, "; medians of {rounds} rounds")?;
        }
        for peer in &self.peers {
            let errors: u64 = peer.rounds.iter().map(|report| report.errors).sum();
            if let Some(first) = peer.first_error() {
                write!(f, "\n{}: {errors} errors, the first: {first}", peer.name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Tally;
    use crate::place::Place;
    use std::time::Duration;

    /// A round of `requests` requests that take `ms` each, one at a time.
    fn report(requests: u64, ms: u64, error: Option<&str>) -> Report {
        let mut tally = Tally::default();
        for _ in 0..requests {
            tally.record(Duration::from_millis(ms));
        }
        (tally.gets, tally.misses, tally.errors) = (requests, ms, error.iter().len() as u64);
        tally.first_error = error.map(str::to_owned);
        Report::new(1, Duration::from_millis(ms * requests), 0, vec![("t1".into(), tally)])
    }

    fn peer(name: &str, url: &str) -> Peer {
        Peer { name: name.to_owned(), place: Place::parse(url).unwrap() }
    }

    #[test]
    fn medians_and_ranges_are_of_the_rounds_in_any_order() {
        let peers = [
            peer("a", "redis://ann:secret@h"),
            peer("a.long.name.of.a.host:11211", "memcached://ann:secret@h"),
        ];
        let rounds = |error| [5, 1, 4].map(|ms| report(100, ms, error)).into();
        let compared = Comparison::new(&peers, vec![rounds(None), rounds(Some("SERVER_ERROR x"))]);
        let json = serde_json::to_value(&compared).unwrap();
        let [first, second] = [0, 1].map(|at| &json["peers"][at]);
        assert_eq!((&first["to"], &second["to"]).0, "redis://h:6379");
        assert_eq!(second["to"], "memcached://h:11211");
        assert_eq!(first["median"]["miss_ratio"], 0.04);
        assert_eq!(first["median"]["latency_us"]["mean"], 4_000.0);
        assert_eq!(first["range"]["min"]["latency_us"]["mean"], 1_000.0);
        assert_eq!(first["range"]["max"]["requests_per_second"], 1_000.0);
        assert_eq!(first["rounds"][0]["latency_us"]["mean"], 5_000.0);
        let text = compared.to_string();
        assert!(text.contains("3 errors, the first: SERVER_ERROR x"), "{text}");
        assert!(text.contains("…ame.of.a.host:11211") && !text.contains("secret"), "{text}");
        assert_eq!(text.matches("· least").count(), 2, "{text}");
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert_eq!(compared.all_failed(), None);
    }

    /// The widest figures still fit.
    #[test]
    fn the_table_is_within_80_columns_and_has_all_percentiles_where_they_fit() {
        for (name, all) in [("memcached1", true), ("memcached11", false), (&*"m".repeat(40), false)]
        {
            let mut round = report(100, 7, None);
            let us = 12_345.0;
            round.latency_us = Latency { mean: us, p50: us, p99: us, p999: us, p9999: us };
            round.seconds = 0.0081;
            let compared = Comparison::new(&[peer(name, "redis://h")], vec![vec![round; 2]]);
            let text = compared.to_string();
            assert!(text.contains("12.3 k") && text.contains("12.3 ms"), "{text}");
            assert_eq!(text.contains("p99.99"), all, "{text}");
            let table = text.lines().take_while(|line| !line.starts_with("misses by"));
            assert!(table.map(|line| line.trim_end().chars().count()).all(|n| n <= 80), "{text}");
        }
    }

    #[test]
    fn one_round_has_no_range_and_a_server_that_serves_nothing_is_told() {
        let peers = [peer("a", "redis://h"), peer("b", "memcached://h")];
        let reports = vec![vec![report(1, 1, None)], vec![report(1, 1, Some("ERROR"))]];
        let compared = Comparison::new(&peers, reports);
        assert!(!compared.to_string().contains("least"));
        assert_eq!(compared.all_failed(), Some(("b", "ERROR")));
    }
}
