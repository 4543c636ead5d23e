//! The minutes of the history, each compared with one undivided LRU cache.

use crate::claim::{self, LRU};
use crate::{ChangeKind, Gain, Gains, History, Report};

/// A longer time since the last comparison is not taken for one minute.
const MINUTE_S: u64 = 60;
/// Nothing is compared for so many seconds after a change of load.
const MIXED_S: u64 = 180;

impl History {
    /// Adds the time since the last call, at most a minute, if this report compares the policy in
    /// force with an undivided LRU cache. Call it once a minute.
    pub fn note_gain(&mut self, report: &Report) {
        let now = report.server.now_unix_s;
        let last = std::mem::replace(&mut self.compared.noted_unix_s, now);
        let from_unix_s = last.max(now.saturating_sub(MINUTE_S));
        let minute = self.between(None, from_unix_s, now);
        if minute.reads == 0 {
            return;
        }
        let seconds = now - from_unix_s;
        let mut gain = Gain { from_unix_s, read_s: seconds, ..Gain::default() };
        let trial = report.policies.iter().find(|trial| trial.policy == LRU);
        let ratio = report.recent.miss_ratio().filter(|ratio| *ratio > 0.0);
        // Replays of the last minutes mix the loads before and after a change.
        let is_mixed = self.changes().rev().any(|change| {
            change.kind == ChangeKind::Load && change.unix_s.saturating_add(MIXED_S) > now
        });
        let known = trial.zip(ratio).filter(|_| !is_mixed && claim::policy(report, LRU).is_some());
        if let Some((trial, ratio)) = known {
            gain = Gain {
                seconds,
                reads: minute.reads,
                misses: minute.misses,
                wait_ms: minute.wait_ms,
                lru_misses: minute.misses as f64 * trial.miss_ratio / ratio,
                lru_wait_ms: minute.wait_ms * trial.waits,
                band_ms: minute.wait_ms * trial.band,
                ..gain
            };
        }
        self.compared.add(gain);
    }

    /// The gains up to now; `None` before the first comparison.
    pub fn gains(&self, now_unix_s: u64) -> Option<Gains> {
        self.compared.gains(now_unix_s)
    }

    /// [`Self::gains`], with those of the stretch since a moment.
    pub fn gains_since(&self, unix_s: u64, now_unix_s: u64) -> Option<Gains> {
        let asked = Some((unix_s, self.compared.since(unix_s)));
        self.gains(now_unix_s).map(|gains| Gains { asked, ..gains })
    }

    /// The gain of the whole run, to be kept over a warm restart.
    pub const fn run_gain(&self) -> Gain {
        self.compared.run()
    }

    /// Goes on from the gain of an earlier run.
    pub fn go_on_from_gain(&mut self, before: Gain) {
        self.compared.go_on_from(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;
    use crate::{Change, Point, PolicyTrial, say};

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
        let Gains { run, hour, .. } = report.gains.unwrap();
        assert_eq!((run.seconds, run.read_s), (120, 180));
        assert_eq!((run.reads, run.misses), (12_000, 1_200));
        let (longer, band) = run.longer().unwrap();
        assert!((longer - 0.25).abs() < 1e-6 && (band - 0.05).abs() < 1e-6, "{longer} {band}");
        assert!((run.lru_misses - 600.0 * (1.1 + 1.3)).abs() < 1e-6, "{run:?}");
        assert_eq!(hour, run);
        assert_eq!(history.gains(begin + 2 * 3_600).unwrap().hour, Gain::default());
        // The last minute alone, as HISTORY 1m asks for it.
        report.gains = history.gains_since(begin + 120, report.server.now_unix_s);
        let says = say::history(&report, &report.moves, 0).join(" ");
        let since = "Since 14:49 one shared LRU cache would have made clients wait 30 % longer";
        assert!(says.contains(since) && says.contains("Since 14:47: 25 % longer"), "{says}");
        // The next run goes on from this one.
        let mut next = History::default();
        next.go_on_from_gain(history.run_gain());
        assert_eq!(next.gains(begin + 2 * 3_600).unwrap().run, run);
        report.gains = history.gains(report.server.now_unix_s);
        let brief = "one shared LRU cache would have made clients wait 25 % longer";
        let whole = format!("{brief} (300 ms of waiting in all instead of 240 ms)");
        let now = "Now it would make them wait 30 % longer";
        for (says, whole) in [
            (say::summary(&report), brief),
            (say::advise(&report, None).join(" "), brief),
            (say::pilot(&report, &report.moves).join(" "), &whole),
            (say::history(&report, &report.moves, 0).join(" "), &whole),
        ] {
            assert!(says.contains(whole) && says.contains(now), "{says}");
        }
        let says = say::history(&report, &report.moves, 0).join(" ");
        assert!(says.contains("Of 3 minutes with reads, 2 minutes could be compared."), "{says}");
        // Replays mix the loads before and after a change, so the minutes after one do not count.
        history.push(
            [("web", Point { unix_s: (begin + 190) as u32, reads: 9, ..Point::default() })]
                .into_iter(),
        );
        report.server.now_unix_s = begin + 240;
        history.note(Change { unix_s: begin + 185, kind: ChangeKind::Load, ..Change::default() });
        history.note_gain(&report);
        assert_eq!(history.run_gain().seconds, 120);
        report.policies.clear();
        assert!(say::summary(&report).contains(brief), "the minutes before still count");
    }
}
