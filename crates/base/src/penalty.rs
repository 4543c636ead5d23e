//! Classes of penalties: the cost of a miss, in sixteen steps that double [1].
//!
//! Class i covers from 10·(2^(i-1) - 1) to 10·(2^i - 1) µs: [1, 10), [10, 30), [30, 70) and so on.
//! All penalties above 655 ms are in the last class. A class fits in a byte; 0 means unknown.
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

use crate::Micros;

/// The number of penalty classes, not counting the unknown.
pub const CLASSES: u8 = 16;

/// The class of a penalty that was measured, from 1 to 16.
pub const fn class_of(penalty: Micros) -> u8 {
    let class = (penalty.0 / 10 + 1).ilog2() + 1;
    if class > CLASSES as u32 { CLASSES } else { class as u8 }
}

/// The least penalty above a class; the last class has no bound.
pub const fn above(class: u8) -> Micros {
    Micros(10 * ((1 << class) - 1))
}

/// The penalty that stands for a class, its middle; zero for the unknown class.
pub const fn of_class(class: u8) -> Micros {
    match class {
        0 => Micros(0),
        class => Micros((15 << (class - 1)) - 10),
    }
}

/// The class to assume for an item of unknown penalty. It is the class of at least 90 % of the
/// measured misses, if there is one. Otherwise the item stays unknown, and unknown items are a
/// class of their own. `misses` holds the misses of each class, beginning with the unknown one.
pub fn usual(misses: impl Iterator<Item = u64> + Clone) -> u8 {
    let measured = (0..).zip(misses).skip(1);
    let all: u64 = measured.clone().map(|(_, misses)| misses).sum();
    let most = measured.max_by_key(|&(_, misses)| misses).filter(|&(_, misses)| misses > 0);
    most.filter(|&(_, misses)| misses as f64 >= USUAL * all as f64).map_or(0, |(class, _)| class)
}

/// Least share of the measured misses that makes a class the usual one.
const USUAL: f64 = 0.9;

/// The penalty of one key, estimated: a moving mean, and its class.
///
/// The mean is geometric, and a new penalty has a quarter of the weight. The key changes its class
/// only when the mean is a fifth beyond the class. Otherwise a backend with answers around a
/// boundary would send its keys to and fro.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean in classes: a level below 1 is class 1, a level below 2 is class 2.
    level: f32,
    class: u8,
}

/// Weight of a new penalty.
const WEIGHT: f32 = 0.25;
/// Factor by which the mean must be beyond its class.
const BEYOND: f32 = 1.2;

impl Estimate {
    /// The estimate after the first measured penalty.
    pub fn new(penalty: Micros) -> Self {
        Self { level: level(penalty), class: class_of(penalty) }
    }

    /// The estimate for a key of which only the class is known.
    pub fn of_class(class: u8) -> Self {
        Self { level: level(of_class(class)), class }
    }

    /// Adds another measured penalty.
    pub fn add(&mut self, penalty: Micros) {
        self.level += WEIGHT * (level(penalty) - self.level);
        let (mean, edge) = (wait(self.level), |class: u8| wait(f32::from(class)));
        let below = self.class > 1 && mean * BEYOND < edge(self.class - 1);
        let above = self.class < CLASSES && mean > BEYOND * edge(self.class);
        if below || above || self.class == 0 {
            self.class = class_of(Micros(mean as u64));
        }
    }

    /// The class of the key.
    pub const fn class(self) -> u8 {
        self.class
    }

    /// The estimate in eighteen bits, not all of them zero.
    pub fn pack(self) -> u32 {
        (((self.level * STEPS) as u32).min((1 << 13) - 1) << 5) | u32::from(self.class)
    }

    /// The estimate that [`Self::pack`] stored in `bits`.
    pub fn unpack(bits: u32) -> Self {
        Self { level: (bits >> 5 & ((1 << 13) - 1)) as f32 / STEPS, class: (bits & 31) as u8 }
    }
}

/// Steps per class in which a mean is packed.
const STEPS: f32 = 500.0;

fn level(penalty: Micros) -> f32 {
    (penalty.as_f64() as f32 / 10.0 + 1.0).log2().min(f32::from(CLASSES))
}

fn wait(level: f32) -> f32 {
    10.0 * (level.exp2() - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class is usual only if nearly all misses are in it.
    #[test]
    fn the_usual_class_has_nearly_all_misses() {
        let usual = |misses: [u64; 4]| usual(misses.into_iter());
        assert_eq!(usual([500, 0, 95, 5]), 2);
        assert_eq!(usual([0, 0, 60, 40]), 0);
        assert_eq!(usual([500, 0, 0, 0]), 0, "nothing was measured");
    }

    /// Around a boundary a key stays in its class; when its backend becomes slow, the key follows.
    #[test]
    fn a_class_is_left_with_hesitation() {
        let mut estimate = Estimate::new(Micros(600));
        for penalty in [660, 600, 700, 640, 610, 690, 720] {
            estimate.add(Micros(penalty));
            assert_eq!(estimate.class(), 6, "{penalty} µs");
        }
        let mut estimate = Estimate::new(Micros(1_000));
        let mut fetches = 0;
        while estimate.class() == 7 {
            estimate.add(Micros(2_000));
            fetches += 1;
        }
        assert_eq!((estimate.class(), fetches), (8, 4));
        estimate.add(Micros(u64::MAX));
        for _ in 0..100 {
            estimate.add(Micros(u64::MAX));
        }
        assert_eq!(estimate.class(), CLASSES);
        for class in 1..=CLASSES {
            let packed = Estimate::unpack(Estimate::of_class(class).pack());
            assert_eq!(packed.class(), class);
            assert!((packed.level - Estimate::of_class(class).level).abs() < 0.01, "{class}");
        }
    }

    #[test]
    fn classes_have_the_published_boundaries() {
        let edges =
            [(0, 1), (9, 1), (10, 2), (29, 2), (30, 3), (69, 3), (70, 4), (120, 4), (150, 5)];
        let later = [(1_000, 7), (2_000, 8), (327_669, 15), (655_349, 16), (1_000_000, 16)];
        for (penalty, class) in edges.into_iter().chain(later) {
            assert_eq!(class_of(Micros(penalty)), class, "{penalty} µs");
        }
        assert_eq!((class_of(Micros(327_670)), class_of(Micros(u64::MAX))), (16, 16));
        for class in 1..=CLASSES {
            assert_eq!(class_of(of_class(class)), class);
        }
    }
}
