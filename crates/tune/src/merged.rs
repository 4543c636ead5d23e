//! Snapshots in units: the cost of each pool with every number of units above its floor, under the
//! best of its policies.
//!
//! The merged curve of a pool is the least over its candidate policies at each size, together with
//! the policy that gives it [kRedis eq. 4]. Policies interact only through the memory they take. So
//! choosing the policy for each size first and dividing the memory afterwards loses nothing.
//!
//! Units are counted from the floor up. So floors are met to the byte, for any unit.

use crate::snapshot::Pool;
use crate::{Evictor, Snapshot};
use curve::{Bytes, MissRatio};

/// A snapshot, divided into units.
#[derive(Clone, Debug)]
pub(crate) struct Problem<'a> {
    snapshot: &'a Snapshot,
    unit: Bytes,
    /// Units to distribute.
    pub(crate) total: usize,
    /// The pools with at least one curve.
    pub(crate) rows: Vec<Row>,
    /// Row of each pool; `None` for pools that keep their memory.
    row_of: Vec<Option<usize>>,
    floors: Vec<Bytes>,
    notes: Vec<String>,
}

/// One pool in units above its floor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Cost by units, up to the most that the pool may have.
    pub costs: Vec<f64>,
    /// The fewest units that it must have.
    pub low: usize,
    /// Units that it has now.
    pub now: usize,
    /// The candidate policy behind each cost.
    chosen: Vec<u8>,
}

impl Row {
    /// A row of these costs, without a floor, with `now` units at present.
    pub fn new(costs: Vec<f64>, now: usize) -> Self {
        Self { costs, now, ..Self::default() }
    }
}

impl<'a> Problem<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        let mut notes = vec![];
        let known = |pool: &Pool| !pool.candidates.is_empty();
        let held: Bytes = snapshot.pools.iter().filter(|p| !known(p)).map(|pool| pool.budget).sum();
        for pool in snapshot.pools.iter().filter(|pool| !known(pool)) {
            notes.push(format!("{}: not enough is known, so it keeps its share", pool.name));
        }
        let memory = snapshot.memory.saturating_sub(held);
        let floors = floors(snapshot, memory, &mut notes);
        let unit = snapshot.unit();
        let used: Bytes = floors.iter().copied().sum();
        let total = (memory.saturating_sub(used).0 / unit.0) as usize;
        let (mut rows, mut row_of) = (vec![], vec![]);
        for (pool, &floor) in snapshot.pools.iter().zip(&floors) {
            row_of.push(known(pool).then_some(rows.len()));
            if known(pool) {
                rows.push(row(snapshot, pool, floor, unit, total));
            }
        }
        // Pools that hold more than the limit (which fell) cannot all stay within a band.
        if rows.iter().map(|row| row.low).sum::<usize>() > total {
            for row in &mut rows {
                row.low = 0;
            }
        }
        Self { snapshot, unit, total, rows, row_of, floors, notes }
    }

    /// Converts units to bytes and policies. Memory that no pool can use is shared in proportion:
    /// it is better as a reserve than unused.
    pub(crate) fn division(&self, units: &[usize]) -> (Vec<(Bytes, Evictor)>, Vec<String>) {
        let mut division = self.exact(units);
        let given: Bytes = division.iter().map(|(budget, _)| *budget).sum();
        let spare = self.snapshot.memory.saturating_sub(given).as_f64();
        let base: f64 = self
            .row_of
            .iter()
            .zip(&division)
            .filter(|(row, _)| row.is_some())
            .map(|(_, (budget, _))| budget.as_f64())
            .sum();
        for (at, pool) in self.snapshot.pools.iter().enumerate() {
            if self.row_of[at].is_some() && base > 0.0 {
                let budget = &mut division[at].0;
                *budget += Bytes((spare * budget.as_f64() / base) as u64);
                *budget = pool.cap.map_or(*budget, |cap| (*budget).min(cap.max(self.floors[at])));
            }
        }
        (division, self.notes.clone())
    }

    /// Converts units to bytes and policies, and leaves the rest unused.
    pub(crate) fn exact(&self, units: &[usize]) -> Vec<(Bytes, Evictor)> {
        self.snapshot
            .pools
            .iter()
            .enumerate()
            .map(|(at, pool)| match self.row_of[at] {
                None => (pool.budget, pool.evictor),
                Some(row) => {
                    let chosen = self.rows[row].chosen[units[row]];
                    let evictor = pool.candidates[chosen as usize].evictor;
                    (self.floors[at] + Bytes(self.unit.0 * units[row] as u64), evictor)
                }
            })
            .collect()
    }
}

/// The floors that can be met: each pool's own, raised where the objective needs it, and cut where
/// the memory is too small for all. A cut spares the heavier pools: each pool gets its floor up to
/// a level in proportion to its weight.
fn floors(snapshot: &Snapshot, memory: Bytes, notes: &mut Vec<String>) -> Vec<Bytes> {
    let known = |pool: &Pool| !pool.candidates.is_empty();
    let own: Vec<_> =
        snapshot.pools.iter().map(|pool| if known(pool) { pool.floor } else { Bytes(0) }).collect();
    let wanted: Bytes = own.iter().copied().sum();
    if wanted > memory {
        notes.push(format!("floors of {wanted} do not fit into {memory}: each shrinks by weight"));
        return cut(&own, &snapshot.pools, memory);
    }
    let Some(slack) = snapshot.objective.slack() else { return own };
    let weights: f64 = snapshot.pools.iter().filter(|pool| known(pool)).map(|p| p.weight).sum();
    let raised: Vec<_> = snapshot
        .pools
        .iter()
        .zip(&own)
        .map(|(pool, &own)| {
            if !known(pool) || weights <= 0.0 {
                return own;
            }
            let share = Bytes((memory.as_f64() * pool.weight / weights) as u64);
            let least = |at: Bytes| {
                pool.candidates.iter().map(|known| known.curve.at(at).0).fold(1.0, f64::min)
            };
            let goal = MissRatio(least(share) * (1.0 + slack));
            let sizes = pool.candidates.iter().filter_map(|known| known.curve.size_for(goal));
            let need = sizes.min().unwrap_or(share).min(share);
            own.max(pool.cap.map_or(need, |cap| need.min(cap)))
        })
        .collect();
    let sum: Bytes = raised.iter().copied().sum();
    if sum > memory { own } else { raised }
}

fn cut(floors: &[Bytes], pools: &[Pool], memory: Bytes) -> Vec<Bytes> {
    let at_level = |level: f64| -> Vec<Bytes> {
        let all = floors.iter().zip(pools);
        all.map(|(floor, pool)| Bytes((level * pool.weight).min(floor.as_f64()) as u64)).collect()
    };
    let fits = |level: f64| at_level(level).into_iter().sum::<Bytes>() <= memory;
    let least = pools.iter().map(|pool| pool.weight).fold(f64::INFINITY, f64::min);
    let (mut low, mut high) = (0.0, memory.as_f64() / least.max(1e-9));
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if fits(middle) { low = middle } else { high = middle }
    }
    at_level(low)
}

fn row(snapshot: &Snapshot, pool: &Pool, floor: Bytes, unit: Bytes, total: usize) -> Row {
    let most = pool.cap.map_or(total, |cap| (cap.saturating_sub(floor).0 / unit.0) as usize);
    let most = most.min(total);
    let mut costs = Vec::with_capacity(most + 1);
    let mut chosen = Vec::with_capacity(most + 1);
    let (mut least, mut least_by) = (f64::INFINITY, 0);
    for units in 0..=most {
        let size = floor + Bytes(unit.0 * units as u64);
        for (at, candidate) in pool.candidates.iter().enumerate() {
            let other = candidate.evictor != pool.evictor;
            let margin =
                if other { snapshot.switch_margin.max(candidate.chance_at(size)) } else { 0.0 };
            let cost = snapshot.cost_at(pool, candidate.curve.at(size)) * (1.0 + margin);
            // At equal cost the present policy stays.
            if cost < least || (cost == least && !other) {
                (least, least_by) = (cost, at as u8);
            }
        }
        costs.push(least);
        chosen.push(least_by);
    }
    let above = pool.budget.saturating_sub(floor).as_f64() / unit.as_f64();
    let now = (above.round() as usize).min(most);
    // A band never keeps a pool below its floor.
    match snapshot.band {
        None => Row { costs, low: 0, now, chosen },
        Some(band) => {
            costs.truncate(now + band + 1);
            // Rounded down, so that the low ends together never exceed the total.
            let low = (above as usize).min(most).saturating_sub(band);
            Row { costs, low, now, chosen }
        }
    }
}
