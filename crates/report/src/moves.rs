//! Memory that moved between tenants: who had how much at two moments, and who gave to whom.
//!
//! An eviction names no receiver: the bytes of one item make room for many others. So a tenant that
//! lost memory gave it to all that gained, in proportion to their gains. More gains than losses
//! came from free memory, which is why a cache that fills is told apart: until then, tenants take
//! free memory, and nobody decides how it is divided.
//!
//! Memory may go to a tenant and come back. What happened at last is then the opposite of the sum.
//! So the stretch begins at the turn: the moment since which most memory has moved, or the last one
//! from which on a tenant got back a good part of what it had given, or lost what it had got.

use crate::rings::RINGS;
use crate::{History, Recent};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A cache fills while its items take less than the first share of the most that they took since;
/// it is full from the second share on.
const FILLS: (f64, f64) = (0.75, 0.97);

/// The stretch at the beginning in which misses are measured, in seconds: at least and at most.
const MISSED_S: (u64, u64) = (30, 120);

/// A move is worth a word from this share of the memory of all tenants on, and a gift is listed.
const MOVED_MIN: f64 = 0.005;
const LISTED_MIN: f64 = 0.001;

/// Moments among which the turn is looked for, and how much more has to have moved since it than
/// since the beginning.
const MOMENTS_MAX: usize = 60;
const CLEARLY: f64 = 1.25;
/// A tenant turned once this share of all memory came back to it, or left it again.
const TURNED: f64 = 0.05;

/// Memory that moved between tenants in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryMoves {
    /// The beginning, in Unix seconds: the moment since which most memory went from one tenant to
    /// another and not back.
    pub from_unix_s: u64,
    /// The moment from which the cache was full, or the beginning as asked for if that is later.
    pub full_unix_s: u64,
    /// Whether the cache was filling before `full_unix_s`.
    pub was_filling: bool,
    /// The tenants, in the order of their names.
    pub tenants: Vec<TenantMoved>,
}

/// The memory of a tenant at three moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TenantMoved {
    /// Its name.
    pub name: String,
    /// Bytes at the beginning as asked for, before the cache was full.
    pub began: u64,
    /// Bytes at [`MemoryMoves::full_unix_s`].
    pub full: u64,
    /// Bytes at [`MemoryMoves::from_unix_s`].
    pub before: u64,
    /// Bytes at the end.
    pub now: u64,
    /// The miss ratio of the first minutes after [`MemoryMoves::from_unix_s`].
    pub missed_before: Option<f64>,
    /// The requests of these minutes.
    #[serde(default)]
    pub then: Recent,
}

impl TenantMoved {
    /// Bytes that it has no longer.
    pub const fn lost(&self) -> u64 {
        self.before.saturating_sub(self.now)
    }

    /// Bytes that it has more than before.
    pub const fn gained(&self) -> u64 {
        self.now.saturating_sub(self.before)
    }
}

/// Memory that one tenant gave to another; nobody's memory is free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryGift<'a> {
    /// The tenant that gave; `None` for free memory.
    pub from: Option<&'a str>,
    /// The tenant that got it; `None` where it became free.
    pub to: Option<&'a str>,
    /// Bytes.
    pub bytes: u64,
}

impl MemoryMoves {
    /// All gifts but the smallest, the largest first.
    pub fn gifts(&self) -> Vec<MemoryGift<'_>> {
        let sum = |of: fn(&TenantMoved) -> u64| self.tenants.iter().map(of).sum::<u64>();
        let (lost, gained) = (sum(TenantMoved::lost), sum(TenantMoved::gained));
        let all = sum(|tenant| tenant.before).max(sum(|tenant| tenant.now));
        let side = |of: fn(&TenantMoved) -> u64, free: u64| {
            let own = self.tenants.iter().map(move |one| (Some(one.name.as_str()), of(one)));
            own.chain([(None, free)]).filter(|(_, bytes)| *bytes > 0)
        };
        let most = lost.max(gained).max(1) as f64;
        let mut gifts = vec![];
        for (from, less) in side(TenantMoved::lost, gained.saturating_sub(lost)) {
            for (to, more) in side(TenantMoved::gained, lost.saturating_sub(gained)) {
                let bytes = (less as f64 * more as f64 / most) as u64;
                if bytes as f64 >= LISTED_MIN * all as f64 && (from.is_some() || to.is_some()) {
                    gifts.push(MemoryGift { from, to, bytes });
                }
            }
        }
        gifts.sort_by_key(|gift| std::cmp::Reverse(gift.bytes));
        gifts
    }

    /// Whether the tenants gave each other enough to be worth a word.
    pub fn is_any(&self) -> bool {
        self.tenants.iter().any(|tenant| self.is_moved(tenant))
    }

    /// Whether a tenant's memory changed by enough to be worth a word.
    pub fn is_moved(&self, tenant: &TenantMoved) -> bool {
        let all: u64 = self.tenants.iter().map(|tenant| tenant.now).sum();
        (tenant.lost() + tenant.gained()) as f64 >= MOVED_MIN * all as f64
    }

    /// The memory and misses of a tenant.
    pub fn tenant(&self, name: &str) -> Option<&TenantMoved> {
        self.tenants.iter().find(|tenant| tenant.name == name)
    }
}

impl History {
    /// The memory that moved between tenants since a moment.
    pub fn moves(&self, since_unix_s: u64, now_unix_s: u64) -> MemoryMoves {
        let since = u32::try_from(since_unix_s).unwrap_or(u32::MAX);
        let ring = self.ring(since);
        let step = RINGS[ring].0;
        let series: Vec<_> = self
            .tenants
            .iter()
            .map(|(name, series)| {
                let points = series.since(ring, since);
                let used = points.iter().map(|point| (point.unix_s / step, point.used_kib));
                (name, used.collect::<BTreeMap<u32, u32>>())
            })
            .collect();
        let steps: Vec<u32> =
            self.since(None, since_unix_s).iter().map(|point| point.unix_s / step).collect();
        let (Some(&first), Some(&last)) = (steps.first(), steps.last()) else {
            return MemoryMoves::default();
        };
        let held = |used: &BTreeMap<u32, u32>, at: u32| {
            let last = used.range(..=at).next_back();
            last.map_or(0, |(_, kib)| u64::from(*kib) << 10)
        };
        let total = |at: u32| series.iter().map(|(_, used)| held(used, at)).sum::<u64>() as f64;
        let totals: Vec<(u32, f64)> = steps.iter().map(|&at| (at, total(at))).collect();
        let most = totals.iter().map(|(_, all)| *all).fold(0.0, f64::max);
        let low = totals.iter().rposition(|(_, all)| *all < FILLS.0 * most);
        let full = low.and_then(|low| {
            let later = &totals[low..];
            later.iter().find(|(_, all)| *all >= FILLS.1 * most).map(|(at, _)| *at)
        });
        let full_at = full.unwrap_or(first);
        let moved = |from: u32| {
            let gained =
                |used: &BTreeMap<u32, u32>| held(used, last).saturating_sub(held(used, from));
            series.iter().map(|(_, used)| gained(used)).sum::<u64>()
        };
        let later: Vec<u32> = steps.iter().copied().filter(|&at| at >= full_at).collect();
        let apart = later.len().div_ceil(MOMENTS_MAX).max(1);
        let turn = later.iter().copied().step_by(apart).max_by_key(|&at| moved(at));
        // Memory that went to and fro says little, unless it is clearly more since the turn.
        let is_clear = |at: &u32| moved(*at) as f64 > CLEARLY * moved(full_at) as f64;
        let from = turn.filter(is_clear).unwrap_or(full_at);
        let back = TURNED * total(last);
        let turned = series.iter().filter_map(|(_, used)| {
            let now = held(used, last);
            let has_lost = now < held(used, from);
            let since = later.iter().copied().step_by(apart).filter(|&at| at >= from);
            let away = |at: u32| held(used, at).abs_diff(now);
            // The last moment at which it had least, or most.
            let turn = since.max_by_key(|&at| {
                let is_beyond = (held(used, at) < now) == has_lost;
                if is_beyond { away(at) } else { 0 }
            })?;
            let is_turn = (held(used, turn) < now) == has_lost && away(turn) as f64 >= back;
            is_turn.then_some(turn)
        });
        let from = turned.max().unwrap_or(from);
        let unix_s = |at: u32| u64::from(at * step).max(since_unix_s);
        let from_unix_s = unix_s(from);
        let missed_s = (now_unix_s.saturating_sub(from_unix_s) / 3).clamp(MISSED_S.0, MISSED_S.1);
        let tenants = series.iter().map(|(name, used)| {
            let then = self.between(Some(name), from_unix_s, from_unix_s + missed_s);
            TenantMoved {
                name: (*name).clone(),
                began: held(used, first),
                full: held(used, full_at),
                before: held(used, from),
                now: held(used, last),
                missed_before: then.miss_ratio(),
                then,
            }
        });
        MemoryMoves {
            from_unix_s,
            full_unix_s: unix_s(full_at),
            was_filling: full.is_some(),
            tenants: tenants.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Point;

    /// Adds a second in which `jobs` holds 600 KiB less what went to `web`, which had 400.
    fn push_two(history: &mut History, unix_s: u32, went_kib: f64) {
        let point = |used: f64| Point {
            unix_s,
            reads: 100,
            misses: 10,
            used_kib: used as u32,
            ..Point::default()
        };
        let points = [("jobs", point(600.0 - went_kib)), ("web", point(400.0 + went_kib))];
        history.push(points.into_iter());
    }

    /// `web` takes 300 KiB from `jobs`, and later `jobs` takes 200 of them back.
    #[test]
    fn what_went_to_and_fro_is_told_since_the_turn() {
        let begin = 1_795_700_000;
        let mut history = History::default();
        for second in 0..1_000_u32 {
            let went = f64::from(second.saturating_sub(100).min(100)) * 3.0;
            let came = f64::from(second.saturating_sub(600).min(100)) * 2.0;
            push_two(&mut history, begin + second, went - came);
        }
        let moves = history.moves(u64::from(begin), u64::from(begin) + 999);
        let from = moves.from_unix_s - u64::from(begin);
        assert!((200..=620).contains(&from), "{from}");
        let gifts = moves.gifts();
        assert_eq!((gifts[0].from, gifts[0].to), (Some("web"), Some("jobs")));
        assert!(gifts[0].bytes.abs_diff(200 << 10) < 10 << 10, "{gifts:?}");
    }

    /// `web` takes 300 KiB of 1 000 from `jobs`, and `jobs` begins to take them back: it is the one
    /// that gets, though it has less than at the beginning.
    #[test]
    fn who_takes_back_is_told_soon() {
        let begin = 1_795_700_000;
        let moves = |seconds: u32| {
            let mut history = History::default();
            for second in 0..seconds {
                let went = f64::from(second.saturating_sub(100).min(100)) * 3.0;
                let came = f64::from(second.saturating_sub(600)) * 2.0;
                push_two(&mut history, begin + second, went - came);
            }
            history.moves(u64::from(begin), u64::from(begin + seconds) - 1)
        };
        let gift = |moves: &MemoryMoves| {
            let gift = moves.gifts()[0];
            (gift.from.map(str::to_owned), gift.to.map(str::to_owned))
        };
        let [jobs, web] = ["jobs", "web"].map(|name| Some(name.to_owned()));
        assert_eq!(gift(&moves(600)), (jobs.clone(), web.clone()));
        let later = moves(650);
        assert_eq!(gift(&later), (web, jobs));
        assert!(later.from_unix_s >= u64::from(begin) + 580, "{}", later.from_unix_s);
    }

    /// A cache of 1 000 KiB fills in 100 s. Then `jobs` gives 200 KiB to `web` and 100 to `search`,
    /// and misses twice as often.
    #[test]
    fn a_cache_fills_and_then_one_gives_to_two() {
        let begin = 1_795_700_000;
        let mut history = History::default();
        for second in 0..1_000_u32 {
            let filled = f64::from(second.min(100)) / 100.0;
            let moved = f64::from(second.saturating_sub(400).min(300)) / 300.0;
            let point = |held: f64, gains: f64, misses| Point {
                unix_s: begin + second,
                reads: 100,
                misses,
                used_kib: (held * filled + gains * moved) as u32,
                ..Point::default()
            };
            let jobs = point(600.0, -300.0, if second < 400 { 20 } else { 40 });
            let points = [
                ("jobs", jobs),
                ("search", point(100.0, 100.0, 10)),
                ("web", point(300.0, 200.0, 10)),
            ];
            history.push(points.into_iter());
        }
        let now = u64::from(begin) + 999;
        let moves = history.moves(u64::from(begin) - 60, now);
        assert!(moves.was_filling);
        let filled = moves.from_unix_s - u64::from(begin);
        assert!((90..=110).contains(&filled), "{filled}");
        let jobs = moves.tenant("jobs").unwrap();
        assert!(jobs.before.abs_diff(600 << 10) < 30 << 10 && jobs.now == 300 << 10, "{jobs:?}");
        assert!((jobs.missed_before.unwrap() - 0.2).abs() < 0.01, "{jobs:?}");
        let gifts = moves.gifts();
        let given: Vec<_> = gifts.iter().filter(|gift| gift.from == Some("jobs")).collect();
        assert_eq!(
            given.iter().map(|gift| gift.to).collect::<Vec<_>>(),
            [Some("web"), Some("search")]
        );
        let bytes: u64 = given.iter().map(|gift| gift.bytes).sum();
        assert!(bytes.abs_diff(jobs.lost()) < 1 << 10, "what was lost was given: {gifts:?}");
        // From a moment when it was full, nothing filled.
        let late = history.moves(u64::from(begin) + 350, now);
        assert!(!late.was_filling && late.from_unix_s >= u64::from(begin) + 350, "{late:?}");
        assert!(history.moves(now - 100, now).gifts().is_empty());
        assert_eq!(History::default().moves(0, now), MemoryMoves::default());
    }
}
