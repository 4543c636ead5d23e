//! Periodic load: finds tenants whose load has a period, and the time of their next peak.
//!
//! Requests of a tenant are counted in buckets of equal time. The logarithms of the counts, less
//! their trend, are compared with themselves shifted: a periodic load resembles itself one period
//! later. A period counts as found when
//!
//! - the counts cover three full periods,
//! - the correlation is at least one half, and higher than white noise reaches in one case of a
//!   thousand (3.3/√n, with n the compared buckets),
//! - and the busy hours of the mean period have three times the load of its quiet ones.
//!
//! Counts from before a periodic load - an idle night, a first filling - would hide its period. So
//! the last counts are also examined alone: an eighth of them, a quarter, half and all. The profile
//! uses only the last few periods, for a period is no whole number of buckets, and the remainders
//! add up.
//!
//! A *peak* is a part of the mean period above half of its highest load, a *valley* a part below a
//! quarter. When a valley begins, the load has fallen and the period predicts that it stays low.
//! Then a tenant's items are worth a copy on disk. Items that other tenants displace in the valley
//! come back before the next peak, instead of one by one through as many misses.
//!
//! This module reads no clock and touches no item: it maps counts to turns.

use base::Micros;
use std::collections::VecDeque;

/// Number of buckets remembered.
const BUCKETS_MAX: usize = 1 << 11;
/// Number of periods that the counts must cover.
const PERIODS_MIN: usize = 3;
/// Buckets of the shortest period.
const PERIOD_MIN: usize = 8;
/// The most periods in a profile.
const PERIODS_MAX: usize = 5;
/// Buckets between two searches once a period is known.
const AGAIN: u64 = 8;
/// The least correlation of a period with the next.
const ALIKE: f64 = 0.5;
/// The correlation that white noise reaches in one case of a thousand, times the root of the number
/// of buckets.
const NOISE: f64 = 3.3;
/// The least ratio of the busy hours' load to the quiet hours'.
const SWING: f64 = 3.0;
/// Load of a peak and of a valley, as shares of the highest.
const PEAK: f64 = 0.5;
const VALLEY: f64 = 0.25;
/// Share of the highest load below which the load counts as fallen.
const FALLEN: f64 = 0.35;
/// Number of buckets for which the load must be fallen.
const FALLEN_FOR: usize = 3;

/// The period of a load, with its profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    /// Buckets from one peak to the next.
    pub length: usize,
    /// The median count of each bucket of the period.
    pub profile: Vec<f64>,
}

/// An action on a tenant's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A valley begins: copy the items to disk.
    Valley,
    /// A peak is near: bring the items back.
    Peak,
}

/// The load of one tenant.
#[derive(Clone, Debug)]
pub struct PeriodicLoad {
    bucket: Micros,
    /// Time before a peak at which items are brought back.
    lead: Micros,
    counts: VecDeque<f64>,
    /// Number of the present bucket, and its count so far.
    at: Option<(u64, f64)>,
    period: Option<Period>,
    /// The bucket at which the profile begins: the one in which the period was found.
    begins: u64,
    /// The bucket in which the last valley began.
    valley: Option<u64>,
    /// Whether the items are on disk.
    is_away: bool,
}

impl PeriodicLoad {
    /// Counts in buckets of length `bucket`, and announces peaks `lead` ahead.
    pub fn new(bucket: Micros, lead: Micros) -> Self {
        let counts = VecDeque::new();
        Self {
            bucket,
            lead,
            counts,
            at: None,
            period: None,
            begins: 0,
            valley: None,
            is_away: false,
        }
    }

    /// Announces peaks `lead` ahead from now on.
    pub const fn set_lead(&mut self, lead: Micros) {
        self.lead = lead;
    }

    /// The count of the last complete bucket.
    pub fn last(&self) -> f64 {
        self.counts.back().copied().unwrap_or(0.0)
    }

    /// The period, if one was found.
    pub const fn period(&self) -> Option<&Period> {
        self.period.as_ref()
    }

    /// Counts `requests` more requests until `now`. Returns whether a valley or a peak begins.
    pub fn see(&mut self, now: Micros, requests: u64) -> Option<Turn> {
        let number = now.0 / self.bucket.0.max(1);
        let (mut at, mut count) = self.at.unwrap_or((number, 0.0));
        let ended = at < number;
        while at < number {
            self.counts.push_back(std::mem::take(&mut count));
            if self.counts.len() > BUCKETS_MAX {
                self.counts.pop_front();
            }
            at += 1;
            // A pause longer than the memory leaves nothing to compare.
            if number - at > BUCKETS_MAX as u64 {
                self.counts.clear();
                at = number;
            }
        }
        self.at = Some((at, count + requests as f64));
        if ended && (self.period.is_none() || number >= self.begins + AGAIN) {
            self.period = find(self.counts.make_contiguous());
            self.begins = number;
        }
        self.turn(now, number, ended)
    }

    fn turn(&mut self, now: Micros, number: u64, ended: bool) -> Option<Turn> {
        let Some(period) = &self.period else {
            // Without a period no peak would bring the items back, so they come back now.
            return std::mem::take(&mut self.is_away).then_some(Turn::Peak);
        };
        let most = period.most();
        let phase = |number: u64| self.phase(number, period);
        if self.is_away {
            let soon = (now.0 + self.lead.0).div_ceil(self.bucket.0);
            let comes = (number..=soon).any(|number| period.profile[phase(number)] > PEAK * most);
            let valley = self.valley.unwrap_or(number);
            let is_early = self.counts.back().is_some_and(|&count| count > PEAK * most);
            if number > valley && (comes || is_early) {
                self.is_away = false;
                return Some(Turn::Peak);
            }
            return None;
        }
        let backs_off =
            self.valley.is_some_and(|valley| number - valley < period.length as u64 / 4);
        let last = self.counts.iter().rev().take(FALLEN_FOR);
        let fell = self.counts.len() >= FALLEN_FOR && last.copied().all(|c| c < FALLEN * most);
        // A valley that ends before the items are written does not count.
        let stays =
            (number..number + 2).all(|number| period.profile[phase(number)] < VALLEY * most);
        let soon = number + self.lead.0.div_ceil(self.bucket.0);
        let in_time = (number..=soon).all(|number| period.profile[phase(number)] < PEAK * most);
        if ended && !backs_off && fell && stays && in_time {
            (self.is_away, self.valley) = (true, Some(number));
            return Some(Turn::Valley);
        }
        None
    }

    /// The position of a bucket in the period.
    fn phase(&self, number: u64, period: &Period) -> usize {
        (number.saturating_sub(self.begins) % period.length as u64) as usize
    }
}

impl Period {
    /// The highest count of the period.
    pub fn most(&self) -> f64 {
        self.profile.iter().copied().fold(0.0, f64::max)
    }
}

/// The period of counts, if they have one. Its profile begins with the next bucket.
pub fn find(counts: &[f64]) -> Option<Period> {
    let lengths = [8, 4, 2, 1].map(|part| counts.len() / part);
    lengths.into_iter().find_map(|length| find_in(&counts[counts.len() - length..]))
}

/// The period of exactly these counts, if they have one.
fn find_in(counts: &[f64]) -> Option<Period> {
    let n = counts.len();
    if n < PERIODS_MIN * PERIOD_MIN {
        return None;
    }
    let logs: Vec<f64> = counts.iter().map(|count| (1.0 + count).ln()).collect();
    let flat = without_trend(&logs);
    let energy: f64 = flat.iter().map(|x| x * x).sum();
    if energy <= 1e-9 {
        return None;
    }
    let most = n / PERIODS_MIN;
    let alike = |lag: usize| {
        let sum: f64 = flat[lag..].iter().zip(&flat).map(|(a, b)| a * b).sum();
        // Scaled to as many pairs as there are buckets, so that a perfect period gives one.
        sum / energy * n as f64 / (n - lag) as f64
    };
    let all: Vec<f64> = (0..=most + 1).map(alike).collect();
    let bound = |lag: usize| ALIKE.max(NOISE / ((n - lag) as f64).sqrt());
    // Before the correlation first falls below zero, a slow load resembles itself: that is no
    // period.
    let first = (1..=most).find(|&lag| all[lag] < 0.0)?;
    let tops = (first.max(PERIOD_MIN)..=most).filter(|&lag| {
        all[lag] >= bound(lag) && all[lag] >= all[lag - 1] && all[lag] >= all[lag + 1]
    });
    let best = tops.clone().map(|lag| all[lag]).fold(0.0, f64::max);
    // A multiple of a period is a period too: the shortest of the equally good ones.
    let length = tops.into_iter().find(|&lag| all[lag] >= 0.9 * best)?;
    let periods = (n / length).min(PERIODS_MAX);
    let begin = n - periods * length;
    let profile: Vec<f64> = (0..length)
        .map(|at| {
            let same = (0..periods).map(|period| counts[begin + period * length + at]);
            median(same.collect())
        })
        .collect();
    let mut sorted = profile.clone();
    sorted.sort_by(f64::total_cmp);
    let quantile = |share: f64| sorted[((length - 1) as f64 * share) as usize];
    (quantile(0.9) >= SWING * quantile(0.1).max(1e-9)).then_some(Period { length, profile })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The values minus their straight-line fit.
fn without_trend(values: &[f64]) -> Vec<f64> {
    let n = values.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / n;
    let (mut up, mut across) = (0.0, 0.0);
    for (at, value) in values.iter().enumerate() {
        let x = at as f64 - middle;
        up += x * (value - mean);
        across += x * x;
    }
    let slope = if across > 0.0 { up / across } else { 0.0 };
    let line = |at: usize| mean + slope * (at as f64 - middle);
    values.iter().enumerate().map(|(at, value)| value - line(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Prng;

    /// A count near `mean`, as of independent requests.
    fn poisson(prng: &mut Prng, mean: f64) -> f64 {
        let normal: f64 = (0..12).map(|_| prng.unit()).sum::<f64>() - 6.0;
        (mean + mean.sqrt() * normal).max(0.0).round()
    }

    fn wave(prng: &mut Prng, buckets: usize, length: usize, noise: f64) -> Vec<f64> {
        (0..buckets)
            .map(|at| {
                let mean = if at % length < length / 2 { 1_000.0 } else { 100.0 };
                let wobble = 1.0 + noise * (prng.unit() - 0.5);
                poisson(prng, mean * wobble)
            })
            .collect()
    }

    #[test]
    fn periods_are_found() {
        let mut prng = Prng::new(1);
        for (length, noise) in [(10, 0.0), (24, 0.3), (60, 1.0), (37, 0.5)] {
            let counts = wave(&mut prng, 5 * length + 7, length, noise);
            let period = find(&counts).unwrap_or_else(|| panic!("a period of {length}"));
            assert!(period.length.abs_diff(length) <= 1, "{} of {length}", period.length);
            assert!(find(&counts[..2 * length]).is_none(), "two periods are no proof");
        }
        let sine = |at: usize| 500.0 * (1.05 + (at as f64 * std::f64::consts::TAU / 48.0).sin());
        let counts: Vec<_> = (0..200).map(|at| poisson(&mut prng, sine(at))).collect();
        assert!(find(&counts).unwrap().length.abs_diff(48) <= 1);
    }

    /// Noise of any kind, steps, trends, and waves too low to matter are no period.
    #[test]
    fn nothing_is_seen_where_nothing_is() {
        for seed in 0..300 {
            let mut prng = Prng::new(seed);
            let n = 30 + prng.below(400) as usize;
            let white: Vec<_> = (0..n).map(|_| poisson(&mut prng, 50.0)).collect();
            assert_eq!(find(&white), None, "white noise {seed}");
            let wild: Vec<_> = (0..n).map(|_| (-prng.unit().ln() * 100.0).round()).collect();
            assert_eq!(find(&wild), None, "wild noise {seed}");
            let step: Vec<_> = (0..n)
                .map(|at| poisson(&mut prng, if at > n / 2 { 900.0 } else { 60.0 }))
                .collect();
            assert_eq!(find(&step), None, "a step {seed}");
            let rise: Vec<_> = (0..n).map(|at| poisson(&mut prng, 10.0 * at as f64)).collect();
            assert_eq!(find(&rise), None, "a trend {seed}");
        }
        let low: Vec<_> = (0..300).map(|at| if at % 20 < 10 { 200.0 } else { 150.0 }).collect();
        assert_eq!(find(&low), None, "hardly a wave");
        assert_eq!(find(&[0.0; 300]), None);
    }

    /// With a known period, every valley is announced once, and every peak ahead of time.
    #[test]
    fn valleys_and_peaks_come_in_time() {
        let (bucket, length) = (Micros::from_secs(60), 30);
        let mut load = PeriodicLoad::new(bucket, Micros::from_secs(90));
        let mut prng = Prng::new(2);
        let counts = wave(&mut prng, 12 * length, length, 0.3);
        let mut turns = vec![];
        for (at, count) in counts.iter().enumerate() {
            // Four looks a bucket.
            for quarter in 0..4u64 {
                let now = Micros(at as u64 * bucket.0 + quarter * bucket.0 / 4);
                if let Some(turn) = load.see(now, (count / 4.0) as u64) {
                    turns.push((turn, at));
                }
            }
        }
        assert!(turns.len() >= 14, "{turns:?}");
        for pair in turns.chunks_exact(2) {
            let [(first, valley), (second, peak)] = pair else { unreachable!("pairs") };
            assert_eq!((*first, *second), (Turn::Valley, Turn::Peak), "{turns:?}");
            // A peak begins with every period, a valley in its middle.
            assert!((length / 2..length / 2 + 8).contains(&(valley % length)), "{turns:?}");
            assert!((length - 3..length).contains(&(peak % length)), "{turns:?}");
        }
    }

    /// White noise never gives a period, however long it is watched.
    #[test]
    fn noise_makes_no_period() {
        let mut load = PeriodicLoad::new(Micros::from_secs(60), Micros::from_secs(60));
        let mut prng = Prng::new(5);
        for at in 0..3_000u64 {
            let count = poisson(&mut prng, 20.0) as u64;
            assert_eq!(load.see(Micros::from_secs(60 * at), count), None, "bucket {at}");
        }
    }

    /// An idle time, or a filling, before the load hides its period only until the counts cover a
    /// few of them. A period that is no whole number of buckets does not blur.
    #[test]
    fn a_period_is_found_whatever_was_before() {
        for (seed, before) in [(1, 0), (2, 40), (3, 300), (4, 2_000)] {
            for length in [16.0, 20.3, 31.5] {
                let mut prng = Prng::new(seed);
                let mut load = PeriodicLoad::new(Micros::from_secs(1), Micros::from_millis(1_500));
                let (mut valleys, mut peaks) = (vec![], vec![]);
                for at in 0..before + 24 * length as u64 {
                    let phase = (at as f64 - before as f64) / length;
                    let mean = match phase {
                        _ if at < before => 0.0,
                        _ if phase.fract() < 0.5 => 800.0,
                        _ => 40.0,
                    };
                    match load.see(Micros::from_secs(at), poisson(&mut prng, mean) as u64) {
                        Some(Turn::Valley) => valleys.push(phase),
                        Some(Turn::Peak) => peaks.push(phase),
                        None => {}
                    }
                }
                let case = format!("{before} before periods of {length}: {valleys:?} {peaks:?}");
                assert!(valleys.first().is_some_and(|first| *first < 12.0), "{case}");
                assert!(valleys.len() >= 10 && valleys.len() - peaks.len() <= 1, "{case}");
                assert!(valleys.iter().all(|at| (0.5..0.9).contains(&at.fract())), "{case}");
                assert!(peaks.iter().all(|at| at.fract() > 0.7 || at.fract() < 0.1), "{case}");
            }
        }
    }
}
