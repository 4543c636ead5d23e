//! Caches that are carried through the windows, one in each lane.

use super::lanes::{LANES, Lanes, decay, lanes};
use super::law::{FIRST, Law};
use super::past::{AgeBin, Back, Past, Stretch};
use super::search::{Left, Search, SolvedCaches, Turn};

/// Survival below this counts as zero.
const NONE: f64 = 1e-9;

/// Most passes through a window. Two are usual.
const PASSES: usize = 20;

/// The result for a cache: its actual bytes, which differ a little from the requested ones, and its
/// hits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SolvedCache {
    pub(super) room: f64,
    pub(super) hits: f64,
}

/// Solves caches of `rooms` bytes, in rising order. Each search begins with the solution for a
/// neighbour: one solved under this law, or else one of `others`.
pub(super) fn solve(
    past: &Past,
    law: Law,
    rooms: &[f64],
    known: &mut SolvedCaches,
    others: &SolvedCaches,
) -> Vec<SolvedCache> {
    let mut outcomes = vec![];
    let mut learned = vec![];
    for some in rooms.chunks(LANES) {
        // Unused lanes repeat the last cache.
        let room = lanes(|i| some[i.min(some.len() - 1)]);
        let near = room.map(|room| (known.near(room), others.near(room)));
        let mut caches = Caches::empty(past.places.len());
        let (mut hits, mut weight, mut excess) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let mut turns = vec![];
        for (at, stretch) in past.stretches.iter().enumerate() {
            for (turn, (near, other)) in caches.turns.iter_mut().zip(near) {
                let guess = near.and_then(|near| known.guess(near, at, turn));
                let other = || other.and_then(|near| others.guess(near, at, turn));
                *turn = guess.or_else(other).unwrap_or(*turn);
            }
            let off = caches.live_through(&past.places, stretch, law, &room);
            let more = caches.hits(&past.places, stretch);
            hits = lanes(|i| hits[i] + more[i]);
            let full = lanes(|i| if caches.turns[i].rate > 0.0 { stretch.reads } else { 0.0 });
            weight = lanes(|i| weight[i] + full[i]);
            excess = lanes(|i| excess[i] + full[i] * off[i]);
            std::mem::swap(&mut caches.start, &mut caches.end);
            turns.push(caches.turns);
        }
        for (lane, &room) in some.iter().enumerate() {
            let off = excess[lane] / weight[lane].max(1.0);
            outcomes.push(SolvedCache { room: room * off.exp(), hits: hits[lane] });
            learned.push((room, turns.iter().map(|turns| turns[lane]).collect()));
        }
    }
    known.learn(learned);
    outcomes
}

struct Caches {
    /// Survival by age at the start of a stretch and at its end, each with a row of ones.
    start: Vec<Lanes>,
    end: Vec<Lanes>,
    /// ∫w up to the left edge of each bin.
    hazard: Vec<Lanes>,
    /// How the caches evict: in the last stretch, or as guessed for this one.
    turns: [Turn; LANES],
}

impl Caches {
    fn empty(bins: usize) -> Self {
        let ones = vec![[1.0; LANES]; bins + 1];
        let hazard = vec![[0.0; LANES]; bins + 1];
        Self { start: ones.clone(), end: ones, hazard, turns: [Turn::IDLE; LANES] }
    }

    /// The survival at the earlier time that `back` describes, and the hazard up to the age at that
    /// time.
    #[inline]
    fn then(&self, back: &Back) -> (Lanes, Lanes) {
        let (low, high) = (&self.start[back.left], &self.start[back.right]);
        let (left, right) = (&self.hazard[back.at], &self.hazard[back.at + 1]);
        let before = lanes(|i| low[i] + (high[i] - low[i]) * back.share);
        (before, lanes(|i| left[i] + (right[i] - left[i]) * back.passed))
    }

    /// Computes the survival through a stretch in which each resident is evicted at the rate `x`,
    /// with recency ranked among `residents`. Returns the objects and bytes resident at its end.
    fn pass(
        &mut self,
        places: &[AgeBin],
        stretch: &Stretch,
        law: Law,
        residents: &Lanes,
        x: &Lanes,
    ) -> (Lanes, Lanes) {
        let by = lanes(|i| 1.0 / residents[i]);
        let ranked = |younger: &Lanes| {
            let rank = lanes(|i| (younger[i] * by[i]).clamp(FIRST, 1.0));
            (rank, law.below(&rank))
        };
        let (mut younger, mut bytes) = ([0.0; LANES], [0.0; LANES]);
        let mut rank = ranked(&younger);
        let mut survival = [1.0; LANES];
        for at in 0..stretch.bins {
            let live = stretch.live[at];
            let width = places[at].width;
            // The first estimate takes the survival of the previous age.
            let next = ranked(&lanes(|i| younger[i] + live.objects * survival[i]));
            let slope = law.between(&rank, &next);
            let edge = self.hazard[at];
            self.hazard[at + 1] = lanes(|i| edge[i] + slope[i] * width);
            let (before, then) = self.then(&stretch.whole[at]);
            let passed = lanes(|i| edge[i] + slope[i] * 0.5 * width - then[i]);
            survival = lanes(|i| before[i] * decay(x[i] * passed[i]));
            self.end[at] = survival;
            younger = lanes(|i| younger[i] + live.objects * survival[i]);
            bytes = lanes(|i| bytes[i] + live.bytes * survival[i]);
            let reached = ranked(&younger);
            let slope = law.between(&rank, &reached);
            self.hazard[at + 1] = lanes(|i| edge[i] + slope[i] * width);
            rank = reached;
            if survival.iter().all(|&survival| survival < NONE) {
                let slope = law.between(&rank, &rank);
                let older = places.iter().enumerate().take(stretch.bins).skip(at + 1);
                for (at, place) in older {
                    let edge = self.hazard[at];
                    self.hazard[at + 1] = lanes(|i| edge[i] + slope[i] * place.width);
                    self.end[at] = [0.0; LANES];
                }
                break;
            }
        }
        (younger, bytes)
    }

    /// Carries the caches, of `room` bytes each, through a stretch. Finds the rate of eviction that
    /// leaves that many bytes at its end, and the matching number of residents, by which recency is
    /// ranked. The rate is zero if no eviction is needed. Returns the logarithm of the excess of
    /// bytes.
    fn live_through(
        &mut self,
        places: &[AgeBin],
        stretch: &Stretch,
        law: Law,
        room: &Lanes,
    ) -> Lanes {
        let mut search = self.turns.each_ref().map(Search::from);
        let mut tried = self.turns;
        for passes in 1..=PASSES {
            let (x, ranked) = (lanes(|i| tried[i].rate), lanes(|i| tried[i].residents));
            let (objects, bytes) = self.pass(places, stretch, law, &ranked, &x);
            let mut is_over = true;
            for i in 0..LANES {
                let left = Left { objects: objects[i], bytes: bytes[i], room: room[i] };
                let turn = &mut self.turns[i];
                turn.rate = x[i];
                search[i] = search[i].judge(turn, left, stretch.ticks, law.steepness());
                if let Some(next) = search[i].next(turn, passes + 1 >= PASSES) {
                    (tried[i], is_over) = (next, false);
                }
            }
            if is_over {
                break;
            }
        }
        lanes(|i| search[i].excess())
    }

    /// The hits of a solved stretch.
    fn hits(&self, places: &[AgeBin], stretch: &Stretch) -> Lanes {
        let mut sum = [0.0; LANES];
        let x = lanes(|i| self.turns[i].rate);
        let middle = |at: usize| {
            let (before, then) = self.then(&stretch.half[at]);
            let (left, right) = (&self.hazard[at], &self.hazard[at + 1]);
            lanes(|i| before[i] * decay(x[i] * (0.5 * (left[i] + right[i]) - then[i])))
        };
        for (at, hits) in stretch.hits.iter().enumerate().filter(|(_, hits)| hits.reads > 0.0) {
            let place = &places[at];
            // Loops end in the middle of a bin, so the age of the reads counts, not the bin.
            let off = hits.ages / hits.reads + 0.5 - place.middle;
            let near = if off > 0.0 { at + 1 } else { at.saturating_sub(1) };
            let near = near.min(stretch.bins - 1);
            let share = if near == at { 0.0 } else { off / (places[near].middle - place.middle) };
            let read =
                |here: &Lanes, there: &Lanes| lanes(|i| here[i] + (there[i] - here[i]) * share);
            let end = read(&self.end[at], &self.end[near]);
            let mean = match (stretch.is_first, place.middle > 0.5 * stretch.ticks) {
                // The cache was empty at the start, and no object can be older than the stretch.
                (true, true) => end,
                (true, false) => {
                    let middle = read(&middle(at), &middle(near));
                    lanes(|i| (2.0 * middle[i] + end[i]) / 3.0)
                }
                (false, _) => {
                    let start = read(&self.start[at], &self.start[near]);
                    let middle = read(&middle(at), &middle(near));
                    lanes(|i| (start[i] + 4.0 * middle[i] + end[i]) / 6.0)
                }
            };
            sum = lanes(|i| sum[i] + hits.reads * mean[i]);
        }
        sum
    }
}
