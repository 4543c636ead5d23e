//! Finds by trying how large a part of the cache should be: a hill climber.
//!
//! ```text
//! hit ratio rose:  another step the same way        fell:  a step back
//! ```
//!
//! It looks once a sample of reads and answers by how much the part shall move. Each step is a
//! little shorter than the one before, so the part settles; a hit ratio that jumps says that the
//! workload is another, and steps are as long as at first. The decay and the jump are Caffeine's.
//!
//! \[1\] Einziger, Eytan, Friedman, Manes. Adaptive Software Cache Management. Middleware '18.

/// What a step is, by the one before it.
const DECAY: f64 = 0.98;
/// Change of the hit ratio from which on the search begins anew.
const JUMP: f64 = 0.05;

/// Looks for the share at which most reads hit.
#[derive(Clone, Debug)]
pub(crate) struct Climber {
    hits: u64,
    reads: u64,
    /// Hit ratio of the last sample.
    before: f64,
    /// What the share moves by next, its sign the way.
    step: f64,
    step_max: f64,
}

impl Climber {
    /// A climber whose first step is `step`, a share of the whole; it never moves if that is 0.
    pub(crate) const fn new(step: f64) -> Self {
        Self { hits: 0, reads: 0, before: 0.0, step, step_max: step }
    }

    /// Counts a read. At the end of a sample of `sample` reads: what to add to the share.
    pub(crate) fn count(&mut self, hit: bool, sample: u64) -> Option<f64> {
        self.hits += u64::from(hit);
        self.reads += 1;
        (self.step_max > 0.0 && self.reads >= sample).then(|| self.turn())
    }

    fn turn(&mut self) -> f64 {
        let ratio = self.hits as f64 / self.reads as f64;
        let change = ratio - self.before;
        (self.hits, self.reads, self.before) = (0, 0, ratio);
        let step = if change >= 0.0 { self.step } else { -self.step };
        let anew = change.abs() >= JUMP;
        self.step = if anew { self.step_max.copysign(step) } else { step * DECAY };
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Climbs a gentle hill whose top is at `top`, and says where it stands after so many samples.
    fn climb(climber: &mut Climber, from: f64, top: f64, samples: usize) -> f64 {
        let mut share = from;
        for _ in 0..samples {
            let hits = (1000.0 * (0.9 - 0.5 * (share - top).abs())) as u64;
            let moves = (0..1000).filter_map(|read| climber.count(read < hits, 1000));
            share = (share + moves.sum::<f64>()).clamp(0.0, 1.0);
        }
        share
    }

    #[test]
    fn finds_the_top_and_follows_it() {
        let mut climber = Climber::new(1.0 / 16.0);
        let share = climb(&mut climber, 0.01, 0.6, 100);
        assert!((share - 0.6).abs() < 0.05, "{share}");
        let share = climb(&mut climber, share, 0.2, 100);
        assert!((share - 0.2).abs() < 0.05, "{share}");
    }

    #[test]
    fn without_a_step_it_stays() {
        assert_eq!(climb(&mut Climber::new(0.0), 0.01, 0.6, 100), 0.01);
    }
}
