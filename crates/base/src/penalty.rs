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

#[cfg(test)]
mod tests {
    use super::*;

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
