//! Levels: the size of the pool at which each tenant holds its present memory.
//!
//! Plays have no floors and ceilings. A tenant bound by one of them has its own level. The others
//! share the level at which the memory held by all, within the bounds, equals the memory in use.

use crate::played::HOLDS;
use crate::{Report, Tenant};
use tune::pilot::Replayed;
use tune::tape::{Fared, GROUPS, Played};

/// Bisection steps in the search for a level.
const STEPS: usize = 48;

/// The size of the pool at which each tenant holds its present memory.
pub(crate) struct Levels<'a> {
    /// Each size that was played, with its play, the smallest first.
    pub(crate) grid: Vec<(f64, &'a Played)>,
    /// The level of each tenant, in bytes.
    pub(crate) of: Vec<f64>,
}

impl<'a> Levels<'a> {
    pub(crate) fn of(report: &Report, replayed: &'a Replayed) -> Option<Self> {
        let memory = replayed.memory.as_f64();
        let mut grid: Vec<(f64, &Played)> = vec![];
        for (size, played) in &replayed.sizes {
            let level = size.map_or_else(|| everything(replayed, played), base::Bytes::as_f64);
            if grid.last().is_none_or(|(last, _)| level > *last) {
                grid.push((level, played));
            }
        }
        let mut levels = Self { grid, of: vec![memory; report.tenants.len()] };
        let used: f64 = report.tenants.iter().map(|tenant| tenant.used as f64).sum();
        let held: f64 = (0..report.tenants.len()).map(|at| levels.held(at, memory)).sum();
        if held <= 0.0 {
            return None;
        }
        let scale = (used / held).clamp(HOLDS.0, HOLDS.1);
        let bounded = |levels: &Self, at: usize, level: f64| {
            let tenant: &Tenant = &report.tenants[at];
            let most = tenant.max.map_or(f64::INFINITY, |max| max as f64);
            let free = scale * levels.held(at, level);
            (free, free.max(tenant.min as f64).min(most))
        };
        let all = |level: f64| -> f64 {
            (0..report.tenants.len()).map(|at| bounded(&levels, at, level).1).sum()
        };
        let is_bound = |at: usize, level: f64| {
            let (free, held) = bounded(&levels, at, level);
            free != held
        };
        let shared = if (0..report.tenants.len()).any(|at| is_bound(at, memory)) {
            levels.level_of(used, all)
        } else {
            memory
        };
        let own = |at: usize| {
            if is_bound(at, shared) {
                let used = report.tenants[at].used as f64;
                levels.level_of(used, |level| scale * levels.held(at, level))
            } else {
                shared
            }
        };
        let of = (0..report.tenants.len()).map(own).collect();
        levels.of = of;
        Some(levels)
    }

    /// The level at which the increasing function `grows` reaches `wanted`.
    fn level_of(&self, wanted: f64, grows: impl Fn(f64) -> f64) -> f64 {
        let (mut low, mut high) = (0.0, self.grid.last().map_or(0.0, |(level, _)| *level));
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            if grows(middle) > wanted { high = middle } else { low = middle }
        }
        high
    }

    /// The result of a tenant in a pool of any size, interpolated between plays.
    pub(crate) fn fared(&self, at: usize, level: f64) -> Option<Fared> {
        let after = self.grid.partition_point(|(known, _)| *known < level);
        let tenant = |place: usize| self.grid.get(place)?.1.tenants.get(at).copied();
        let Some(right) = tenant(after) else { return tenant(self.grid.len().checked_sub(1)?) };
        let Some(before) = after.checked_sub(1) else {
            // Below the smallest play, memory shrinks in proportion and misses stay the same.
            let share = level / self.grid[0].0;
            return Some(Fared { held: right.held * share, ..right });
        };
        let left = tenant(before)?;
        let (from, to) = (self.grid[before].0, self.grid[after].0);
        let along = (level - from) / (to - from);
        Some(mix(&left, &right, along))
    }

    /// The result of a tenant that holds `bytes`, whatever the size of its pool.
    pub(crate) fn holding(&self, at: usize, bytes: f64) -> Option<Fared> {
        let mut all = self.grid.iter().filter_map(|(_, played)| played.tenants.get(at).copied());
        let first = all.next()?;
        // Without memory the tenant misses every read.
        let mut left = Fared { held: 0.0, misses: first.reads, ..first };
        for right in std::iter::once(first).chain(all) {
            if right.held >= bytes && right.held > left.held {
                return Some(mix(&left, &right, (bytes - left.held) / (right.held - left.held)));
            }
            if right.held >= left.held {
                left = right;
            }
        }
        Some(left)
    }

    fn held(&self, at: usize, level: f64) -> f64 {
        self.fared(at, level).map_or(0.0, |fared| fared.held)
    }
}

/// The linear interpolation between two results.
fn mix(left: &Fared, right: &Fared, along: f64) -> Fared {
    let mix = |left: f64, right: f64| left + along * (right - left);
    let groups = |of: fn(&Fared) -> &[f64; GROUPS]| {
        std::array::from_fn(|group| mix(of(left)[group], of(right)[group]))
    };
    Fared {
        held: mix(left.held, right.held),
        reads: groups(|fared| &fared.reads),
        misses: groups(|fared| &fared.misses),
        waits: groups(|fared| &fared.waits),
    }
}

/// The size of the pool that would hold every requested key.
fn everything(replayed: &Replayed, unbounded: &Played) -> f64 {
    let Some(present) = replayed.present() else { return 0.0 };
    let held = |played: &Played| played.tenants.iter().map(|fared| fared.held).sum::<f64>();
    replayed.memory.as_f64() * held(unbounded) / held(present).max(1.0)
}
