//! Classes of penalties: what a miss costs, in sixteen steps that double [1].
//!
//! Class i covers from 10·(2^(i-1) - 1) to 10·(2^i - 1) µs: [1, 10), [10, 30), [30, 70) and so on;
//! whatever takes longer than 655 ms is of the last. A byte holds it, and 0 says that nobody knows.
//!
//! [1] Pan, Luo, Li, Wang, Hu. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

use crate::Micros;

/// The number of penalty classes, not counting the unknown.
pub const CLASSES: u8 = 16;

/// The class of a penalty that was measured, from 1 to 16.
pub const fn class_of(penalty: Micros) -> u8 {
    let class = (penalty.0 / 10 + 1).ilog2() + 1;
    if class > CLASSES as u32 { CLASSES } else { class as u8 }
}

/// What a penalty of this class is counted as: the middle of the class; zero where none is known.
pub const fn of_class(class: u8) -> Micros {
    match class {
        0 => Micros(0),
        class => Micros((15 << (class - 1)) - 10),
    }
}

/// The class that an item is taken for of which nobody knows what its misses cost: that of nearly
/// all misses that were measured, where there is one. Otherwise it stays unknown, and the unknown
/// are a class of their own. `misses` are those of each class, from the unknown on.
pub fn usual(misses: impl Iterator<Item = u64> + Clone) -> u8 {
    let measured = (0..).zip(misses).skip(1);
    let all: u64 = measured.clone().map(|(_, misses)| misses).sum();
    let most = measured.max_by_key(|&(_, misses)| misses).filter(|&(_, misses)| misses > 0);
    most.filter(|&(_, misses)| misses as f64 >= USUAL * all as f64).map_or(0, |(class, _)| class)
}

/// Share of the misses that the usual class has at least.
const USUAL: f64 = 0.9;

/// What is known of the penalty of one key: a mean that follows it, and its class.
///
/// The mean is geometric, a new penalty weighs a quarter of it, and the key changes its class only
/// when the mean is a fifth beyond the class: a backend whose answers take now a little more and
/// now a little less than a boundary would otherwise send its keys to and fro.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean in classes: what is below 1 is of class 1, what is below 2 of class 2.
    level: f32,
    class: u8,
}

/// Weight of a new penalty.
const WEIGHT: f32 = 0.25;
/// How far the mean must be beyond its class.
const BEYOND: f32 = 1.2;

impl Estimate {
    /// After the first penalty that was measured.
    pub fn new(penalty: Micros) -> Self {
        Self { level: level(penalty), class: class_of(penalty) }
    }

    /// Of a key of which only the class is known.
    pub fn of_class(class: u8) -> Self {
        Self { level: level(of_class(class)), class }
    }

    /// Takes note of another penalty.
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

    /// In eighteen bits, not all of them zero.
    pub fn pack(self) -> u32 {
        (((self.level * STEPS) as u32).min((1 << 13) - 1) << 5) | u32::from(self.class)
    }

    /// What was packed.
    pub fn unpack(bits: u32) -> Self {
        Self { level: (bits >> 5 & ((1 << 13) - 1)) as f32 / STEPS, class: (bits & 31) as u8 }
    }
}

/// Steps of a class in which a mean is packed.
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

    /// One class is usual only where nearly all misses are of it.
    #[test]
    fn the_usual_class_has_nearly_all_misses() {
        let usual = |misses: [u64; 4]| usual(misses.into_iter());
        assert_eq!(usual([500, 0, 95, 5]), 2);
        assert_eq!(usual([0, 0, 60, 40]), 0);
        assert_eq!(usual([500, 0, 0, 0]), 0, "nothing was measured");
    }

    /// Around a boundary a key stays what it is; when its backend has become slow it follows.
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
