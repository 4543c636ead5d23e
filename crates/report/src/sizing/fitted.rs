//! The curve of a tenant, fitted to the measured figures.

use super::{Curve, Estimate};
use crate::Tenant;
use base::Cause;

/// The largest factor by which a curve is shifted, to either side.
const SHIFT_MAX: f64 = 4.0;

/// A measured miss ratio this close to the curve, or within its band, is on the curve.
const ON_THE_CURVE: f64 = 0.005;

/// The error of a curve of sampled LRU beside chance, as a share of the change of the miss ratio.
const MODEL: f64 = 0.1;

/// A curve is bent to the misses of an unbounded cache only if it falls by more than this beyond
/// the present memory. Bending multiplies its fall by at most `STEEPNESS_MAX`.
const FALLS_MIN: f64 = 0.005;
const STEEPNESS_MAX: f64 = 5.0;

/// Sampled reads that a curve must rest on to be used for estimates.
pub(crate) const READS_MIN: f64 = 400.0;

/// A curve that ends below this share of a tenant's memory has seen too few of its keys.
const SEEN_MIN: f64 = 0.5;

/// Two ways to read a play of another pool size. A play may hold more of a tenant than the store
/// does, and may do so at any size, or only at the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The store would hold the adjusted bytes, [`Curve::sizes`].
    Fitted,
    /// The store would hold as many bytes as the play, [`Curve::played`].
    AsPlayed,
}

/// The effect of memory on a tenant: its curve, fitted to the measured figures.
#[derive(Clone, Copy, Debug)]
pub struct Sizing<'a> {
    pub(super) tenant: &'a Tenant,
    curve: &'a Curve,
    /// How many bytes under sampled LRU one byte under the policy in force is worth.
    counts: f64,
    /// The measured miss ratio minus that of the curve, at the memory the tenant holds.
    above: f64,
    /// The miss ratio of the curve at the memory the tenant holds.
    here: f64,
    /// The factor on the fall of the curve beyond the memory the tenant holds. It makes the curve
    /// end at the miss ratio of an unbounded cache.
    steepness: f64,
}

/// The memory that a wanted miss ratio takes, if any memory reaches it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Need {
    /// This much memory, with the least and the most that the band allows.
    Memory {
        /// Bytes.
        bytes: u64,
        /// Bytes, if the true curve lies at the lower edge of the band.
        least: u64,
        /// Bytes, if the true curve lies at the upper edge of the band; `None` where that edge
        /// never reaches the wanted ratio.
        most: Option<u64>,
    },
    /// No memory reaches the wanted ratio.
    Never {
        /// The miss ratio with all keys seen so far in memory.
        floor: f64,
    },
}

impl<'a> Sizing<'a> {
    /// The sizing of a tenant whose curve rests on enough reads.
    pub fn of(tenant: &'a Tenant) -> Option<Self> {
        Self::in_pool(tenant).filter(|sizing| sizing.curve.reads >= READS_MIN)
    }

    /// The sizing of a tenant whose curve has a band that tells how little it may rest on, as each
    /// curve of a shared pool has: LARDER SIZE shows its figures, too.
    pub fn with_band(tenant: &'a Tenant) -> Option<Self> {
        let has_band = |sizing: &Self| !sizing.curve.pool.is_empty();
        Self::of(tenant).or_else(|| Self::in_pool(tenant).filter(has_band))
    }

    /// The sizing of any tenant with a curve. The memory of a tenant in another pool needs fewer
    /// reads than its misses do, and the band says how well these are known.
    pub(crate) fn in_pool(tenant: &'a Tenant) -> Option<Self> {
        let curve = tenant.curve.as_ref().filter(|curve| curve.reads > 0.0)?;
        let used = tenant.used.max(1) as f64;
        if (curve.end() as f64) < SEEN_MIN * used {
            return None;
        }
        let there = curve.at(used)?;
        let here = there.ratio;
        let on_curve = Self { tenant, curve, counts: 1.0, above: 0.0, here, steepness: 1.0 };
        if !curve.pool.is_empty() {
            return Some(on_curve);
        }
        let Some(measured) = tenant.recent.miss_ratio() else { return Some(on_curve) };
        let above = measured - there.ratio;
        // More memory can turn only evictions into hits.
        let evicted = tenant.recent.missed_for(Cause::Evicted);
        let falls = there.ratio - curve.ratios.last().copied().unwrap_or_default();
        if let Some(evicted) = evicted.filter(|_| falls > FALLS_MIN) {
            let steepness = (evicted / falls).clamp(0.0, STEEPNESS_MAX);
            return Some(Self { above, steepness, ..on_curve });
        }
        if above.abs() <= ON_THE_CURVE.max(there.band) {
            return Some(Self { above, ..on_curve });
        }
        let as_much = curve.size_for(measured).unwrap_or(curve.end() as f64);
        let counts = (as_much / used).clamp(SHIFT_MAX.recip(), SHIFT_MAX);
        let here = curve.at(used * counts)?.ratio;
        Some(Self { counts, above: measured - here, here, ..on_curve })
    }

    /// The estimate of the miss ratio with `bytes` of memory.
    pub fn at(&self, bytes: u64) -> Estimate {
        let there = self.curve.at(bytes as f64 * self.counts);
        let Estimate { ratio, band } = there.unwrap_or(Estimate { ratio: 1.0, band: 1.0 });
        let Self { here, steepness, .. } = *self;
        let bent = if ratio < here { here + steepness * (ratio - here) } else { ratio };
        let model = if self.curve.pool.is_empty() { MODEL * (bent - here).abs() } else { 0.0 };
        Estimate { ratio: (bent + self.above).clamp(0.0, 1.0), band: band.hypot(model) }
    }

    /// The memory with which the fitted curve has a miss ratio.
    fn size_for(&self, wanted: f64) -> Option<f64> {
        let Self { here, steepness, .. } = *self;
        let bent = wanted - self.above;
        let on_curve = match steepness {
            _ if bent >= here => bent,
            0.0 => return None,
            steepness => here + (bent - here) / steepness,
        };
        self.curve.size_for(on_curve).map(|size| size / self.counts)
    }

    /// The memory beyond which the data shows no gain.
    pub fn end(&self) -> u64 {
        (self.curve.end() as f64 / self.counts) as u64
    }

    /// Evenly spaced sizes for a chart: from 0 to the end of the data, or to the memory held if
    /// that is more.
    pub fn sizes(&self, points: u64) -> Vec<u64> {
        let end = self.end().max(self.tenant.used);
        (0..=points)
            .map(|step| (u128::from(end) * u128::from(step) / u128::from(points)) as u64)
            .collect()
    }

    /// The memory that would be enough, if that is clearly less than the tenant holds: with more it
    /// would miss less only within the band, or by less than half a percentage point. The size is
    /// rounded up to an eighth of a power of two, so that it stays while the curve fluctuates.
    pub fn enough(&self) -> Option<u64> {
        const SAME: f64 = 0.005;
        const CLEARLY: f64 = 0.75;
        let end = self.at(self.end());
        let size = self.size_for(end.ratio + end.band.max(SAME))?.max(1.0) as u64;
        let step = (1_u64 << size.ilog2()).div_ceil(8);
        let size = size.div_ceil(step) * step;
        (size as f64 <= CLEARLY * self.tenant.used as f64).then_some(size)
    }

    /// The memory that the tenant needs for a miss ratio.
    pub fn need(&self, wanted: f64) -> Need {
        let size = |wanted: f64| self.size_for(wanted).map(|size| size.ceil() as u64);
        match size(wanted) {
            None => Need::Never { floor: self.at(self.end()).ratio },
            Some(bytes) => {
                let band = self.at(bytes).band;
                let least = size(wanted + band).unwrap_or(bytes);
                Need::Memory { bytes, least, most: size(wanted - band) }
            }
        }
    }

    /// Round miss ratios that some memory reaches, the lowest first.
    pub fn attainable(&self) -> impl Iterator<Item = f64> + '_ {
        const LOW: [f64; 4] = [0.001, 0.01, 0.02, 0.05];
        let round = LOW.into_iter().chain((2..20).map(|step| f64::from(step) / 20.0));
        round.filter(|ratio| matches!(self.need(*ratio), Need::Memory { .. }))
    }

    /// A miss ratio to ask for where nobody names one: the lowest round one that four times the
    /// memory reaches, or the present one.
    pub fn suggested(&self) -> f64 {
        let most = self.tenant.used.saturating_mul(4);
        let is_near =
            |ratio: &f64| matches!(self.need(*ratio), Need::Memory { bytes, .. } if bytes <= most);
        self.attainable().find(is_near).unwrap_or_else(|| self.at(self.tenant.used).ratio)
    }

    /// Bytes that the tenant holds in a pool of `level` bytes for all tenants.
    pub(crate) fn held(&self, level: f64, reading: Reading) -> f64 {
        let pool = &self.curve.pool;
        let sizes = match reading {
            Reading::Fitted => &self.curve.sizes,
            Reading::AsPlayed => &self.curve.played,
        };
        let after = pool.partition_point(|&known| (known as f64) < level);
        let (Some(&right), Some(&most)) = (pool.get(after), sizes.get(after)) else {
            return sizes.last().copied().unwrap_or_default() as f64;
        };
        let Some(before) = after.checked_sub(1) else { return most as f64 };
        let (left, least) = (pool[before] as f64, sizes[before] as f64);
        least + (most as f64 - least) * (level - left) / (right as f64 - left)
    }

    /// The memory of all tenants beyond which the curve has no data.
    pub(crate) fn pool_end(&self) -> u64 {
        self.curve.pool.last().copied().unwrap_or_default()
    }

    /// Waiting for misses with `bytes` of memory, in milliseconds per second, with its band.
    pub fn waits(&self, bytes: u64) -> Estimate {
        waits(self.tenant, self.at(bytes))
    }
}

/// The waiting of a tenant with this miss ratio, in milliseconds per second.
pub(crate) fn waits(tenant: &Tenant, Estimate { ratio, band }: Estimate) -> Estimate {
    let all = tenant.recent.reads_per_s() * tenant.penalty_us.unwrap_or_default() / 1e3;
    Estimate { ratio: all * ratio, band: all * band }
}

/// The waiting that one more MiB saves a tenant, in microseconds per second. It is the mean over a
/// step of a quarter of its memory, or of 1 MiB if that is more.
pub fn mib_saves_us(tenant: &Tenant) -> Option<f64> {
    const MIB: u64 = 1 << 20;
    let sizing = Sizing::of(tenant).filter(|_| tenant.recent.reads > 0)?;
    let more = (tenant.used / 4).max(MIB);
    let saved = sizing.waits(tenant.used).ratio - sizing.waits(tenant.used + more).ratio;
    Some((1e3 * saved * MIB as f64 / more as f64).max(0.0))
}
