//! From counts to indices: the best rate of hits that keeping an item can earn over time.
//!
//! Hazards come first: among all keys that passed a bucket of ages, the share hit there, and the
//! share that ended otherwise.
//!
//! ```text
//! h[a] = hits[a] / exposure[a],     e[a] = ends[a] / exposure[a]
//! ```
//!
//! A few keys are weak evidence, so each hazard is shrunk towards that of the next larger group,
//! which has the weight of [`PRIOR`] keys. The groups, from the largest:
//!
//! ```text
//! tail         as often as what is younger by one and by two octaves: so nothing never seen
//!              is impossible, and an age that none has reached yet promises no more
//! everything
//! tenant
//! profile      all classes of the tenant that were hit, by age relative to the interval: for most
//!              loads the hazards of a class are those of the one beside it, an octave later
//! octave       of the interval, with those beside it at half weight
//! part         of the octave, with those beside it
//! ```
//!
//! The index follows. A policy may give an item up at any later age, and the best age has the most
//! hits for the time,
//!
//! ```text
//! S[0] = 1,   S[a+1] = S[a] · (1 - h[a] - e[a])                              survivors
//! time[a] = width[a] · S[a] · (1 - (h[a] + e[a]) / 2),    hits[a] = S[a] · h[a]
//! index[a] = max over b > a of (hits[a] + … + hits[b-1]) / (time[a] + … + time[b-1])
//! ```
//!
//! This is the index of Gittins for an item of this class and age \[1\]. All maxima come from one
//! pass over the ages from the right. The sums from a to its best stopping age are the first edge
//! of an upper hull. A new bucket in front is merged with the edges that are steeper than it.
//!
//! \[1\] Gittins. Bandit Processes and Dynamic Allocation Indices. JRSS B 1979.

use super::class::{AGES, FRACTION, OCTAVES, width};
use super::counts::AgeCounts;

/// Weight of a larger group in a smaller one, in keys; a whole weighs a little more in its parts.
pub(super) const PRIOR: f32 = 15.0;
pub(super) const PRIOR_OF_PARTS: f32 = 20.0;
/// Weight of the slow rate in the fast one, in keys.
pub(super) const PRIOR_OF_RATES: f32 = 60.0;
/// Buckets of younger ages from which the tail takes its hazard: two octaves.
const YOUNGER: usize = 2 << FRACTION;
/// Hazard of a bucket without younger ages: 0.3 an octave, 1 - 0.7^(1/8).
const TAIL: f32 = 0.043_604_1;
/// Weight of the neighbours of an octave in its counts.
const NEIGHBOUR: f32 = 0.5;
/// Limit of a hazard, which is a probability.
const HAZARD_MAX: f32 = 0.98;

/// The counts of an octave with a part of its neighbours' counts; `of` gives those of each octave.
/// The octave of keys never hit stands alone.
pub(super) fn with_neighbours<'a>(
    octave: usize,
    of: impl Fn(usize) -> Option<&'a AgeCounts>,
) -> AgeCounts {
    let mut own = of(octave).cloned().unwrap_or_default();
    if octave > 0 {
        for beside in [octave - 1, octave + 1] {
            if let Some(other) = of(beside).filter(|_| (1..OCTAVES).contains(&beside)) {
                own.add(other, NEIGHBOUR);
            }
        }
    }
    own
}

/// Shares of the keys that reach a bucket: keys hit in it, and keys that end there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hazards {
    pub(super) hit: Vec<f32>,
    end: Vec<f32>,
}

impl Hazards {
    /// Zero hazards for this number of ages.
    pub(super) fn none(ages: usize) -> Self {
        Self { hit: vec![0.0; ages], end: vec![0.0; ages] }
    }

    /// Hazards of all keys, for this number of ages, with or without the tail.
    pub(super) fn of_all(counts: &AgeCounts, ages: usize, has_tail: bool) -> Self {
        let first = if has_tail { TAIL } else { 0.0 };
        let mut all = Self { hit: vec![first; ages], end: vec![0.0; ages] };
        // Hazards of the last two octaves.
        let mut sum = 0.0f32;
        for age in 0..ages {
            let is_first = age < YOUNGER || !has_tail;
            let tail = if is_first { first } else { sum.max(0.0) / YOUNGER as f32 };
            let of = |counts: &[f32]| counts.get(age).copied().unwrap_or_default();
            let weight = of(&counts.risk) + PRIOR;
            all.hit[age] = (of(&counts.hits) + PRIOR * tail) / weight;
            all.end[age] = of(&counts.ends) / weight;
            sum += all.hit[age] - age.checked_sub(YOUNGER).map_or(0.0, |old| all.hit[old]);
        }
        all
    }

    /// Hazards of a group within the group of these, which weighs as much as `prior` keys.
    #[must_use]
    pub(super) fn within(&self, counts: &AgeCounts, prior: f32) -> Self {
        let mut own = self.clone();
        own.shrink(counts, prior);
        own
    }

    /// Turns these hazards into those of a group within their own.
    pub(super) fn shrink(&mut self, counts: &AgeCounts, prior: f32) {
        let of_group = counts.hits.iter().zip(&counts.risk);
        for ((hit, end), (hits, risk)) in self.hit.iter_mut().zip(&mut self.end).zip(of_group) {
            let share = 1.0 / (risk + prior);
            *hit = (hits + prior * *hit) * share;
            *end *= prior * share;
        }
        for ((end, ends), risk) in self.end.iter_mut().zip(&counts.ends).zip(&counts.risk) {
            *end += ends / (risk + prior);
        }
    }

    /// Adds other hazards, multiplied by `weight`.
    pub(super) fn add(&mut self, other: &Self, weight: f32) {
        for (own, other) in self.hit.iter_mut().zip(&other.hit) {
            *own += weight * other;
        }
        for (own, other) in self.end.iter_mut().zip(&other.end) {
            *own += weight * other;
        }
    }

    /// The index at each age: with the best stopping age, or without ever giving up the item.
    pub(super) fn indices(&self, stops: bool, into: &mut [f32]) {
        let mut room = [Edge::default(); AGES];
        let edges = &mut room[..into.len()];
        let mut survivors = 1.0;
        for (age, edge) in edges.iter_mut().enumerate() {
            let hit = self.hit[age].min(HAZARD_MAX);
            let (hit, end) = (f64::from(hit), f64::from(self.end[age].min(HAZARD_MAX - hit)));
            let time = f64::from(width(age)) * survivors * (1.0 - f64::midpoint(hit, end));
            *edge = Edge { hits: survivors * hit, time };
            // Stays above zero, however many buckets end everything.
            survivors = (survivors * (1.0 - hit - end)).max(1e-200);
        }
        if stops {
            steepest(edges, into);
        } else {
            let mut rest = Edge::default();
            for (edge, index) in edges.iter().zip(into).rev() {
                rest.merge(*edge);
                *index = rest.slope() as f32;
            }
        }
    }
}

/// Hits and time over consecutive buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Edge {
    hits: f64,
    time: f64,
}

impl Edge {
    fn slope(self) -> f64 {
        self.hits / self.time
    }

    fn merge(&mut self, other: Self) {
        self.hits += other.hits;
        self.time += other.time;
    }
}

/// Finds the steepest edge from each bucket on. The hull so far is kept in place, behind the
/// bucket.
fn steepest(edges: &mut [Edge], into: &mut [f32]) {
    let mut hull = edges.len();
    for at in (0..edges.len()).rev() {
        let mut edge = edges[at];
        while hull < edges.len() && edges[hull].hits * edge.time >= edge.hits * edges[hull].time {
            edge.merge(edges[hull]);
            hull += 1;
        }
        hull -= 1;
        edges[hull] = edge;
        into[at] = edge.slope() as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts by age: keys that reach it, hits and ends.
    fn counts(risk: &[f32], hits: &[(usize, f32)], ends: &[(usize, f32)]) -> AgeCounts {
        let mut made = AgeCounts { risk: risk.into(), hits: vec![0.0; risk.len()], ends: vec![] };
        for &(age, count) in hits {
            made.hits[age] = count;
        }
        for &(age, count) in ends {
            made.ends.resize(made.ends.len().max(age + 1), 0.0);
            made.ends[age] = count;
        }
        made
    }

    /// Hazards as counted, without a larger group.
    fn counted(counts: &AgeCounts) -> Hazards {
        let mut own = Hazards::none(AGES);
        own.shrink(counts, 1e-9);
        own
    }

    #[test]
    fn a_hazard_is_a_share_of_those_exposed() {
        let own = counted(&counts(&[10.0, 8.0, 5.0], &[(0, 2.0), (2, 5.0)], &[(1, 2.0)]));
        assert_eq!((own.hit[0], own.end[1], own.hit[2]), (0.2, 0.25, 1.0));
    }

    #[test]
    fn few_keys_are_as_their_group() {
        let group = Hazards::of_all(&counts(&[6e6; 10], &[(9, 3e6)], &[]), AGES, true);
        assert!((group.hit[9] - 0.5).abs() < 1e-4);
        assert_eq!(group.within(&AgeCounts::default(), PRIOR), group);
        let own = group.within(&counts(&[PRIOR; 30], &[], &[]), PRIOR);
        assert!((own.hit[9] - 0.25).abs() < 1e-4, "as many of its own weigh as much");
        assert!((own.hit[25] / group.hit[25] - 0.5).abs() < 1e-4, "never seen, and half of it");
        assert_eq!(own.hit[35], group.hit[35], "none came so far");
    }

    /// Out of a million old keys, one in a hundred was hit an octave: still older keys are hit no
    /// more often. Without any observation the hazard is 0.3 an octave, and without a tail it is 0.
    #[test]
    fn what_was_never_seen_is_as_what_is_younger() {
        let hits: Vec<_> = (0..100).map(|age| (age, 1e4 / 8.0)).collect();
        let seen = counts(&[1e6; 101], &hits, &[]);
        let octave = |hazards: &Hazards, from: usize| {
            1.0 - hazards.hit[from..from + 8].iter().map(|hit| 1.0 - hit).product::<f32>()
        };
        let all = Hazards::of_all(&seen, AGES, true);
        for from in [16, 90, 120, 200] {
            assert!((octave(&all, from) - 0.0095).abs() < 1e-3, "{}", octave(&all, from));
        }
        let nothing = Hazards::of_all(&AgeCounts::default(), AGES, true);
        assert!((octave(&nothing, 99) - 0.3).abs() < 1e-4);
        assert_eq!(octave(&Hazards::of_all(&seen, AGES, false), 120), 0.0);
    }

    #[test]
    fn an_octave_has_half_of_those_beside_it() {
        let of = |octave| counts(&[10f32.powi(octave)], &[], &[]);
        let all: Vec<AgeCounts> = (0..4).map(of).collect();
        let risk = |octave| with_neighbours(octave, |at| all.get(at)).risk[0];
        assert_eq!([0, 1, 2, 3].map(risk), [1.0, 10.0 + 50.0, 100.0 + 505.0, 1_000.0 + 50.0]);
    }

    fn slowly(edges: &[Edge]) -> Vec<f32> {
        let best = |from: usize| {
            let mut sum = Edge::default();
            let slopes = edges[from..].iter().map(|edge| {
                sum.merge(*edge);
                sum.slope()
            });
            slopes.fold(0.0, f64::max) as f32
        };
        (0..edges.len()).map(best).collect()
    }

    proptest! {
        #[test]
        fn the_hull_finds_the_quadratic_maximum(
            edges in prop::collection::vec((0.0..1.0f64, 0.001..100.0f64), 1..80),
            sparse in 1usize..6,
        ) {
            let edge = |(at, (hits, time))| {
                Edge { hits: if at % sparse == 0 { hits } else { 0.0 }, time }
            };
            let mut edges: Vec<Edge> = edges.into_iter().enumerate().map(edge).collect();
            let want = slowly(&edges);
            let mut got = vec![0.0; edges.len()];
            steepest(&mut edges, &mut got);
            for (got, want) in got.iter().zip(want) {
                prop_assert!((got - want).abs() <= 1e-5 * want, "{got} for {want}");
            }
        }
    }

    /// Among a thousand keys, 450 are hit at age 1, 100 at bucket 32, and 450 never. The best
    /// choice is to keep a key for the first hit and then give it up. A key past that age is kept
    /// for the second.
    #[test]
    fn the_best_stopping_age_of_a_mix_of_two() {
        let mut risk = vec![1000.0; 2];
        risk.extend([550.0; 31]);
        risk.extend([450.0; 60]);
        let hazards = counted(&counts(&risk, &[(1, 450.0), (32, 100.0)], &[]));
        let mut index = [0.0; AGES];
        hazards.indices(true, &mut index);
        // 0.45 hits by age 2: from the start 1 + 1 - 0.225 requests, within the bucket 0.775.
        assert!((index[0] - 0.45 / 1.775).abs() < 1e-6, "{}", index[0]);
        assert!((index[1] - 0.45 / 0.775).abs() < 1e-6, "{}", index[1]);
        // Then 100 of 550 within buckets 2 to 32, of 118 requests and one of 16.
        let (share, before) = (100.0 / 550.0, f64::from(super::super::class::age_of(32) - 2));
        let want = share / (before + 16.0 * (1.0 - share / 2.0));
        assert!((f64::from(index[2]) - want).abs() < 1e-6, "{} for {want}", index[2]);
        assert!(index[33] == 0.0 && index[3] > index[2]);
        let mut never = [0.0; AGES];
        hazards.indices(false, &mut never);
        assert!(never[0] < index[0] / 1_000.0, "without giving up it seems worth nothing");
    }
}
