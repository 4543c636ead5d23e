//! What memory is worth where items leave: the ranks of the victims.

/// Weight of a victim in the mean.
const WEIGHT: f64 = 1.0 / 32.0;

/// What the victims of one class were worth lately, fake ones among them. Under a rank that learns
/// nothing the density is the age of what left, below zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Victims {
    /// Victims so far.
    pub count: u64,
    /// Hits by byte and request that they would have brought, the recent ones weighing more.
    pub density: f64,
}

impl Victims {
    /// Those of a rank that learns nothing, with what they are worth in place of their age.
    #[must_use]
    pub fn by_age(self) -> Self {
        Self { density: 1.0 / (1.0 - self.density.min(0.0)), ..self }
    }

    /// Counts a victim, unless nobody can say what it was worth: an explorer that had to go.
    pub fn add(&mut self, density: f64) {
        if !density.is_finite() {
            return;
        }
        self.count += 1;
        // The mean of all as long as they are few.
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
