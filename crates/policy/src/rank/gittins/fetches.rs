//! Fetches of watched keys, by cost: the class of a fetch foretells the cost of the next one.
//!
//! A fetch is measured with noise: the client waits for a processor, the backend stalls. So a fetch
//! of one class may be of a key whose usual class is another one. Pairs of fetches of the same key
//! tell how far apart classes are by chance. A class then has the mean cost of all fetches that
//! close, by a normal curve of twice that width: where few classes lie close together they all cost
//! the same, and a class far from all others keeps its own cost. Pairs of the class itself, in
//! either order, count beside this mean, and outweigh it when there are many.

use base::penalty;

/// Number of penalty classes, the unknown class first.
pub const PENALTIES: usize = 1 + penalty::CLASSES as usize;

/// Weight of the mean of the classes close by, in fetches, against fetches that came before or
/// after one of the class itself.
const CLOSE_WEIGHT: f32 = 20.0;
/// The variance of a fetch's class before any key was fetched twice, and its weight in pairs.
const ASSUMED: (f32, f32) = (1.0, 5.0);
/// The width of the normal curve, in standard deviations of a fetch's class.
const WIDTH: f32 = 2.0;

/// The fetches of a tenant whose cost is in one penalty class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassFetches {
    /// Their mean cost in microseconds.
    pub mean: f32,
    /// Their number, in which old fetches may count less.
    pub count: f32,
}

/// Counts of fetches by the penalty class of the key's fetch before, and by their own class.
pub(super) type FetchCounts = [[f32; PENALTIES]; PENALTIES];

/// No key was fetched twice.
const NO_PAIRS: FetchCounts = [[0.0; PENALTIES]; PENALTIES];

/// Counts of fetches by tenant, up to the highest tenant seen.
#[derive(Debug, Default)]
pub(super) struct Fetches(Vec<FetchCounts>);

impl Fetches {
    /// The fetches of a tenant, if it had any.
    pub(super) fn get(&self, app: usize) -> Option<&FetchCounts> {
        self.0.get(app)
    }

    /// The fetches of a tenant, to be changed.
    pub(super) fn of(&mut self, app: usize) -> &mut FetchCounts {
        while self.0.len() <= app {
            self.0.push(NO_PAIRS);
        }
        &mut self.0[app]
    }

    /// Multiplies all counts by `factor`.
    pub(super) fn fade(&mut self, factor: f32) {
        for fetches in self.0.iter_mut().flat_map(|of| of.iter_mut().flatten()) {
            *fetches *= factor;
        }
    }

    /// The expected cost of the next fetch of a tenant's key, by the class of its last one, in
    /// microseconds; 0 for the unknown class. `known` are the tenant's fetches by class.
    pub(super) fn expected(
        &self,
        app: usize,
        known: &[ClassFetches; PENALTIES],
    ) -> [f32; PENALTIES] {
        let pairs = self.get(app).unwrap_or(&NO_PAIRS);
        let by_chance = 2.0 * WIDTH * WIDTH * variance(pairs);
        let costs: [f32; PENALTIES] = std::array::from_fn(|class| match known[class] {
            ClassFetches { mean, count } if count > 0.0 && mean > 0.0 => mean,
            _ => penalty::of_class(class as u8).as_f64() as f32,
        });
        let expected = |class: usize| {
            let (mut log, mut weight) = (0.0, 0.0);
            let (mut sum, mut count) = (0.0, CLOSE_WEIGHT);
            for other in 1..PENALTIES {
                let apart = class.abs_diff(other) as f32;
                // The class of the key counts even if no fetch of it was measured.
                let least = f32::from(u8::from(other == class));
                let close = known[other].count.max(least) * (-apart * apart / by_chance).exp();
                log += close * costs[other].ln();
                weight += close;
                let paired = pairs[class][other] + pairs[other][class];
                sum += paired * costs[other];
                count += paired;
            }
            (sum + CLOSE_WEIGHT * (log / weight).exp()) / count
        };
        std::array::from_fn(|class| if class == 0 { 0.0 } else { expected(class) })
    }

    /// Memory of the counts.
    pub(super) const fn bytes(&self) -> usize {
        self.0.len() * size_of::<FetchCounts>()
    }
}

/// The variance of the class of a fetch around the usual class of its key.
fn variance(pairs: &FetchCounts) -> f32 {
    let (usual, weight) = ASSUMED;
    let (mut sum, mut count) = (usual * weight, weight);
    for (one, fetches) in pairs.iter().enumerate() {
        for (other, fetches) in fetches.iter().enumerate() {
            let apart = one.abs_diff(other) as f32;
            // Both fetches of a pair have noise.
            sum += fetches * apart * apart / 2.0;
            count += fetches;
        }
    }
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Micros;
    use base::Prng;
    use base::penalty::class_of;

    /// The cost of each fetch of a key, drawn anew for each key.
    type Key = Box<dyn FnMut(&mut Prng) -> f64>;

    /// A factor by chance, whose decimal logarithm has `noise` as its standard deviation.
    fn chance(prng: &mut Prng, noise: f64) -> f64 {
        let normal: f64 = (0..12).map(|_| prng.unit()).sum::<f64>() - 6.0;
        10f64.powf(noise * normal)
    }

    /// The cost expected after a fetch of each cost in `asked`, from 20 000 fetches of one key each
    /// and some pairs of fetches.
    fn expected(pairs: u32, asked: [f64; 3], mut draw: impl FnMut(&mut Prng) -> Key) -> [f32; 3] {
        let (mut prng, mut fetches) = (Prng::new(1), Fetches::default());
        let mut sums = [(0.0, 0.0); PENALTIES];
        for _ in 0..20_000 {
            let cost = draw(&mut prng)(&mut prng);
            let (sum, count) = &mut sums[usize::from(class_of(Micros(cost as u64)))];
            (*sum, *count) = (*sum + cost, *count + 1.0);
        }
        for _ in 0..pairs {
            let mut key = draw(&mut prng);
            let [one, other] =
                [(); 2].map(|()| usize::from(class_of(Micros(key(&mut prng) as u64))));
            fetches.of(0)[one][other] += 1.0;
        }
        let known = sums.map(|(sum, count): (f64, f64)| ClassFetches {
            mean: (sum / count.max(1.0)) as f32,
            count: count as f32,
        });
        let expected = fetches.expected(0, &known);
        asked.map(|cost| expected[usize::from(class_of(Micros(cost as u64)))])
    }

    /// All keys cost 100 µs, times chance. One fetch in fifty takes thirty times as long.
    #[test]
    fn chance_makes_no_prices() {
        let draw = |_: &mut Prng| -> Key {
            Box::new(|prng| {
                let stall = if prng.unit() < 0.02 { 30.0 } else { 1.0 };
                100.0 * stall * chance(prng, 0.35)
            })
        };
        let asked = [25.0, 400.0, 10_000.0];
        for (pairs, apart, stalled) in [(0, 2.5, 15.0), (20, 2.2, 6.0), (2_000, 1.7, 5.0)] {
            let [low, high, stall] = expected(pairs, asked, draw);
            assert!((0.5..apart).contains(&(high / low)), "{pairs}: {low} {high}");
            assert!(stall / low < stalled, "{pairs}: {low} {stall}");
        }
    }

    /// A key in a hundred costs 500 ms, the others 0.9 or 1.9 ms by chance.
    #[test]
    fn rare_dear_keys_stay_dear() {
        for pairs in [0, 20, 1_000] {
            let [low, high, dear] = expected(pairs, [900.0, 1_900.0, 5e5], |prng| {
                let is_dear = prng.unit() < 0.01;
                Box::new(
                    move |prng| if is_dear { 5e5 } else { 900.0 + 1_000.0 * prng.unit().round() },
                )
            });
            assert!((0.9..1.4).contains(&(high / low)), "{pairs}: {low} {high}");
            assert!(dear > 4e5, "{pairs}: {dear}");
        }
    }

    /// Most keys cost 20 to 200 µs by chance, some have a slow backend.
    #[test]
    fn a_slow_backend_vouches_for_no_other_difference() {
        for pairs in [0, 20, 300] {
            let [low, high, slow] = expected(pairs, [25.0, 170.0, 5e4], |prng| {
                let is_slow = prng.unit() < 0.05;
                Box::new(move |prng| {
                    if is_slow { 5e4 * chance(prng, 0.05) } else { 20.0 * 10f64.powf(prng.unit()) }
                })
            });
            assert!((0.6..1.7).contains(&(high / low)), "{pairs}: {low} {high}");
            assert!((4.5e4..5.5e4).contains(&slow), "{pairs}: {slow}");
        }
    }

    /// Half of the keys cost 20 µs and half 80 µs, or 0.3 and 3 ms.
    #[test]
    fn true_costs_are_learnt_from_few_pairs() {
        for (few, factors) in [(20.0, [1.3, 1.8, 2.6, 3.7]), (300.0, [3.0, 4.0, 7.0, 9.5])] {
            let ratio = if few < 100.0 { 4.0 } else { 10.0 };
            for (pairs, least) in [0, 5, 20, 200].into_iter().zip(factors) {
                let [cheap, dear, _] = expected(pairs, [few, ratio * few, 1.0], |prng| {
                    let cost = if prng.unit() < 0.5 { few } else { ratio * few };
                    Box::new(move |prng| cost * chance(prng, 0.02))
                });
                assert!(dear / cheap > least, "{pairs}: {cheap} {dear}");
                assert!(dear / cheap < 1.05 * ratio as f32, "{pairs}: {cheap} {dear}");
            }
        }
    }

    /// After a restart the pairs are known before any fetch is measured, and old pairs fade.
    #[test]
    fn classes_without_fetches_have_their_middle() {
        let mut fetches = Fetches::default();
        let none = [ClassFetches::default(); PENALTIES];
        let middle = |class: usize| penalty::of_class(class as u8).as_f64() as f32;
        let expected = fetches.expected(3, &none);
        assert_eq!(expected[0], 0.0);
        for (class, cost) in expected.iter().enumerate().skip(1) {
            assert!((cost / middle(class) - 1.0).abs() < 1e-3, "{class}: {cost}");
        }
        fetches.of(3)[9][2] = 1_000.0;
        let expected = fetches.expected(3, &none);
        assert!(expected[9] < 0.03 * middle(9), "{}", expected[9]);
        fetches.fade(1e-6);
        let expected = fetches.expected(3, &none);
        assert!(expected[9] > 0.99 * middle(9), "{}", expected[9]);
    }
}
