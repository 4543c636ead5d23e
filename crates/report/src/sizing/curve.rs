//! The miss ratio of a tenant by its memory.

use serde::{Deserialize, Serialize};

/// The miss ratio of a tenant by its memory, as points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Sizes in bytes, from 0 to the end of the data.
    pub sizes: Vec<u64>,
    /// The miss ratio at each size.
    pub ratios: Vec<f64>,
    /// The lower edge of the band at each size: two standard errors from independent parts of the
    /// sample. Empty where the band is not known.
    pub low: Vec<f64>,
    /// The upper edge of the band at each size.
    pub high: Vec<f64>,
    /// Sampled reads that the curve rests on.
    pub reads: f64,
    /// The memory of all tenants at which this tenant holds each of `sizes`. Only for curves of a
    /// shared pool under its policy in force; otherwise empty.
    #[serde(default)]
    pub pool: Vec<u64>,
    /// The bytes that the plays hold of this tenant at each of `pool`; `sizes` are these, adjusted
    /// to the store. Empty where `pool` is.
    #[serde(default)]
    pub played: Vec<u64>,
}

/// The estimate of a curve at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The miss ratio.
    pub ratio: f64,
    /// The band of `ratio` to either side.
    pub band: f64,
}

impl Curve {
    /// The size beyond which the curve has no data.
    pub fn end(&self) -> u64 {
        self.sizes.last().copied().unwrap_or_default()
    }

    /// The value at a size, interpolated between the two points beside it.
    fn of(&self, size: f64, value: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        let after = self.sizes.partition_point(|&known| (known as f64) < size);
        let Some(&right) = self.sizes.get(after) else { return value(self.sizes.len() - 1) };
        let there = value(after)?;
        if after == 0 {
            return Some(there);
        }
        let (left, before) = (self.sizes[after - 1] as f64, value(after - 1)?);
        let along = (size - left) / (right as f64 - left).max(f64::MIN_POSITIVE);
        Some(before + along * (there - before))
    }

    /// The estimate at `size` bytes; beyond the end of the curve, that of the end.
    pub fn at(&self, size: f64) -> Option<Estimate> {
        if self.sizes.is_empty() {
            return None;
        }
        let ratio = self.of(size, |at| self.ratios.get(at).copied())?;
        // Between two points, variances are interpolated.
        let squares = self.of(size, |at| {
            let (ratio, low, high) = (self.ratios.get(at)?, self.low.get(at)?, self.high.get(at)?);
            Some((high - ratio).max(ratio - low).powi(2))
        });
        // The standard error of n misses is √n if they are independent.
        let chance = || 2.0 * (ratio / self.reads.max(1.0)).sqrt();
        Some(Estimate { ratio, band: squares.map_or_else(chance, f64::sqrt) })
    }

    /// The least size whose miss ratio is at most `wanted`.
    pub(super) fn size_for(&self, wanted: f64) -> Option<f64> {
        let at = self.ratios.iter().position(|&ratio| ratio <= wanted + 1e-9)?;
        let right = self.sizes[at] as f64;
        let Some(before) = at.checked_sub(1) else { return Some(right) };
        let (left, high, low) = (self.sizes[before] as f64, self.ratios[before], self.ratios[at]);
        let along = (high - wanted) / (high - low).max(f64::MIN_POSITIVE);
        Some(left + along * (right - left))
    }
}
