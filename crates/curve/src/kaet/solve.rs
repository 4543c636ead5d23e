//! Caches of several sizes on their way through the windows.
//!
//! What does not depend on the size is made ready once: how far back in the bins an age was when
//! the window began, or in its middle. What does is kept in lanes, one for each size, so that a
//! step from one age to the next is the same arithmetic on all of them.

use std::borrow::Cow;

use crate::track::{Ages, Hits, Live, Window, width};

/// Sizes solved for side by side.
const LANES: usize = 8;
type Lanes = [f64; LANES];

/// How near the residents must come to the capacity, as a share of it.
const TOLERANCE: f64 = 1e-3;

/// Bins of ages are joined until they add so much to the bytes that are younger: what matters is
/// the recency rank, and that changes little within them.
const STEP: f64 = 0.04;
/// Bytes as young as this share of all are one bin.
const YOUNG: f64 = 2e-4;

/// Survival below this is none.
const NONE: f64 = 1e-9;

/// Passes through a window at most. Three or four are the rule.
const PASSES: usize = 20;

/// A rate of eviction at which nothing stays.
const EVERYTHING: f64 = 100.0;

/// Whether a cache that evicts at this rate was full, and what became of it was found.
fn is_full(rate: f64) -> bool {
    rate > 0.0 && rate < 0.5 * EVERYTHING
}

/// More residents than there are: where nothing is evicted recency does not matter.
const ENDLESS: f64 = 1e15;

/// Ranks begin here, or their powers would be too small for fast arithmetic.
const FIRST: f64 = 1e-9;

/// The same for every lane: a loop of known length, which becomes a few vector instructions.
#[inline]
fn lanes(of: impl Fn(usize) -> f64) -> Lanes {
    let mut lanes = [0.0; LANES];
    for (i, lane) in lanes.iter_mut().enumerate() {
        *lane = of(i);
    }
    lanes
}

/// e^(-y) for y from 0, to ten digits, in arithmetic that can be done on lanes: 2^n by its bits,
/// times a polynomial in the fraction that is left.
#[inline]
fn decay(y: f64) -> f64 {
    /// Adding it rounds to a whole number, which is then found in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let t = y.clamp(0.0, 600.0) * -std::f64::consts::LOG2_E;
    let rounded = t + ROUND;
    let f = (t - (rounded - ROUND)) * std::f64::consts::LN_2;
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    let high = 1.0 / 24.0 + f * (1.0 / 120.0 + f * (1.0 / 720.0 + f * (1.0 / 5040.0)));
    power * (1.0 + f * (1.0 + f * (0.5 + f * (1.0 / 6.0 + f * high))))
}

/// Recency ranks of victims.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    k: u32,
    pool: bool,
}

impl Law {
    pub(super) fn new(k: u32, pool: bool) -> Self {
        Self { k: k.clamp(1, 1 << 20), pool: pool && k > 1 }
    }

    /// The share of victims of rank up to `rank`.
    #[inline]
    fn below(self, rank: &Lanes) -> Lanes {
        let k = f64::from(self.k);
        if self.pool {
            return lanes(|i| (1.0 - (1.0 - rank[i]) * k).max(0.0));
        }
        let (mut power, mut square, mut left) = ([1.0; LANES], *rank, self.k);
        loop {
            if left & 1 == 1 {
                power = lanes(|i| power[i] * square[i]);
            }
            left >>= 1;
            if left == 0 {
                return power;
            }
            square = lanes(|i| square[i] * square[i]);
        }
    }

    /// The mean of the density between two ranks, of which the share of victims below is known.
    #[inline]
    fn between(self, low: &(Lanes, Lanes), high: &(Lanes, Lanes)) -> Lanes {
        let k = f64::from(self.k);
        // The density at one rank: K·φ^K/φ, or K above the foot of the pool's.
        let here = if self.pool {
            let foot = 1.0 - 1.0 / k;
            lanes(|i| if low.0[i] < foot { 0.0 } else { k })
        } else {
            lanes(|i| k * low.1[i] / low.0[i])
        };
        lanes(|i| {
            let width = high.0[i] - low.0[i];
            let mean = (high.1[i] - low.1[i]) / width;
            if width > 1e-9 { mean } else { here[i] }
        })
    }
}

/// A bin of ages: its width, and the age in its middle.
#[derive(Clone, Copy, Debug)]
struct Place {
    width: f64,
    middle: f64,
}

/// Where the middle of a bin was some time ago: in the bin `at`, at this share of its width; and
/// which two middles of bins it lay between. What was not there yet is at the row of ones.
#[derive(Clone, Copy, Debug)]
struct Back {
    at: usize,
    passed: f64,
    left: usize,
    right: usize,
    share: f64,
}

/// What happens between two snapshots.
#[derive(Default)]
struct Stretch {
    /// Whether the cache begins empty with it.
    is_first: bool,
    ticks: f64,
    /// Bins of ages that can occur in it.
    bins: usize,
    /// Live objects by age at its end.
    live: Vec<Live>,
    hits: Vec<Hits>,
    half: Vec<Back>,
    whole: Vec<Back>,
}

/// All windows, ready to be solved for any size and law.
pub(super) struct Past {
    places: Vec<Place>,
    stretches: Vec<Stretch>,
}

impl Past {
    pub(super) fn of(ages: &Ages) -> Self {
        let (origin, windows) = ages.windows();
        let groups = groups(origin, &windows);
        // One more, for what is older than the middle of the last.
        let last = groups.last().map_or(0, |group| group + 1);
        let mut places = vec![Place { width: 0.0, middle: 0.0 }; last + 1];
        let mut edge = 0.0;
        for (at, group) in groups.iter().copied().chain([last]).enumerate() {
            places[group].width += width(at) as f64;
        }
        for place in &mut places {
            place.middle = edge + 0.5 * place.width;
            edge += place.width;
        }
        let live = |live: &[Live]| {
            let mut sums = vec![Live::default(); places.len()];
            for (live, &group) in live.iter().zip(&groups) {
                sums[group].objects += live.objects;
                sums[group].bytes += live.bytes;
            }
            sums
        };
        let mut stretches = vec![];
        // Of a past that is forgotten nothing is known but what was live: taken as steady.
        if !origin.is_empty() {
            let (ticks, bins, live) = (f64::INFINITY, places.len(), live(origin));
            stretches.push(Stretch { ticks, bins, live, ..Stretch::default() });
        }
        let mut clock = if origin.is_empty() { 0.0 } else { f64::INFINITY };
        for window in &windows {
            clock += window.ticks;
            let reached = places.partition_point(|place| place.middle < clock) + 2;
            let mut hits = vec![Hits::default(); places.len()];
            for (more, &group) in window.hits.iter().zip(&groups) {
                hits[group].reads += more.reads;
                hits[group].ages += more.ages;
            }
            stretches.push(Stretch {
                is_first: stretches.is_empty(),
                ticks: window.ticks,
                bins: reached.min(places.len()),
                live: live(&window.live),
                hits,
                ..Stretch::default()
            });
        }
        for stretch in &mut stretches {
            stretch.half = back(&places, 0.5 * stretch.ticks);
            stretch.whole = back(&places, stretch.ticks);
        }
        Self { places, stretches }
    }

    /// The most bytes that were ever live.
    pub(super) fn most(&self) -> f64 {
        let bytes = |stretch: &Stretch| stretch.live.iter().map(|live| live.bytes).sum::<f64>();
        self.stretches.iter().map(bytes).fold(0.0, f64::max)
    }

    /// The hits of caches of so many bytes. Between two that are `known` the search begins where
    /// theirs ended.
    pub(super) fn hits(&self, law: Law, rooms: &[f64], known: &mut Known) -> Vec<f64> {
        let mut order: Vec<usize> = (0..rooms.len()).collect();
        order.sort_by(|&a, &b| rooms[a].total_cmp(&rooms[b]));
        let mut hits = vec![0.0; rooms.len()];
        let mut learned = vec![];
        for some in order.chunks(LANES) {
            // Lanes left over do what the last one does.
            let room = lanes(|i| rooms[some[i.min(some.len() - 1)]]);
            let mut caches = Caches::empty(self.places.len());
            let mut sums = [0.0; LANES];
            let mut turns: Vec<(Lanes, Lanes)> = vec![];
            for (at, stretch) in self.stretches.iter().enumerate() {
                for (i, &room) in room.iter().enumerate() {
                    if let Some((rate, residents)) = known.guess(room, at) {
                        (caches.eviction_rate[i], caches.residents[i]) = (rate, residents);
                    }
                }
                caches.live_through(&self.places, stretch, law, &room);
                let more = caches.hits(&self.places, stretch);
                sums = lanes(|i| sums[i] + more[i]);
                std::mem::swap(&mut caches.start, &mut caches.end);
                turns.push((caches.eviction_rate, caches.residents));
            }
            for (lane, &at) in some.iter().enumerate() {
                hits[at] = sums[lane];
                let turns = turns.iter().map(|turn| (turn.0[lane], turn.1[lane])).collect();
                learned.push((room[lane], turns));
            }
        }
        known.0.append(&mut learned);
        known.0.sort_by(|a, b| a.0.total_cmp(&b.0));
        hits
    }
}

/// Caches solved before, by size: the rate of eviction and the residents in each stretch.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<(f64, Vec<(f64, f64)>)>);

impl Known {
    /// What to expect in a stretch of a cache of `room` bytes, where both of its neighbours are
    /// full.
    fn guess(&self, room: f64, stretch: usize) -> Option<(f64, f64)> {
        let after = self.0.partition_point(|(size, _)| *size < room);
        let (small, low) = self.0.get(after.checked_sub(1)?)?;
        let (large, high) = self.0.get(after)?;
        let (low, high) = (low[stretch], high[stretch]);
        let share = (room / small).ln() / (large / small).ln();
        let between = |low: f64, high: f64| low * (high / low).powf(share);
        let both = is_full(low.0) && is_full(high.0);
        both.then(|| (between(low.0, high.0), between(low.1, high.1)))
    }
}

/// Which bins of the histograms are solved as one.
fn groups(origin: &[Live], windows: &[Cow<Window>]) -> Vec<usize> {
    // The mean over the windows, each weighed alike.
    let mut shares = vec![];
    let hits = windows.iter().map(|window| window.hits.len()).max();
    shares.resize(hits.unwrap_or(0), 0.0);
    for live in windows.iter().map(|window| &window.live[..]).chain([origin]) {
        let all: f64 = live.iter().map(|live| live.bytes).sum();
        shares.resize(shares.len().max(live.len()), 0.0);
        for (share, live) in shares.iter_mut().zip(live) {
            *share += live.bytes / all.max(1.0) / (windows.len() + 1) as f64;
        }
    }
    let (mut younger, mut group, mut bin) = (0.0, 0.0, 0);
    let join = |share: f64| {
        if group > 0.0 && group + share > (STEP * younger).max(YOUNG) {
            younger += group;
            group = 0.0;
            bin += 1;
        }
        group += share;
        bin
    };
    shares.into_iter().map(join).collect()
}

/// Where each bin was `ticks` ago.
fn back(places: &[Place], ticks: f64) -> Vec<Back> {
    let ones = places.len();
    let mut at = 0;
    let look = |place: &Place| {
        let then = place.middle - ticks;
        if then < 0.0 {
            return Back { at: 0, passed: 0.0, left: ones, right: ones, share: 0.0 };
        }
        let edge = |at: usize| places[at].middle - 0.5 * places[at].width;
        while at + 1 < places.len() && edge(at + 1) <= then {
            at += 1;
        }
        let passed = (then - edge(at)) / places[at].width;
        // Survival is known in the middle of bins.
        let younger = then < places[at].middle;
        let left = if younger { at.saturating_sub(1) } else { at };
        let right = if younger { at } else { (at + 1).min(places.len() - 1) };
        let span = places[right].middle - places[left].middle;
        let share = ((then - places[left].middle) / span.max(0.5)).clamp(0.0, 1.0);
        Back { at, passed, left, right, share }
    };
    places.iter().map(look).collect()
}

/// Caches, one in each lane.
struct Caches {
    /// Survival by age, at the start of a stretch and at its end; and a row of ones.
    start: Vec<Lanes>,
    end: Vec<Lanes>,
    /// ∫w up to the left edge of each bin.
    hazard: Vec<Lanes>,
    /// Evictions by resident and access, and residents, in the stretch before; zero in a cache
    /// that is not full.
    eviction_rate: Lanes,
    residents: Lanes,
    /// By how much the logarithm of the bytes changes with that of the rate.
    slope: Lanes,
}

/// The residents at the end of a pass, and the bytes there should be.
#[derive(Clone, Copy, Debug)]
struct Left {
    objects: f64,
    bytes: f64,
    room: f64,
}

/// How far a lane has come.
#[derive(Clone, Copy, Debug)]
enum Search {
    /// Perhaps nothing needs to go.
    Trial,
    Seeking(Secant),
    Found,
}

impl Caches {
    fn empty(bins: usize) -> Self {
        let ones = vec![[1.0; LANES]; bins + 1];
        let hazard = vec![[0.0; LANES]; bins + 1];
        let (eviction_rate, residents) = ([0.0; LANES], [ENDLESS; LANES]);
        let slope = [-0.5; LANES];
        Self { start: ones.clone(), end: ones, hazard, eviction_rate, residents, slope }
    }

    /// Survival `back`, and the hazard up to the age then.
    #[inline]
    fn then(&self, back: &Back) -> (Lanes, Lanes) {
        let (low, high) = (&self.start[back.left], &self.start[back.right]);
        let (left, right) = (&self.hazard[back.at], &self.hazard[back.at + 1]);
        let before = lanes(|i| low[i] + (high[i] - low[i]) * back.share);
        (before, lanes(|i| left[i] + (right[i] - left[i]) * back.passed))
    }

    /// Survival through a stretch if each of `residents` is evicted at the rate `x`. Returns the
    /// objects and bytes resident at its end.
    fn pass(
        &mut self,
        places: &[Place],
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
            // As if as many of this age survive as of the last, for a start.
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

    /// Carries the caches, of `room` bytes each, through a stretch: finds the rate of eviction that
    /// leaves as many at its end, and the residents of that many bytes, by which recency is ranked.
    /// The rate is zero where nothing needs to go.
    fn live_through(&mut self, places: &[Place], stretch: &Stretch, law: Law, room: &Lanes) {
        let mut search = [Search::Trial; LANES];
        for (i, search) in search.iter_mut().enumerate() {
            let rate = self.eviction_rate[i];
            if is_full(rate) {
                *search = Search::Seeking(Secant::new(rate, self.slope[i]));
            }
        }
        let (mut x, mut ranked) = (self.eviction_rate, self.residents);
        for passes in 1..=PASSES {
            let (objects, bytes) = self.pass(places, stretch, law, &ranked, &x);
            self.eviction_rate = x;
            for i in 0..LANES {
                let left = Left { objects: objects[i], bytes: bytes[i], room: room[i] };
                search[i] = self.judge(i, search[i], left, stretch.ticks, f64::from(law.k - 1));
                match &mut search[i] {
                    Search::Found => {}
                    Search::Trial => (x[i], ranked[i]) = (0.0, ENDLESS),
                    Search::Seeking(secant) => {
                        if passes + 1 >= PASSES {
                            // It jumps: a few objects are most of the bytes.
                            (secant.rate, self.residents[i]) = (secant.best.1, secant.best.2);
                        }
                        (x[i], ranked[i]) = (secant.rate.exp(), self.residents[i]);
                    }
                }
            }
            if search.iter().all(|search| matches!(search, Search::Found)) {
                break;
            }
        }
    }

    /// What becomes of the search in a lane, after a pass that left so much.
    fn judge(
        &mut self,
        lane: usize,
        search: Search,
        Left { objects, bytes, room }: Left,
        ticks: f64,
        steepness: f64,
    ) -> Search {
        let residents = &mut self.residents[lane];
        let fitting = objects * room / bytes;
        match search {
            Search::Trial if bytes > room => {
                *residents = fitting;
                let rate = (bytes / room - 1.0) / ticks.min(1e12);
                Search::Seeking(Secant::new(rate, self.slope[lane]))
            }
            Search::Trial | Search::Found => Search::Found,
            Search::Seeking(mut secant) => {
                let before = *residents;
                // Where hardly anything stays its mean size says nothing.
                if bytes > 0.05 * room {
                    *residents = fitting;
                }
                let excess = (bytes / room).max(1e-6).ln();
                if secant.step(before, excess, *residents / before - 1.0, steepness) {
                    self.slope[lane] = secant.slope;
                    Search::Found
                } else if secant.rate < secant.floor {
                    *residents = ENDLESS;
                    Search::Trial
                } else {
                    Search::Seeking(secant)
                }
            }
        }
    }

    /// The hits of a stretch that was lived through.
    fn hits(&self, places: &[Place], stretch: &Stretch) -> Lanes {
        let mut sum = [0.0; LANES];
        let x = &self.eviction_rate;
        let middle = |at: usize| {
            let (before, then) = self.then(&stretch.half[at]);
            let (left, right) = (&self.hazard[at], &self.hazard[at + 1]);
            lanes(|i| before[i] * decay(x[i] * (0.5 * (left[i] + right[i]) - then[i])))
        };
        for (at, hits) in stretch.hits.iter().enumerate().filter(|(_, hits)| hits.reads > 0.0) {
            let place = &places[at];
            // Loops end in the middle of a bin: what counts is how old the reads are, not the bin.
            let off = hits.ages / hits.reads + 0.5 - place.middle;
            let near = if off > 0.0 { at + 1 } else { at.saturating_sub(1) };
            let near = near.min(stretch.bins - 1);
            let share =
                if near == at { 0.0 } else { off / (places[near].middle - place.middle) };
            let read = |here: &Lanes, there: &Lanes| {
                lanes(|i| here[i] + (there[i] - here[i]) * share)
            };
            let end = read(&self.end[at], &self.end[near]);
            let mean = match (stretch.is_first, place.middle > 0.5 * stretch.ticks) {
                // Nothing was there at the start, nor can anything be older than the stretch.
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

/// Seeks the logarithm of a rate of eviction by secants, in bounds.
#[derive(Clone, Copy, Debug)]
struct Secant {
    rate: f64,
    /// Below this the rate is none.
    floor: f64,
    low: f64,
    high: f64,
    last: Option<(f64, f64)>,
    slope: f64,
    /// How far off it was at best, of what leaves not too much; and the rate and the residents
    /// then. Where there is none, nothing is taken to stay.
    best: (f64, f64, f64),
}

impl Secant {
    fn new(rate: f64, slope: f64) -> Self {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        let (rate, best) = (rate.ln(), (f64::INFINITY, EVERYTHING.ln(), 1.0));
        Self { rate, floor: rate - 12.0, low, high, last: None, slope, best }
    }

    /// At this rate, where recency was ranked among `residents`, the logarithm of the bytes was too
    /// large by `excess`, and the residents proved to be more by the share `shift`. Returns whether
    /// that is near enough; if not, moves on.
    fn step(&mut self, residents: f64, excess: f64, shift: f64, steepness: f64) -> bool {
        let off = excess.abs() + shift.abs();
        if off < self.best.0 && excess < 0.05 {
            self.best = (off, self.rate, residents);
        }
        if excess.abs() < TOLERANCE && shift.abs() < TOLERANCE {
            return true;
        }
        let rate = self.rate;
        if let Some((other, before)) = self.last
            && (rate - other).abs() > 1e-6
        {
            self.slope = ((excess - before) / (rate - other)).clamp(-3.0, -0.05);
        }
        // To more residents every rank is lower: the same evictions need a higher rate.
        let steeper = steepness * shift;
        let mut next = rate - (excess / self.slope).clamp(-2.5, 2.5) + steeper;
        if excess > 0.0 { self.low = rate } else { self.high = rate }
        if shift.abs() > 0.02 {
            // Ranked anew: what was learned about the rate holds no longer.
            (self.low, self.high, self.last) = (f64::NEG_INFINITY, f64::INFINITY, None);
        } else {
            // Or hardly.
            let doubt = 2.0 * (1.0 + steepness) * shift.abs();
            self.low += steeper - doubt;
            self.high += steeper + doubt;
            self.last = Some((rate + steeper, excess));
        }
        if next <= self.low || next >= self.high {
            next = 0.5 * (self.low + self.high);
        }
        self.rate = next.min(EVERYTHING.ln());
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_is_the_exponential() {
        for step in 0..60_000 {
            let y = f64::from(step) * 0.01;
            let near = (decay(y) / (-y).exp() - 1.0).abs();
            assert!(near < 1e-8, "{y}: {} for {}", decay(y), (-y).exp());
        }
    }

    /// The density between two ranks is the mean of K·φ^(K-1), and none below the pool.
    #[test]
    fn laws_are_densities() {
        let at = |rank: f64, law: Law| ([rank; LANES], law.below(&[rank; LANES]));
        for (k, pool) in [(1, false), (5, false), (16, false), (5, true)] {
            let law = Law::new(k, pool);
            let steps = 1_000;
            let edge = |step: i32| at((f64::from(step) / f64::from(steps)).max(FIRST), law);
            let mut sum = 0.0;
            for step in 0..steps {
                let (low, high) = (edge(step), edge(step + 1));
                let mean = law.between(&low, &high)[0];
                sum += mean / f64::from(steps);
                let here = law.between(&high, &high)[0];
                assert!(pool || (here - mean).abs() < 0.2, "K = {k}: {here} {mean}");
            }
            assert!((sum - 1.0).abs() < 1e-6, "K = {k}: {sum}");
        }
    }
}
