//! The history of requests and memory at four resolutions (`rings.rs`), and the changes.
//!
//! Each tenant has a series, one more series holds all tenants together, and one the process. The
//! memory of all
//! series is bounded: the more tenants there are, the less far back each series reaches. With more
//! than [`TENANTS_MAX`] tenants, only the tenants that were read first have a series.

use crate::estimates::Estimates;
use crate::gains::ComparedMinutes;
use crate::loads::Loads;
use crate::rings::{Point, RINGS, RingStep, TimeSeries};
use crate::shift::coarse;
use crate::{Change, ChangeKind, Effect, Moved, ProcessPoint, Recent, Shift, Tenant};
use base::Cause;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Memory of all points together.
const BYTES_MAX: usize = 1_600 << 10;

/// The largest number of tenants with a series of their own.
pub const TENANTS_MAX: usize = 128;

/// The shortest and the longest stretch that *lately* means, in seconds: a shorter one holds too
/// few requests.
const RECENT_S: (u64, u64) = (60, 600);

/// A cache counts as quiet after this many seconds without a read.
const QUIET_S: u64 = 30;

/// How many seconds back the search for a change of misses goes.
const SHIFT_S: u64 = 2 * 3_600;

/// The largest number of changes kept.
pub(crate) const CHANGES_MAX: usize = 256;

/// The series of all tenants and the list of changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    all: TimeSeries<Point>,
    pub(crate) tenants: BTreeMap<String, TimeSeries<Point>>,
    /// The process itself; a later process begins its own series.
    #[serde(skip)]
    process: TimeSeries<ProcessPoint>,
    pub(crate) changes: VecDeque<Change>,
    /// The last time that misses settled after a known change, for example when a cold cache became
    /// full; in Unix seconds.
    pub(crate) settled_unix_s: u64,
    /// The last second with a read in this run, in Unix seconds; 0 before the first.
    #[serde(skip)]
    read_unix_s: u64,
    #[serde(skip)]
    estimates: Estimates,
    /// The gain of self-tuning, which the warm file keeps in a block of its own.
    #[serde(skip)]
    pub(crate) compared: ComparedMinutes,
    #[serde(skip)]
    pub(crate) loads: Loads,
}

/// The stretch that *lately* means. It ends now, or with the last read if the cache is quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lately {
    /// Its beginning, in Unix seconds.
    pub from_unix_s: u64,
    /// Its end, in Unix seconds.
    pub to_unix_s: u64,
    /// Seconds since then; 0 unless the cache is quiet.
    pub quiet_s: u64,
}

impl History {
    /// Adds one point per tenant: its requests since the previous call. The history begins with the
    /// first read, so that rates of a young server do not count the time without clients.
    pub fn push<'a>(&mut self, points: impl Iterator<Item = (&'a str, Point)>) {
        let mut all: Option<Point> = None;
        let share = self.share();
        for (name, point) in points {
            match &mut all {
                None => all = Some(point),
                Some(all) => {
                    let (used, budget) = (all.used_kib, all.budget_kib);
                    all.add(&point);
                    all.used_kib = used.saturating_add(point.used_kib);
                    all.budget_kib = budget.saturating_add(point.budget_kib);
                }
            }
            if let Some(series) = self.tenants.get_mut(name) {
                series.push(share, &point);
            } else if point.reads > 0 && self.tenants.len() < TENANTS_MAX {
                self.tenants.entry(name.to_owned()).or_default().push(share, &point);
            } else {
                continue;
            }
            if point.reads > 0 {
                self.loads.read(name, point.unix_s.into());
            }
        }
        if let Some(mut all) = all
            && (all.reads > 0 || self.all.has_begun())
        {
            all.forecast = -1.0;
            self.all.push(share, &all);
            if all.reads > 0 {
                self.read_unix_s = all.unix_s.into();
            }
        }
    }

    /// Adds a point of the process: what it did since the previous call.
    pub fn push_process(&mut self, point: &ProcessPoint) {
        self.process.push(1.0, point);
    }

    /// The points of the process after `unix_s`, at the finest resolution that reaches so far back.
    pub fn process_since(&self, unix_s: u64) -> Vec<ProcessPoint> {
        let unix_s = u32::try_from(unix_s).unwrap_or(u32::MAX);
        self.process.since(self.process.ring(unix_s), unix_s)
    }

    /// The share of the full reach that each series gets within [`BYTES_MAX`].
    fn share(&self) -> f64 {
        let full: usize = RINGS.iter().map(|(_, steps)| steps * size_of::<Point>()).sum();
        BYTES_MAX as f64 / (full * (self.tenants.len() + 1)) as f64
    }

    /// Notes the curves of all tenants, once a minute.
    pub fn note_curves(&mut self, now_unix_s: u64, tenants: &[Tenant]) {
        self.estimates.note(now_unix_s, tenants);
    }

    /// Widens the bands of all curves so that they hold the earlier curves of this stretch.
    pub fn widen(&self, tenants: &mut [Tenant], lately: Lately) {
        for tenant in tenants {
            self.estimates.widen(tenant, lately.from_unix_s);
        }
    }

    /// Appends a change, and drops the oldest one when the list is full.
    pub fn note(&mut self, change: Change) {
        if self.changes.len() == CHANGES_MAX {
            self.changes.pop_front();
        }
        self.changes.push_back(change);
    }

    /// Continues the history of an earlier run. The points recorded since the start are dropped,
    /// for they span only seconds; the changes since the start are kept.
    pub fn go_on_from(&mut self, before: Self) {
        let now = std::mem::replace(self, before);
        self.process = now.process;
        self.read_unix_s = now.read_unix_s;
        self.estimates = now.estimates;
        self.compared = now.compared;
        self.loads = now.loads;
        for change in now.changes {
            self.note(change);
        }
    }

    /// The stretch that *lately* means: the last 60 to 600 seconds, or those before the last read.
    /// It begins at the last change of load, misses, settings or start, so that figures do not mix
    /// the time before it with the time since.
    pub fn lately(&self, now_unix_s: u64) -> Lately {
        let quiet_s = now_unix_s.saturating_sub(self.read_unix_s);
        let is_quiet = self.read_unix_s > 0 && quiet_s >= QUIET_S;
        let (to_unix_s, quiet_s) =
            if is_quiet { (self.read_unix_s, quiet_s) } else { (now_unix_s, 0) };
        // The load that ended is such a change, too, and the figures are of the time before it.
        let known = if is_quiet { to_unix_s.saturating_sub(QUIET_S) } else { to_unix_s };
        let begins = |change: &&Change| change.kind.begins_a_window() && change.unix_s <= known;
        let last = self.changes.iter().rev().find(begins).map_or(0, |change| change.unix_s);
        let last = if self.settled_unix_s <= known { last.max(self.settled_unix_s) } else { last };
        let seconds = to_unix_s.saturating_sub(last).clamp(RECENT_S.0, RECENT_S.1);
        Lately { from_unix_s: to_unix_s.saturating_sub(seconds), to_unix_s, quiet_s }
    }

    /// How many seconds back *lately* begins.
    pub fn window_s(&self, now_unix_s: u64) -> u64 {
        now_unix_s.saturating_sub(self.lately(now_unix_s).from_unix_s)
    }

    /// The largest change of each tenant's misses within the last two hours, with the tenant that
    /// gained most memory from then on.
    pub fn shifts(&self, names: &[&str], now_unix_s: u64) -> Vec<Option<Shift>> {
        let from = now_unix_s.saturating_sub(SHIFT_S);
        let series: Vec<(&str, Vec<Point>)> =
            names.iter().map(|name| (*name, coarse(&self.since(Some(name), from)))).collect();
        let shift = |at: usize| {
            let mut shift = Shift::of(&series[at].1)?;
            let others = series.iter().enumerate().filter(|(other, _)| *other != at);
            shift.name_winner(others.map(|(_, (name, points))| (*name, &points[..])));
            let of = |from, to| self.between(Some(series[at].0), from, to);
            let since = of(shift.unix_s, now_unix_s);
            shift.because = since.other_keys(&of(from, shift.unix_s));
            Some(shift)
        };
        (0..series.len()).map(shift).collect()
    }

    /// [`Self::lately`], shortened to the latest of `shifts`: for histories in which nobody calls
    /// [`Self::note_shifts`].
    pub fn lately_since(&self, shifts: &[Option<Shift>], now_unix_s: u64) -> Lately {
        let lately = self.lately(now_unix_s);
        let last = shifts.iter().flatten().map(|shift| shift.unix_s).max().unwrap_or_default();
        let seconds = lately.to_unix_s.saturating_sub(last).clamp(RECENT_S.0, RECENT_S.1);
        let from_unix_s = lately.from_unix_s.max(lately.to_unix_s.saturating_sub(seconds));
        Lately { from_unix_s, ..lately }
    }

    /// The changes, the oldest first.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.changes.iter()
    }

    /// The newest plan, so that the caller can add its outcome.
    pub fn last_plan(&mut self) -> Option<&mut Change> {
        self.changes.iter_mut().rev().find(|change| change.kind == ChangeKind::Plan)
    }

    /// The resolution that reaches back to a moment.
    pub(crate) fn ring(&self, unix_s: u32) -> usize {
        self.all.ring(unix_s)
    }

    fn series(&self, tenant: Option<&str>) -> Option<&TimeSeries<Point>> {
        tenant.map_or(Some(&self.all), |name| self.tenants.get(name))
    }

    /// The points of a tenant, or of all, after `unix_s`, at the finest resolution that reaches so
    /// far back.
    pub fn since(&self, tenant: Option<&str>, unix_s: u64) -> Vec<Point> {
        let unix_s = u32::try_from(unix_s).unwrap_or(u32::MAX);
        self.series(tenant).map_or(vec![], |series| series.since(series.ring(unix_s), unix_s))
    }

    /// The sum of the points of a tenant, or of all, in the last `seconds`. Every tenant is summed
    /// over the same stretch, so the tenants add up to the total.
    pub fn recent(&self, tenant: Option<&str>, now_unix_s: u64, seconds: u64) -> Recent {
        self.between(tenant, now_unix_s.saturating_sub(seconds), now_unix_s)
    }

    /// [`Self::recent`] of the stretch that *lately* means.
    pub fn of(&self, tenant: Option<&str>, lately: Lately) -> Recent {
        self.between(tenant, lately.from_unix_s, lately.to_unix_s)
    }

    /// [`Self::recent`] between two moments.
    pub fn between(&self, tenant: Option<&str>, from_unix_s: u64, to_unix_s: u64) -> Recent {
        let small = |unix_s: u64| u32::try_from(unix_s).unwrap_or(u32::MAX);
        let (from, to) = (small(from_unix_s), small(to_unix_s));
        // Use the resolution of the total: a younger series may reach as far at a finer one.
        let ring = self.all.ring(from);
        let step = RINGS[ring].0;
        let within = |series: &TimeSeries<Point>| {
            let mut points = series.since(ring, from);
            points.retain(|point| point.unix_s <= to);
            points
        };
        let mut recent = Recent::of(&self.series(tenant).map_or(vec![], within));
        recent.seconds = match &within(&self.all)[..] {
            // The first point covers one step before its end.
            [first, .., last] => u64::from(last.unix_s - first.unix_s + step),
            points => points.len() as u64,
        };
        recent.seconds = recent.seconds.min(to_unix_s.saturating_sub(from_unix_s));
        recent
    }

    /// Whether a tenant reads fewer and fewer keys for the first time: in the later half of a
    /// stretch at least a tenth less of its reads than in the earlier half, and by more than chance
    /// makes in 19 of 20 cases.
    pub fn first_reads_fall(&self, tenant: &str, lately: Lately) -> bool {
        const FALL_MIN: f64 = 0.1;
        let (from, to) = (lately.from_unix_s, lately.to_unix_s);
        let middle = from.midpoint(to);
        // The share of first reads, and its variance: sampled misses are counted.
        let share = |from, to| {
            let half = self.between(Some(tenant), from, to);
            let (first, all) = (half.missed_for(Cause::NeverSeen)?, half.miss_ratio()?);
            Some((first, first * all / half.sampled as f64))
        };
        share(from, middle).zip(share(middle, to)).is_some_and(
            |((before, chance), (since, more))| {
                before - since > (FALL_MIN * before).max(2.0 * (chance + more).sqrt())
            },
        )
    }

    /// The memory of this history in bytes, approximately.
    pub fn bytes(&self) -> usize {
        let series = std::iter::once(&self.all).chain(self.tenants.values());
        let points: usize = series.map(TimeSeries::bytes).sum();
        let changes = self.changes.iter().map(|change| {
            let moved = change.moved.iter().map(|moved| size_of::<Moved>() + moved.tenant.len());
            let effects = change.effects.capacity() * size_of::<Effect>();
            let claims = change.claims.capacity() * size_of::<crate::claim::Claim>();
            size_of::<Change>() + change.text.len() + moved.sum::<usize>() + effects + claims
        });
        let minutes = self.compared.bytes();
        points + self.process.bytes() + self.estimates.bytes() + minutes + changes.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(unix_s: u32) -> Point {
        Point { unix_s, reads: 10, misses: 3, used_kib: 7, forecast: 0.25, ..Point::default() }
    }

    #[test]
    fn every_resolution_holds_all_requests() {
        let mut history = History::default();
        for second in 0..7_200 {
            history.push([("a", point(second)), ("b", point(second))].into_iter());
        }
        let now = 7_199;
        for (back, step) in [(250, 1), (3_000, 10), (7_000, 60)] {
            let points = history.since(Some("a"), now - back);
            assert!(points.len().abs_diff(back as usize / step) <= 1, "{back}: {}", points.len());
            let recent = history.recent(Some("a"), now, back);
            assert!(recent.reads.abs_diff(10 * back) <= 10 * step as u64, "{}", recent.reads);
            assert!((recent.miss_ratio().unwrap() - 0.3).abs() < 1e-9);
            let both = history.recent(None, now, back);
            assert!(both.reads.abs_diff(20 * back) <= 20 * step as u64);
        }
        assert_eq!(history.since(None, now - 60)[0].used_kib, 14, "of both");
        let forecasts = history.forecasts();
        assert!(forecasts.count > 200 && (forecasts.most - 0.05).abs() < 1e-6, "{forecasts:?}");
        assert!(history.since(Some("nobody"), 0).is_empty());
    }

    #[test]
    fn time_without_clients_at_the_start_does_not_count() {
        let mut history = History::default();
        for second in 0..100 {
            let reads = if second < 90 { 0 } else { 10 };
            history.push([("a", Point { reads, ..point(second) })].into_iter());
        }
        for tenant in [None, Some("a")] {
            let recent = history.recent(tenant, 99, 600);
            assert_eq!((recent.seconds, recent.reads), (10, 100));
        }
        history.push([("a", Point { reads: 0, ..point(100) })].into_iter());
        assert_eq!(history.recent(None, 100, 600).seconds, 11, "a pause counts");
    }

    #[test]
    fn a_restart_goes_on() {
        let change = |unix_s| Change { unix_s, text: "started".into(), ..Change::default() };
        let mut before = History::default();
        before.note(change(1));
        (1..=100).for_each(|second| before.push([("a", point(second))].into_iter()));
        let mut history = History::default();
        history.note(change(200));
        history.push([("a", point(200))].into_iter());
        history.go_on_from(before);
        history.push([("a", point(201))].into_iter());
        assert_eq!(history.changes().map(|change| change.unix_s).collect::<Vec<_>>(), [1, 200]);
        // The second of the restart is lost.
        assert_eq!(history.recent(Some("a"), 201, 300).reads, 1_010);
        assert_eq!(history.since(Some("a"), 0).len(), 101);
    }

    #[test]
    fn memory_is_bounded_however_many_tenants_there_are() {
        for tenants in [1, 5, 40, 300] {
            let names: Vec<_> = (0..tenants).map(|at| format!("tenant{at}")).collect();
            let mut history = History::default();
            // A month with one point every ten minutes, then ten minutes with one point a second.
            let seconds = (0..4_500).map(|at| at * 600).chain(2_700_000..2_700_600);
            for second in seconds {
                history.push(names.iter().map(|name| (name.as_str(), point(second))));
            }
            assert!(history.bytes() < 2 << 20, "{tenants}: {}", history.bytes());
            let reach = 2_700_600 - history.since(None, 0)[0].unix_s;
            assert!(tenants > 5 || reach > 24 * 86_400, "{tenants}: {reach} s");
        }
    }
}
