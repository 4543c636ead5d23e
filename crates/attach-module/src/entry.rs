//! An entry of the table of keys: four bytes, as drawn in `stamps.rs`.

/// Steps of an age from which on an entry has coarse steps, and from which on it grows no older.
const FINE_MAX: u32 = 96;
const COARSE_MAX: u32 = 192;
/// Octaves from a fine step to a coarse one.
const COARSER: u32 = 4;
/// Octaves from the shortest interval to a fine step.
const SHORTEST: u32 = 4;
/// The most hits of an entry.
const HITS_MAX: u32 = 7;
/// The highest interval.
const INTERVAL_MAX: u32 = 31;

/// One key, as in the drawing above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyStamp(pub(crate) u32);

pub(crate) const PRINT: u32 = 0x7FF << 21;
pub(crate) const HELD: u32 = 1 << 20;
const LAST: u32 = 0x1FF << 11;

impl KeyStamp {
    pub(crate) const fn coarse(self) -> bool {
        self.0 & 1 << 19 != 0
    }

    pub(crate) const fn hits(self) -> u32 {
        self.0 >> 8 & HITS_MAX
    }

    pub(crate) const fn interval(self) -> u32 {
        self.0 >> 3 & INTERVAL_MAX
    }

    /// The age in fine steps.
    #[inline]
    pub(crate) const fn age(self, clock: RequestClock) -> u32 {
        let last = self.0 >> 11;
        if self.coarse() {
            ((clock.coarse()).wrapping_sub(last) & 0xFF) << COARSER
        } else {
            clock.fine().wrapping_sub(last) & 0xFF
        }
    }

    /// Not zero if its age is so high that it must be written anew, at these clocks.
    #[inline]
    pub(crate) const fn is_due(self, fine: u32, coarse: u32) -> u32 {
        let last = self.0 >> 11;
        let in_fine = (fine.wrapping_sub(last) & 0xFF > FINE_MAX) as u32;
        let in_coarse = (coarse.wrapping_sub(last) & 0xFF > COARSE_MAX) as u32;
        let is_coarse = self.0 >> 19 & 1;
        (in_fine & (is_coarse ^ 1) | in_coarse & is_coarse) & (self.0 != 0) as u32
    }

    /// The entry with an age in fine steps.
    #[inline]
    pub(crate) const fn aged(self, steps: u32, clock: RequestClock) -> Self {
        let last = if steps < FINE_MAX {
            clock.fine().wrapping_sub(steps) & 0xFF
        } else {
            let coarse = steps >> COARSER;
            let coarse = if coarse > COARSE_MAX { COARSE_MAX } else { coarse };
            clock.coarse().wrapping_sub(coarse) & 0xFF | 0x100
        };
        Self(self.0 & !LAST | last << 11)
    }

    pub(crate) const fn with(self, hits: u32, interval: u32) -> Self {
        Self(self.0 & !(0xFF << 3) | hits << 8 | interval << 3)
    }

    pub(crate) const fn held(self, is_held: bool) -> Self {
        Self(if is_held { self.0 | HELD } else { self.0 & !HELD })
    }
}

/// The clock of requests, with the length of a fine step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestClock {
    pub(crate) tick: u64,
    pub(crate) shift: u32,
}

impl RequestClock {
    pub(crate) const fn fine(self) -> u32 {
        (self.tick >> self.shift) as u32
    }

    pub(crate) const fn coarse(self) -> u32 {
        (self.tick >> (self.shift + COARSER)) as u32
    }

    /// Requests of an age in fine steps: the middle of the step.
    pub(crate) const fn requests(self, steps: u32) -> u32 {
        let all = ((steps as u64) << self.shift) + (1 << self.shift) / 2;
        if all > u32::MAX as u64 { u32::MAX } else { all as u32 }
    }

    /// The octave of the shortest interval.
    pub(crate) const fn shortest(self) -> u32 {
        self.shift.saturating_sub(SHORTEST)
    }

    /// The requests of an interval.
    #[inline]
    pub(crate) const fn of_interval(self, interval: u32) -> u32 {
        let octave = self.shortest() + interval / 2;
        let octave = if octave > 30 { 30 } else { octave };
        // The second half of an octave begins at the root of two.
        let middle = ((1u64 << octave) * if interval.is_multiple_of(2) { 128 } else { 181 }) >> 7;
        middle as u32
    }

    /// The interval of a number of requests; `chance` of 16 bits rounds it up or down.
    #[inline]
    pub(crate) const fn interval_of(self, requests: u32, chance: u32) -> u32 {
        let requests = if requests > 0 { requests } else { 1 };
        let octave = requests.ilog2();
        // The fraction of an octave, to a hundredth: log2(1 + x) = x + 0.344 x (1 - x).
        let x = (requests << (31 - octave)) >> 15 & 0xFFFF;
        let part = x + ((x * (0xFFFF - x)) >> 16) * 344 / 1_000;
        let halves = (((octave << 16 | part) * 2) + chance) >> 16;
        let interval = halves.saturating_sub(2 * self.shortest());
        if interval > INTERVAL_MAX { INTERVAL_MAX } else { interval }
    }
}

impl KeyStamp {
    /// The entry after a hit.
    #[inline]
    pub(crate) fn hit(self, clock: RequestClock, chance: u32) -> Self {
        let age = clock.requests(self.age(clock));
        let hits = self.hits();
        let mean = if hits == 0 {
            age
        } else {
            let known = u64::from(clock.of_interval(self.interval())) * u64::from(hits);
            ((known + u64::from(age)) / u64::from(hits + 1)) as u32
        };
        self.with((hits + 1).min(HITS_MAX), clock.interval_of(mean, chance)).aged(0, clock)
    }
}
