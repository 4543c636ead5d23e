//! The gain of self-tuning over the whole run: the waiting and the misses of each minute, beside
//! those that one undivided LRU cache would have had.
//!
//! A comparison of one moment rests on the requests of some minutes, and the next one says something
//! else. So each minute takes part with its measured waiting, times the ratio that the plays found
//! at its end, and the minutes are added up. A minute without a comparison, as while a cache fills,
//! is left out, and the time that was compared is told.

use crate::claim::{self, LRU};
use crate::{History, Report};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Seconds of the stretch that is told beside the whole run.
const HOUR_S: u64 = 3_600;

/// A longer time since the last comparison is not taken for one minute.
const MINUTE_S: u64 = 60;

/// A stretch of time, beside the same requests with one undivided LRU cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The beginning of the first minute, in Unix seconds.
    pub from_unix_s: u64,
    /// Seconds that were compared.
    pub seconds: u64,
    /// Reads.
    pub reads: u64,
    /// Reads that missed.
    pub misses: u64,
    /// Waiting for misses, in milliseconds.
    pub wait_ms: f64,
    /// Reads that an undivided LRU cache would have missed.
    pub lru_misses: f64,
    /// Waiting that it would have caused, in milliseconds.
    pub lru_wait_ms: f64,
    /// The band of that waiting to either side. Minutes in a row share requests, so their errors
    /// are alike, and add up.
    pub band_ms: f64,
}

impl Gain {
    /// The additional waiting with an undivided LRU cache, as a share of the waiting, and its band.
    /// `None` where nobody waited.
    pub fn longer(&self) -> Option<(f64, f64)> {
        let share = |ms: f64| ms / self.wait_ms;
        (self.wait_ms > 0.0).then(|| (share(self.lru_wait_ms) - 1.0, share(self.band_ms)))
    }

    fn add(&mut self, later: &Self) {
        if self.seconds == 0 {
            self.from_unix_s = later.from_unix_s;
        }
        self.seconds += later.seconds;
        self.reads += later.reads;
        self.misses += later.misses;
        self.wait_ms += later.wait_ms;
        self.lru_misses += later.lru_misses;
        self.lru_wait_ms += later.lru_wait_ms;
        self.band_ms += later.band_ms;
    }
}

/// The gain since the start, and in the last hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gains {
    /// Since the process started.
    pub run: Gain,
    /// In the last hour.
    pub hour: Gain,
}

/// The minutes of the last hour, and the sum of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ComparedMinutes {
    run: Gain,
    minutes: VecDeque<Gain>,
    noted_unix_s: u64,
}

impl History {
    /// Adds the time since the last call, at most a minute, if this report compares the policy in
    /// force with an undivided LRU cache. Call it once a minute.
    pub fn note_gain(&mut self, report: &Report) {
        let now = report.server.now_unix_s;
        let last = std::mem::replace(&mut self.compared.noted_unix_s, now);
        let from_unix_s = last.max(now.saturating_sub(MINUTE_S));
        let trial = report.policies.iter().find(|trial| trial.policy == LRU);
        let ratio = report.recent.miss_ratio().filter(|ratio| *ratio > 0.0);
        let Some((trial, ratio)) = trial.zip(ratio).filter(|_| report.server.quiet_s == 0) else {
            return;
        };
        if claim::policy(report, LRU).is_none() {
            return;
        }
        let minute = self.between(None, from_unix_s, now);
        let gain = Gain {
            from_unix_s,
            seconds: now - from_unix_s,
            reads: minute.reads,
            misses: minute.misses,
            wait_ms: minute.wait_ms,
            lru_misses: minute.misses as f64 * trial.miss_ratio / ratio,
            lru_wait_ms: minute.wait_ms * trial.waits,
            band_ms: minute.wait_ms * trial.band,
        };
        self.compared.run.add(&gain);
        self.compared.minutes.retain(|one| one.from_unix_s + HOUR_S >= now);
        self.compared.minutes.push_back(gain);
    }

    /// The gains up to now; `None` before the first comparison.
    pub fn gains(&self, now_unix_s: u64) -> Option<Gains> {
        let mut hour = Gain::default();
        let late =
            self.compared.minutes.iter().filter(|one| one.from_unix_s + HOUR_S >= now_unix_s);
        late.for_each(|one| hour.add(one));
        let run = self.compared.run;
        (run.seconds > 0).then_some(Gains { run, hour })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;
    use crate::{Point, PolicyTrial, say};

    /// LRU would wait 10 % longer in one minute and 30 % longer in the next, in which clients wait
    /// three times as long: 25 % in all. A minute without a comparison does not count.
    #[test]
    fn minutes_add_up_by_their_waiting() {
        let mut history = History::default();
        let mut report = healthy();
        let begin = report.server.now_unix_s;
        let trial = |policy: &str, waits: f64| PolicyTrial {
            policy: policy.into(),
            is_present: waits == 1.0,
            waits,
            band: 0.05,
            miss_ratio: report.recent.miss_ratio().unwrap() * waits,
        };
        let trials = |waits| vec![trial("allkeys-gittins", 1.0), trial(LRU, waits)];
        let minutes = [(1.0, trials(1.1)), (9.0, vec![]), (3.0, trials(1.3))];
        for (minute, (wait_ms, policies)) in (0_u64..).zip(minutes) {
            for second in 1..=60 {
                let point = Point {
                    unix_s: (begin + 60 * minute + second) as u32,
                    reads: 100,
                    misses: 10,
                    wait_ms,
                    ..Point::default()
                };
                history.push([("web", point)].into_iter());
            }
            report.server.now_unix_s = begin + 60 * (minute + 1);
            report.policies = policies;
            history.note_gain(&report);
        }
        report.gains = history.gains(report.server.now_unix_s);
        let Gains { run, hour } = report.gains.unwrap();
        assert_eq!((run.seconds, run.reads, run.misses), (120, 12_000, 1_200));
        let (longer, band) = run.longer().unwrap();
        assert!((longer - 0.25).abs() < 1e-6 && (band - 0.05).abs() < 1e-6, "{longer} {band}");
        assert!((run.lru_misses - 600.0 * (1.1 + 1.3)).abs() < 1e-6, "{run:?}");
        assert_eq!(hour, run);
        assert_eq!(history.gains(begin + 2 * HOUR_S).unwrap().hour, Gain::default());
        let whole = "one shared LRU cache would have made clients wait 25 % longer (60 ms in all)";
        let now = "Now it would make them wait 30 % longer";
        for says in [
            say::summary(&report),
            say::pilot(&report, &report.moves),
            say::advise(&report, None).join(" "),
            say::history(&report, &report.moves, 0).join(" "),
        ] {
            assert!(says.contains(whole) && says.contains(now), "{says}");
        }
        report.policies.clear();
        assert!(say::summary(&report).contains(whole), "the minutes before still count");
    }
}
