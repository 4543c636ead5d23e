//! Hits, ends and exposure of watched keys, by the age at which they happened.
//!
//! Each bucket of ages counts the keys that were hit in it, the keys that ended there otherwise,
//! and the keys that passed it. The last count is the *exposure*, in whole keys: a key that passes
//! part of a bucket adds that part. So the counts of a period are complete in themselves, whatever
//! happens to the keys before and after. All three counts of an old period may be discounted alike.
//!
//! A key that lives through a period passes all buckets between two ages. Only the two ends of that
//! span are noted, as differences, so that each key costs the same:
//!
//! ```text
//! ages           a0                          a1
//! exposure     0  1-f0   1    1    1    1    f1   0          f: the part of a bucket before an age
//! difference   0 +1-f0 +f0    0    0    0  f1-1  -f1
//! ```

use super::class::{age_of, bucket, width};

/// Number of buckets by which counts grow.
const GROWTH: usize = 16;

/// Counts by bucket of ages, up to the highest age that any key reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AgeCounts {
    pub(super) hits: Vec<f32>,
    /// Has the length of `hits`.
    pub(super) risk: Vec<f32>,
    /// Up to the length of `hits`; most loads have no ends.
    pub(super) ends: Vec<f32>,
}

/// Adds the other numbers, multiplied by `weight`.
fn add(own: &mut [f32], other: &[f32], weight: f32) {
    for (own, other) in own.iter_mut().zip(other) {
        *own += weight * other;
    }
}

fn grow(counts: &mut Vec<f32>, len: usize) {
    if counts.len() < len {
        counts.reserve_exact(len - counts.len());
        counts.resize(len, 0.0);
    }
}

impl AgeCounts {
    /// Makes room for this number of buckets.
    fn reach(&mut self, buckets: usize) {
        grow(&mut self.hits, buckets);
        grow(&mut self.risk, buckets);
    }

    /// Adds other counts, multiplied by `weight`.
    pub(super) fn add(&mut self, other: &Self, weight: f32) {
        self.reach(other.hits.len());
        grow(&mut self.ends, other.ends.len());
        add(&mut self.hits, &other.hits, weight);
        add(&mut self.risk, &other.risk, weight);
        add(&mut self.ends, &other.ends, weight);
    }

    /// Adds other counts, shifted by `by` buckets. Counts that would fall before the first bucket
    /// are left out.
    pub(super) fn add_later(&mut self, other: &Self, by: isize) {
        let (from, to) = (by.min(0).unsigned_abs(), by.max(0).unsigned_abs());
        let rest = |counts: &[f32]| counts.len().saturating_sub(from);
        self.reach(to + rest(&other.hits));
        grow(&mut self.ends, if other.ends.is_empty() { 0 } else { to + rest(&other.ends) });
        let all = [
            (&mut self.hits, &other.hits),
            (&mut self.risk, &other.risk),
            (&mut self.ends, &other.ends),
        ];
        for (own, other) in all {
            if let (Some(own), Some(other)) = (own.get_mut(to..), other.get(from..)) {
                add(own, other, 1.0);
            }
        }
    }

    /// Multiplies all counts by `decay`.
    pub(super) fn forget(&mut self, decay: f32) {
        for count in self.hits.iter_mut().chain(&mut self.risk).chain(&mut self.ends) {
            *count *= decay;
        }
    }

    /// Whether the exposure is zero, or nearly zero, everywhere.
    pub(super) fn is_empty(&self) -> bool {
        self.risk.iter().all(|risk| *risk < 1e-6)
    }

    /// Bytes on the heap.
    pub(super) const fn bytes(&self) -> usize {
        (self.hits.capacity() + self.risk.capacity() + self.ends.capacity()) * size_of::<f32>()
    }
}

/// Counts of the period since the last look, with the exposure as differences.
#[derive(Clone, Debug, Default)]
pub(super) struct Window(AgeCounts);

impl Window {
    /// Notes that a key grew older. If it was hit at the later age, or `ended` there otherwise, it
    /// counts as having passed that bucket whole.
    #[inline]
    pub(super) fn pass(&mut self, from: u32, to: u32, fate: Fate) {
        // An age below the one noted before adds no exposure.
        let to = to.max(from);
        let (first, last) = (bucket(from), bucket(to));
        if self.0.hits.len() < last + 2 {
            self.grow(last + 2);
        }
        let part = |age: u32, at: usize| age.saturating_sub(age_of(at)) as f32 / width(at) as f32;
        let (before, after) = (part(from, first), part(to, last));
        let after = if fate == Fate::Lasts { after } else { 1.0 };
        let risk = &mut self.0.risk[..];
        risk[first] += 1.0 - before;
        risk[first + 1] += before;
        risk[last] += after - 1.0;
        risk[last + 1] -= after;
        match fate {
            Fate::Lasts => {}
            Fate::Hit => self.0.hits[last] += 1.0,
            Fate::Ended => {
                grow(&mut self.0.ends, last + 1);
                self.0.ends[last] += 1.0;
            }
        }
    }

    #[cold]
    fn grow(&mut self, buckets: usize) {
        self.0.reach(buckets.next_multiple_of(GROWTH));
    }

    /// Ends the period and returns its counts.
    pub(super) fn close(&mut self) -> AgeCounts {
        let mut counts = std::mem::take(&mut self.0);
        let mut exposed = 0.0f32;
        for risk in &mut counts.risk {
            exposed += *risk;
            *risk = exposed.max(0.0);
        }
        counts
    }

    /// The counts so far of a period that continues.
    pub(super) fn so_far(&self) -> AgeCounts {
        self.clone().close()
    }

    /// Bytes on the heap.
    pub(super) const fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// The fate of a watched key at an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It only grew older.
    Lasts,
    /// It was hit.
    Hit,
    /// It was written, deleted, or expired.
    Ended,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ages 3, within bucket 9 (10 and 11) and in bucket 16: the buckets between are passed whole.
    #[test]
    fn a_key_is_exposed_to_what_it_passes() {
        let mut window = Window::default();
        window.pass(3, 11, Fate::Lasts);
        window.pass(11, 24, Fate::Hit);
        window.pass(0, 0, Fate::Hit);
        window.pass(11, 11, Fate::Lasts);
        let counts = window.close();
        let mut want = [0.0; 17];
        want[0] = 1.0;
        want[3..17].fill(1.0);
        for (at, (got, want)) in counts.risk.iter().zip(want).enumerate() {
            assert!((got - want).abs() < 1e-6, "{at}: {got} for {want}");
        }
        assert_eq!((counts.hits[16], counts.hits[0], counts.hits.iter().sum()), (1.0, 1.0, 2.0));
        assert!(counts.ends.is_empty() && window.so_far() == AgeCounts::default());
    }

    #[test]
    fn ends_are_counted_where_there_are_any() {
        let mut window = Window::default();
        window.pass(0, 100, Fate::Ended);
        let (mut counts, period) = (AgeCounts::default(), window.so_far());
        counts.add(&period, 2.0);
        counts.forget(0.25);
        assert_eq!(counts.ends[bucket(100)], 0.5);
        assert_eq!(counts.risk[bucket(50)], 0.5);
        assert!(!counts.is_empty() && AgeCounts::default().is_empty());
    }

    #[test]
    fn counts_are_shifted_to_both_sides() {
        let of = |hits: &[f32]| AgeCounts { hits: hits.into(), risk: hits.into(), ends: vec![] };
        let mut sum = AgeCounts::default();
        sum.add_later(&of(&[1.0, 2.0, 3.0]), -2);
        sum.add_later(&of(&[1.0, 2.0]), 1);
        sum.add_later(&of(&[9.0]), -5);
        assert_eq!(sum.hits, [3.0, 1.0, 2.0]);
        assert_eq!(sum.hits, sum.risk);
    }
}
