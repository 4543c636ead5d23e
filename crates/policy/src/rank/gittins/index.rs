//! From lifetimes to indices: what keeping an item earns at best for the time it takes.
//!
//! Hazards first, as of any lifetimes some of which are cut short (Kaplan and Meier \[1\]): of all
//! that reached a bucket of ages, the share that was hit there, and the share that ended otherwise.
//! Lifetimes that still last reached their present age, and tell nothing of what comes after it.
//!
//! ```text
//! h[a] = hits[a] / at risk[a]           at risk[a]: all that reached a, those cut there for a half
//! e[a] = ends[a] / at risk[a]
//! ```
//!
//! Few lifetimes say little, so each hazard is shrunk towards that of the next larger group, which
//! weighs as much as 60 lifetimes: a class with its neighbours towards its tenant, the tenant
//! towards everything, and everything towards a tail: what was hardly seen at an age is hit as
//! often as what is younger by one octave and by two. So nothing that was never seen is impossible;
//! and where hardly a key comes back, an age that none has reached yet promises no more.
//!
//! Then the index: one may give an item up at any later age, and the best is where most hits come
//! by time,
//!
//! ```text
//! S[0] = 1,   S[a+1] = S[a] · (1 - h[a] - e[a])                              survivors
//! time[a] = width[a] · S[a] · (1 - (h[a] + e[a]) / 2),    hits[a] = S[a] · h[a]
//! index[a] = max over b > a of (hits[a] + … + hits[b-1]) / (time[a] + … + time[b-1])
//! ```
//!
//! the index of Gittins for an item of this class and age \[2\]. All maxima come from one pass over
//! the ages from the right: the sums from a to its best stopping age are the first edge of an upper
//! hull, and to prepend a bucket is to merge it with the edges that are steeper than it.
//!
//! \[1\] Kaplan, Meier. Nonparametric Estimation from Incomplete Observations. JASA 1958.
//! \[2\] Gittins. Bandit Processes and Dynamic Allocation Indices. JRSS B 1979.

use super::class::{AGES, FRACTION, width};

/// Lifetimes that a larger group weighs in a smaller one.
const PRIOR: f32 = 60.0;
/// Buckets of younger ages that the tail is as: two octaves.
const YOUNGER: usize = 2 << FRACTION;
/// Hits by bucket where there are no younger ages: 0.3 an octave, 1 - 0.7^(1/8).
const TAIL: f32 = 0.043_604_1;
/// What the classes beside it weigh in a class.
const NEIGHBOUR: f32 = 0.5;

/// Lifetimes by the bucket of the age at which they ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lifetimes {
    /// In a hit.
    pub(super) hits: [f32; AGES],
    /// Otherwise.
    pub(super) ends: [f32; AGES],
    /// Lost from sight.
    pub(super) lost: [f32; AGES],
    /// Not at all: they last, and are of this age.
    pub(super) lasting: [f32; AGES],
}

impl Lifetimes {
    pub(super) const NONE: Self =
        Self { hits: [0.0; AGES], ends: [0.0; AGES], lost: [0.0; AGES], lasting: [0.0; AGES] };

    fn all(&mut self) -> [&mut [f32; AGES]; 4] {
        [&mut self.hits, &mut self.ends, &mut self.lost, &mut self.lasting]
    }

    /// What is over weighs so much less; what lasts is to be counted anew.
    pub(super) fn forget(&mut self, decay: f32) {
        let [over @ .., lasting] = self.all();
        for count in over.into_iter().flatten() {
            *count *= decay;
        }
        lasting.fill(0.0);
    }

    /// Adds others, each for so much.
    pub(super) fn add(&mut self, other: &Self, weight: f32) {
        let other = [&other.hits, &other.ends, &other.lost, &other.lasting];
        for (own, other) in self.all().into_iter().zip(other) {
            for (own, other) in own.iter_mut().zip(other) {
                *own += weight * other;
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let all = self.hits.iter().zip(&self.ends).zip(self.lost.iter().zip(&self.lasting));
        all.into_iter().all(|((hits, ends), (lost, lasting))| hits + ends + lost + lasting == 0.0)
    }
}

/// The lifetimes of an interval class with some of those beside it. What was never hit stands
/// alone.
pub(super) fn with_neighbours(classes: &[Lifetimes], class: usize) -> Lifetimes {
    let mut own = classes[class].clone();
    if class > 0 {
        for beside in [class - 1, class + 1] {
            if beside > 0 && beside < classes.len() {
                own.add(&classes[beside], NEIGHBOUR);
            }
        }
    }
    own
}

/// Of the lifetimes that reach a bucket, the shares that are hit and that end in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hazards {
    hit: [f32; AGES],
    end: [f32; AGES],
}

impl Hazards {
    /// Of all lifetimes, with the tail or without.
    pub(super) fn of_all(lifetimes: &Lifetimes, has_tail: bool) -> Self {
        let first = if has_tail { TAIL } else { 0.0 };
        let mut all = Self { hit: [first; AGES], end: [0.0; AGES] };
        for (age, weight) in at_risk(lifetimes).into_iter().enumerate() {
            let younger = age.checked_sub(YOUNGER).filter(|_| has_tail);
            let mean = |from: usize| all.hit[from..age].iter().sum::<f32>() / YOUNGER as f32;
            let tail = younger.map_or(first, mean);
            all.shrink(age, lifetimes, (weight, PRIOR), (tail, 0.0));
        }
        all
    }

    /// Those of a group within the one that these are of.
    pub(super) fn within(&self, lifetimes: &Lifetimes) -> Self {
        let mut own = self.clone();
        for (age, weight) in at_risk(lifetimes).into_iter().enumerate() {
            own.shrink(age, lifetimes, (weight, PRIOR), (self.hit[age], self.end[age]));
        }
        own
    }

    /// The hazards of an age, where so many were at risk, towards those of others that weigh as
    /// much as `prior` of them.
    fn shrink(
        &mut self,
        age: usize,
        lifetimes: &Lifetimes,
        (at_risk, prior): (f32, f32),
        others: (f32, f32),
    ) {
        let weight = at_risk + prior;
        if weight > 0.0 {
            self.hit[age] = (lifetimes.hits[age] + prior * others.0) / weight;
            self.end[age] = (lifetimes.ends[age] + prior * others.1) / weight;
        }
    }

    /// The index at each age: with the best stopping age, or without ever giving up.
    pub(super) fn indices(&self, stops: bool, into: &mut [f32]) {
        let mut edges = [Edge::default(); AGES];
        let mut survivors = 1.0;
        for (age, edge) in edges.iter_mut().enumerate() {
            let (hit, end) = (f64::from(self.hit[age]), f64::from(self.end[age]));
            let time = f64::from(width(age)) * survivors * (1.0 - f64::midpoint(hit, end));
            *edge = Edge { hits: survivors * hit, time };
            // Above zero, however many buckets end everything.
            survivors = (survivors * (1.0 - hit - end)).max(1e-200);
        }
        if stops {
            steepest(&mut edges, into);
        } else {
            let mut rest = Edge::default();
            for (edge, index) in edges.iter().zip(into).rev() {
                rest.merge(*edge);
                *index = rest.slope() as f32;
            }
        }
    }
}

/// Lifetimes that reached each bucket; of those cut short there, a half.
fn at_risk(lifetimes: &Lifetimes) -> [f32; AGES] {
    let mut at_risk = [0.0; AGES];
    let mut reach = 0.0;
    for (age, at_risk) in at_risk.iter_mut().enumerate().rev() {
        let ended = lifetimes.hits[age] + lifetimes.ends[age];
        let cut = lifetimes.lost[age] + lifetimes.lasting[age];
        *at_risk = reach + ended + cut / 2.0;
        reach += ended + cut;
    }
    at_risk
}

/// Hits and time over some buckets.
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

/// From each bucket the steepest way on. The hull so far is kept in place, behind the bucket.
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

    fn lifetimes(hits: &[(usize, f32)], ends: &[(usize, f32)], cut: &[(usize, f32)]) -> Lifetimes {
        let mut made = Lifetimes::NONE;
        let [hit, end, _, lasting] = made.all();
        for (counts, given) in [(hit, hits), (end, ends), (lasting, cut)] {
            for &(age, count) in given {
                counts[age] = count;
            }
        }
        made
    }

    /// As counted, without a larger group.
    fn counted(lifetimes: &Lifetimes) -> Hazards {
        let mut own = Hazards { hit: [0.0; AGES], end: [0.0; AGES] };
        for (age, weight) in at_risk(lifetimes).into_iter().enumerate() {
            own.shrink(age, lifetimes, (weight, 0.0), (0.0, 0.0));
        }
        own
    }

    fn survivors(hazards: &Hazards) -> Vec<f64> {
        let mut left = 1.0;
        let rest = hazards.hit.iter().zip(&hazards.end).map(|(&hit, &end)| {
            left *= 1.0 - f64::from(hit) - f64::from(end);
            left
        });
        std::iter::once(1.0).chain(rest).collect()
    }

    /// Ten lifetimes: hits at ages 2 and 2, an end at 3, cut at 3 and 3, hits at 5, 5, 5, and two
    /// cut at 6. By hand: 10 reach 2, 8 reach 3 of which two for a half, 5 reach 5.
    #[test]
    fn survivors_are_those_of_kaplan_and_meier() {
        let made = lifetimes(&[(2, 2.0), (5, 3.0)], &[(3, 1.0)], &[(3, 2.0), (6, 2.0)]);
        let got = survivors(&counted(&made));
        let third = 0.8 * (1.0 - 1.0 / 7.0);
        let want = [1.0, 1.0, 1.0, 0.8, third, third, third * 0.4, third * 0.4];
        for (age, (got, want)) in got.iter().zip(want).enumerate() {
            assert!((got - want).abs() < 1e-6, "{age}: {got} for {want}");
        }
    }

    /// What lasts is no end: were it one, that of which most are still young would look hopeless.
    #[test]
    fn lifetimes_that_last_do_not_lower_the_hazard_of_those_seen_longer() {
        let of = |cut: &[(usize, f32)]| {
            counted(&lifetimes(&[(40, 5.0)], &[], cut)).hit[40]
        };
        assert_eq!(of(&[(50, 5.0)]), 0.5);
        assert_eq!(of(&[(50, 5.0), (30, 1_000.0)]), 0.5);
        assert_eq!(of(&[(50, 5.0), (40, 2.0)]), 5.0 / 11.0, "those cut there count for a half");
    }

    #[test]
    fn few_lifetimes_are_as_their_group() {
        let group = Hazards::of_all(&lifetimes(&[(9, 6e6)], &[], &[(20, 6e6)]), true);
        assert!((group.hit[9] - 0.5).abs() < 1e-4);
        let like = group.within(&Lifetimes::NONE);
        let off = like.hit.iter().zip(&group.hit).map(|(own, group)| (own - group).abs());
        assert!(off.fold(0.0, f32::max) < 1e-6);
        let own = group.within(&lifetimes(&[], &[], &[(30, 60.0)]));
        assert!((own.hit[9] - 0.25).abs() < 1e-4, "as many of its own weigh as much");
        assert!((own.hit[25] / group.hit[25] - 0.5).abs() < 1e-4, "never seen, and half of it");
    }

    /// Of a million keys that are old, one in a hundred was hit an octave: what is older still is
    /// hit no more often. Where nothing was seen at all it is 0.3 an octave, and without a tail 0.
    #[test]
    fn what_was_never_seen_is_as_what_is_younger() {
        let hits: Vec<_> = (0..100).map(|age| (age, 1e4 / 8.0)).collect();
        let seen = lifetimes(&hits, &[], &[(100, 1e6)]);
        let octave = |hazards: &Hazards, from: usize| {
            1.0 - hazards.hit[from..from + 8].iter().map(|hit| 1.0 - hit).product::<f32>()
        };
        let all = Hazards::of_all(&seen, true);
        for from in [16, 90, 120, 200] {
            assert!((octave(&all, from) - 0.0095).abs() < 1e-3, "{}", octave(&all, from));
        }
        assert!((octave(&Hazards::of_all(&Lifetimes::NONE, true), 99) - 0.3).abs() < 1e-4);
        assert_eq!(octave(&Hazards::of_all(&seen, false), 120), 0.0);
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

    /// Nine in ten are hit at once or never, one in ten at age 40: the best is to keep it for the
    /// first and give it up, and who is past that keeps it for the second.
    #[test]
    fn the_best_stopping_age_of_a_mix_of_two() {
        let made = lifetimes(&[(1, 450.0), (32, 100.0)], &[], &[(100, 450.0)]);
        let hazards = counted(&made);
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
