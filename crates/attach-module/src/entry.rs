//! An entry of the table of keys: four bytes, as drawn in `stamps.rs`.

/// Steps of an age from which on an entry has coarse steps, and from which on it grows no older.
const FINE_MAX: u32 = 96;
const COARSE_MAX: u32 = 192;
/// Octaves from a fine step to a coarse one.
const COARSER: u32 = 4;
/// Octaves from the unit of means to the shortest interval, and to a fine step.
const SHORTEST: u32 = 7;
const UNIT: u32 = 11;
/// The most hits of an entry.
const HITS_MAX: u32 = 7;
/// The highest interval.
const INTERVAL_MAX: u32 = 31;

/// The mean of each interval, in units. The second half of an octave begins at the root of two.
const MEANS: [u32; 1 + INTERVAL_MAX as usize] = {
    let mut all = [0; 1 + INTERVAL_MAX as usize];
    let mut at = 0;
    while at < all.len() {
        all[at] = (if at.is_multiple_of(2) { 128 } else { 181 }) << (at / 2);
        at += 1;
    }
    all
};

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

    /// Whether its age is so high that it must be written anew, at these clocks.
    #[inline]
    pub(crate) const fn is_due(self, fine: u32, coarse: u32) -> bool {
        let last = self.0 >> 11;
        let in_fine = (fine.wrapping_sub(last) & 0xFF > FINE_MAX) as u32;
        let in_coarse = (coarse.wrapping_sub(last) & 0xFF > COARSE_MAX) as u32;
        let is_coarse = self.0 >> 19 & 1;
        (in_fine & (is_coarse ^ 1) | in_coarse & is_coarse) & (self.0 != 0) as u32 != 0
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

    /// The requests of an interval.
    #[inline]
    pub(crate) const fn of_interval(self, interval: u32) -> u32 {
        let all = (MEANS[(interval & INTERVAL_MAX) as usize] as u64) << self.shift >> UNIT;
        if all > u32::MAX as u64 { u32::MAX } else { all as u32 }
    }
}

/// The interval of a mean, at least a unit; `chance` of 16 bits rounds it up or down.
#[inline]
const fn interval_of(mean: u32, chance: u32) -> u32 {
    let octave = mean.ilog2();
    // The fraction of an octave, to a hundredth: log2(1 + x) = x + 0.344 x (1 - x).
    let x = (mean << (31 - octave)) >> 15 & 0xFFFF;
    let part = x + ((((x * (0xFFFF - x)) >> 16) * 352) >> 10);
    let halves = ((octave << 16 | part) * 2 + chance) >> 16;
    let interval = halves.saturating_sub(2 * SHORTEST);
    if interval > INTERVAL_MAX { INTERVAL_MAX } else { interval }
}

impl KeyStamp {
    /// The entry after a hit.
    #[inline]
    pub(crate) fn hit(self, clock: RequestClock, chance: u32) -> Self {
        let hits = self.hits();
        let known = MEANS[self.interval() as usize] * hits;
        // The middle of the step.
        let age = (2 * self.age(clock) + 1) << (UNIT - 1);
        let interval = interval_of((known + age) / (hits + 1), chance);
        self.with((hits + 1).min(HITS_MAX), interval).aged(0, clock)
    }

    /// The entry with steps of other lengths; `shorter` is the octaves by which they are shorter.
    pub(crate) fn converted(self, shorter: i32) -> Self {
        let interval = self.interval() as i32 + 2 * shorter;
        self.with(self.hits(), interval.clamp(0, INTERVAL_MAX as i32) as u32)
    }
}
