//! The gain of self-tuning over the whole run: the waiting and the misses of each minute, beside
//! those that one undivided LRU cache would have had.
//!
//! A comparison of one moment rests on the requests of some minutes, and the next one says
//! something else. So each minute takes part with its measured waiting, times the ratio that the
//! plays found at its end, and the minutes are added up. A minute without a comparison, as while a
//! cache fills, is left out, and the time that was compared is told.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Seconds of the stretch that is told beside the whole run.
const HOUR_S: u64 = 3_600;

/// Seconds for which single minutes are kept.
const DAY_S: u64 = 86_400;

/// A stretch of time, beside the same requests with one undivided LRU cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The beginning of the first minute, in Unix seconds.
    pub from_unix_s: u64,
    /// Seconds that were compared.
    pub seconds: u64,
    /// Seconds with reads, compared or not.
    pub read_s: u64,
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
        self.read_s += later.read_s;
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
    /// Since the first minute that was compared; a warm restart goes on from the run before it.
    pub run: Gain,
    /// In the last hour.
    pub hour: Gain,
    /// In the stretch that a reader asks for, which begins at this time, in Unix seconds.
    #[serde(default)]
    pub asked: Option<(u64, Gain)>,
}

impl Gains {
    /// Whether the run is so long that its last hour is a part of its own.
    pub(crate) const fn is_over_an_hour(&self, now_unix_s: u64) -> bool {
        const HOUR_AND_MORE_S: u64 = 4_200;
        now_unix_s.saturating_sub(self.run.from_unix_s) > HOUR_AND_MORE_S
    }
}

/// The minutes of the last day, and the sum of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ComparedMinutes {
    run: Gain,
    minutes: VecDeque<Gain>,
    /// The end of the last minute, in Unix seconds.
    pub(crate) noted_unix_s: u64,
}

impl ComparedMinutes {
    /// Adds a minute.
    pub(crate) fn add(&mut self, minute: Gain) {
        self.run.add(&minute);
        self.minutes.retain(|one| one.from_unix_s + DAY_S >= minute.from_unix_s);
        self.minutes.push_back(minute);
    }

    /// The sum of all minutes.
    pub(crate) const fn run(&self) -> Gain {
        self.run
    }

    /// Puts the minutes of an earlier run before those of this one.
    pub(crate) fn go_on_from(&mut self, mut before: Gain) {
        before.add(&self.run);
        self.run = before;
    }

    /// The gains up to now; `None` before the first comparison.
    pub(crate) fn gains(&self, now_unix_s: u64) -> Option<Gains> {
        let hour = self.since(now_unix_s.saturating_sub(HOUR_S));
        (self.run.seconds > 0).then_some(Gains { run: self.run, hour, asked: None })
    }

    /// The gain of the minutes that began since a moment of the last day.
    pub(crate) fn since(&self, unix_s: u64) -> Gain {
        let mut sum = Gain::default();
        self.minutes.iter().filter(|one| one.from_unix_s >= unix_s).for_each(|one| sum.add(one));
        sum
    }

    /// Memory of the minutes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.minutes.capacity() * size_of::<Gain>()
    }
}
