//! The worth of memory at the point of eviction: the ranks of the victims.

/// Weight of a victim in the mean.
const WEIGHT: f64 = 1.0 / 32.0;

/// The mean worth of the recent victims of one class, fake ones included. Under a rank that learns
/// nothing the density is minus the age of the victims.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Victims {
    /// Victims so far.
    pub count: u64,
    /// Expected hits per byte and request that the victims lost; recent victims weigh more.
    pub density: f64,
}

impl Victims {
    /// Replaces the ages of a rank that learns nothing by a worth that falls with age.
    #[must_use]
    pub fn by_age(self) -> Self {
        Self { density: 1.0 / (1.0 - self.density.min(0.0)), ..self }
    }

    /// Counts a victim, unless its worth is unknown: an explorer that had to be evicted.
    pub fn add(&mut self, density: f64) {
        if !density.is_finite() {
            return;
        }
        self.count += 1;
        // The plain mean as long as the victims are few.
        let weight = WEIGHT.max(1.0 / self.count as f64);
        self.density += weight * (density - self.density);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_follows_the_victims() {
        let mut victims = Victims::default();
        victims.add(4.0);
        victims.add(2.0);
        victims.add(f64::INFINITY);
        assert_eq!((victims.count, victims.density), (2, 3.0));
        for _ in 0..500 {
            victims.add(1.0);
        }
        assert!((victims.density - 1.0).abs() < 1e-3);
    }
}
