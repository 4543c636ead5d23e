//! The search for the rate of eviction at which the residents fill a cache exactly.
//!
//! It finds two numbers at once: the rate x, and the number of residents n by which recency is
//! ranked. bytes(x, n) must be the room, and objects(x, n) must be n. The logarithm of the bytes is
//! nearly linear in that of the rate. So a step by the last slope goes most of the way, and secants
//! do the rest.
//!
//! The solution for another cache of similar size, or for the same size under another law, is close
//! to this one: [`SolvedCaches`] keeps the rates, the residents and the slopes of all stretches.

/// Tolerance of the residents, as a share of the capacity, or as a part of one object if that is
/// more. The remaining excess is known, and the point of the curve is moved by it.
const TOLERANCE: f64 = 5e-3;
const OBJECT: f64 = 0.3;

/// An excess of this share or more is not corrected: a few objects hold most of the bytes.
const JUMP: f64 = 0.05;

/// A rate of eviction at which no object stays.
const EVERYTHING: f64 = 100.0;

/// More residents than exist: without evictions, recency does not matter.
const ENDLESS: f64 = 1e15;

/// The evictions of a cache in a stretch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Evictions per resident and access; zero in a cache that is not full.
    pub(super) rate: f64,
    pub(super) residents: f64,
    /// Change of the logarithm of the bytes by that of the rate.
    slope: f64,
}

impl Turn {
    /// The turn of a cache that is not full.
    pub(super) const IDLE: Self = Self { rate: 0.0, residents: ENDLESS, slope: -0.5 };

    /// Whether the cache was full, and the search found a rate.
    fn is_full(&self) -> bool {
        self.rate > 0.0 && self.rate < 0.5 * EVERYTHING
    }

    /// Interpolates between this turn and `other`, at the position `share`. `None` unless both are
    /// full.
    fn towards(&self, other: &Self, share: f64) -> Option<Self> {
        let between = |low: f64, high: f64| low * (high / low).powf(share);
        (self.is_full() && other.is_full()).then(|| Self {
            rate: between(self.rate, other.rate),
            residents: between(self.residents, other.residents),
            slope: between(self.slope, other.slope),
        })
    }

    /// Scales this turn by the ratio of `before`, the solution for the previous stretch, to
    /// `likely`, its guess.
    fn corrected(mut self, before: &Self, likely: Option<Self>) -> Self {
        if let Some(likely) = likely.filter(|_| before.is_full()) {
            self.rate *= (before.rate / likely.rate).clamp(0.5, 2.0);
            self.residents *= (before.residents / likely.residents).clamp(0.5, 2.0);
        }
        self
    }
}

/// Solved caches by size, with their turns in every stretch.
#[derive(Debug, Default)]
pub(super) struct SolvedCaches(Vec<(f64, Vec<Turn>)>);

/// The two known caches around a size, and its position between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    small: usize,
    large: usize,
    share: f64,
}

impl SolvedCaches {
    pub(super) fn learn(&mut self, mut caches: Vec<(f64, Vec<Turn>)>) {
        self.0.append(&mut caches);
        self.0.sort_by(|a, b| a.0.total_cmp(&b.0));
    }

    /// The known neighbours of a cache of `room` bytes.
    pub(super) fn near(&self, room: f64) -> Option<Near> {
        let large = self.0.partition_point(|(size, _)| *size < room);
        let high = self.0.get(large)?.0;
        if high <= room {
            return Some(Near { small: large, large, share: 0.0 });
        }
        let small = large.checked_sub(1)?;
        let low = self.0[small].0;
        Some(Near { small, large, share: (room / low).ln() / (high / low).ln() })
    }

    /// A guess for a stretch in which both neighbours are full, corrected by the solution `before`
    /// for the previous stretch.
    pub(super) fn guess(&self, near: Near, stretch: usize, before: &Turn) -> Option<Turn> {
        let (small, large) = (&self.0[near.small].1, &self.0[near.large].1);
        let at = |stretch: usize| small[stretch].towards(&large[stretch], near.share);
        let likely = stretch.checked_sub(1).and_then(at);
        at(stretch).map(|turn| turn.corrected(before, likely))
    }
}

/// The residents at the end of a pass, and the bytes that the cache has room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    pub(super) objects: f64,
    pub(super) bytes: f64,
    pub(super) room: f64,
}

/// The state of the search.
#[derive(Clone, Copy, Debug)]
pub(super) enum Search {
    /// Tries whether no eviction is needed.
    Trial,
    Seeking(Secant),
    /// Ended, with this excess in the logarithm of the bytes.
    Found(f64),
}

impl Search {
    pub(super) fn from(turn: &Turn) -> Self {
        if turn.is_full() { Self::Seeking(Secant::new(turn.rate, turn.slope)) } else { Self::Trial }
    }

    /// The next turn to try; `None` if the last one is the solution.
    pub(super) fn next(&mut self, turn: &Turn, is_last: bool) -> Option<Turn> {
        match self {
            Self::Found(_) => None,
            Self::Trial => Some(Turn { slope: turn.slope, ..Turn::IDLE }),
            Self::Seeking(secant) if is_last => {
                let (_, rate, residents) = secant.best;
                secant.rate = rate;
                Some(Turn { rate: rate.exp(), residents, slope: turn.slope })
            }
            Self::Seeking(secant) => Some(Turn { rate: secant.rate.exp(), ..*turn }),
        }
    }

    /// The state of the search after a pass with `turn`, which left these residents.
    pub(super) fn judge(self, turn: &mut Turn, left: Left, ticks: f64, steepness: f64) -> Self {
        let Left { objects, bytes, room } = left;
        let fitting = objects * room / bytes;
        match self {
            Self::Trial if bytes > room => {
                turn.residents = fitting;
                let rate = (bytes / room - 1.0) / ticks.min(1e12);
                Self::Seeking(Secant::new(rate, turn.slope))
            }
            Self::Trial => Self::Found(0.0),
            Self::Found(excess) => Self::Found(excess),
            Self::Seeking(mut secant) => {
                let before = turn.residents;
                // If hardly any object stays, the mean size of the residents is not used.
                if bytes > 0.05 * room {
                    turn.residents = fitting;
                }
                let excess = (bytes / room).max(1e-6).ln();
                if secant.step(before, excess, turn.residents / before - 1.0, steepness) {
                    turn.slope = secant.slope;
                    Self::Found(excess)
                } else if secant.rate < secant.floor {
                    *turn = Turn { slope: turn.slope, ..Turn::IDLE };
                    Self::Trial
                } else {
                    Self::Seeking(secant)
                }
            }
        }
    }

    /// The excess in the logarithm of the bytes; 0 if it is too large to correct.
    pub(super) fn excess(&self) -> f64 {
        match *self {
            Self::Found(excess) if excess.abs() < JUMP => excess,
            _ => 0.0,
        }
    }
}

/// A search for the logarithm of a rate of eviction, by secants within bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secant {
    rate: f64,
    /// A rate below this counts as zero.
    floor: f64,
    low: f64,
    high: f64,
    last: Option<(f64, f64)>,
    slope: f64,
    /// The best step so far among those without too many bytes: its error, rate and residents.
    /// Without such a step, the rate at which no object stays.
    best: (f64, f64, f64),
}

impl Secant {
    fn new(rate: f64, slope: f64) -> Self {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        let (rate, best) = (rate.ln(), (f64::INFINITY, EVERYTHING.ln(), 1.0));
        Self { rate, floor: rate - 12.0, low, high, last: None, slope, best }
    }

    /// Judges a pass at the current rate, with recency ranked among `residents`. The logarithm of
    /// the bytes was too large by `excess`, and the actual residents were more by the share
    /// `shift`. Returns whether that is close enough; if not, moves on.
    fn step(&mut self, residents: f64, excess: f64, shift: f64, steepness: f64) -> bool {
        let off = excess.abs() + shift.abs();
        if off < self.best.0 && excess < JUMP {
            self.best = (off, self.rate, residents);
        }
        let tolerance = TOLERANCE.max(OBJECT / residents);
        if excess.abs() < tolerance && shift.abs() < tolerance {
            return true;
        }
        let rate = self.rate;
        if let Some((other, before)) = self.last
            && (rate - other).abs() > 1e-6
        {
            self.slope = ((excess - before) / (rate - other)).clamp(-3.0, -0.05);
        }
        // With more residents every rank is lower, so the same evictions need a higher rate.
        let steeper = steepness * shift;
        let mut next = rate - (excess / self.slope).clamp(-2.5, 2.5) + steeper;
        if excess > 0.0 {
            self.low = rate;
        } else {
            self.high = rate;
        }
        if shift.abs() > 0.02 {
            // The ranks changed much: earlier results for the rate are no longer valid.
            (self.low, self.high, self.last) = (f64::NEG_INFINITY, f64::INFINITY, None);
        } else {
            // The ranks changed little: the bounds move, and widen by the doubt.
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
