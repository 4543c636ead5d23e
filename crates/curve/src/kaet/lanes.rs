//! Numbers side by side, one for each of several caches. The same arithmetic on all of them is a
//! loop of known length, which the compiler turns into a few vector instructions.

/// Caches solved side by side.
pub(super) const LANES: usize = 8;
pub(super) type Lanes = [f64; LANES];

/// Computes a number for every lane from the index of the lane.
#[inline]
pub(super) fn lanes(of: impl Fn(usize) -> f64) -> Lanes {
    let mut lanes = [0.0; LANES];
    for (i, lane) in lanes.iter_mut().enumerate() {
        *lane = of(i);
    }
    lanes
}

/// e^(-y) for y from 0, to eight digits, in arithmetic that vectorises: 2^n by its bits, times a
/// polynomial in the remaining fraction.
#[inline]
pub(super) fn decay(y: f64) -> f64 {
    /// Adding this number rounds to a whole number, which is then in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let t = y.clamp(0.0, 600.0) * -std::f64::consts::LOG2_E;
    let rounded = t + ROUND;
    let f = (t - (rounded - ROUND)) * std::f64::consts::LN_2;
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    let high = 1.0 / 24.0 + f * (1.0 / 120.0 + f * (1.0 / 720.0 + f * (1.0 / 5040.0)));
    power * (1.0 + f * (1.0 + f * (0.5 + f * (1.0 / 6.0 + f * high))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_is_the_exponential() {
        for step in 0..60_000 {
            let y = f64::from(step) * 0.01;
            let near = (decay(y) / (-y).exp() - 1.0).abs();
            assert!(near < 1e-8, "{y}: {} for {}", decay(y), (-y).exp());
        }
    }
}
