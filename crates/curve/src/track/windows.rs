//! Histograms of ages in the windows of a trace: numbers without the objects behind them.

use serde::{Deserialize, Serialize};

/// Bins per octave, as a power of two.
const PRECISION: u32 = 4;
const WIDTH: u64 = 1 << PRECISION;

/// Live objects of similar age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Live {
    pub(crate) objects: f64,
    pub(crate) bytes: f64,
}

/// Reads of similar age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hits {
    pub(crate) reads: f64,
    /// Sum of their ages. It matters because loops end in the middle of a bin.
    pub(crate) ages: f64,
}

/// A stretch of the trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Window {
    /// Accesses to all keys.
    pub(crate) ticks: f64,
    /// Reads of sampled keys that found a live object, by the object's age.
    pub(crate) hits: Vec<Hits>,
    /// The live objects at its end, by age.
    pub(crate) live: Vec<Live>,
}

impl Window {
    /// Extends the window to the end of the next one.
    pub(crate) fn join(&mut self, next: &Self) {
        self.ticks += next.ticks;
        add_hits(&mut self.hits, &next.hits);
        self.live.clone_from(&next.live);
    }

    pub(super) fn memory(&self) -> usize {
        self.hits.capacity() * size_of::<Hits>() + self.live.capacity() * size_of::<Live>()
    }
}

/// Adds reads, age by age.
pub(crate) fn add_hits(to: &mut Vec<Hits>, more: &[Hits]) {
    if more.len() > to.len() {
        to.reserve_exact(more.len() - to.len());
        to.resize(more.len(), Hits::default());
    }
    for (sum, more) in to.iter_mut().zip(more) {
        sum.reads += more.reads;
        sum.ages += more.ages;
    }
}

/// Adds live objects, age by age.
pub(crate) fn add_live(to: &mut Vec<Live>, more: &[Live]) {
    if more.len() > to.len() {
        to.resize(more.len(), Live::default());
    }
    for (sum, more) in to.iter_mut().zip(more) {
        sum.objects += more.objects;
        sum.bytes += more.bytes;
    }
}

/// Most windows, and most bins of ages in a window.
pub(crate) const WINDOWS_MAX: usize = 64;
const BINS_MAX: usize = 1 << 10;

fn is_count(count: f64) -> bool {
    count.is_finite() && count >= 0.0
}

impl Live {
    /// Whether the numbers are in the range that a model can count.
    pub(crate) fn are_sound(live: &[Self]) -> bool {
        live.len() <= BINS_MAX
            && live.iter().all(|live| is_count(live.objects) && is_count(live.bytes))
    }

    pub(super) fn scale(live: &mut [Self], factor: f64) {
        for live in live {
            live.objects *= factor;
            live.bytes *= factor;
        }
    }
}

impl Window {
    /// Whether the numbers are in the range that a model can count.
    pub(crate) fn is_sound(&self) -> bool {
        is_count(self.ticks)
            && Live::are_sound(&self.live)
            && self.hits.len() <= BINS_MAX
            && self.hits.iter().all(|hits| is_count(hits.reads) && is_count(hits.ages))
    }
}

/// The bin of an age.
pub(crate) fn bin(age: u64) -> usize {
    let shift = (age | 1).ilog2().saturating_sub(PRECISION);
    (u64::from(shift) * WIDTH + (age >> shift)) as usize
}

/// The number of ages in a bin.
pub(crate) fn width(bin: usize) -> u64 {
    if (bin as u64) < 2 * WIDTH { 1 } else { 1 << (bin as u64 / WIDTH - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_adjacent() {
        let mut left = 0;
        for at in 0..900 {
            assert_eq!((bin(left), bin(left + width(at) - 1)), (at, at));
            left += width(at);
        }
    }
}
