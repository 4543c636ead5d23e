//! The effect of other sizes of memory on misses and waiting.
//!
//! If tenants share a pool, each curve is of the policy in force and fitted to the measured figures
//! ([`crate::plays`]). The pool then says how much each tenant would hold (`pool.rs`). Otherwise a
//! curve is of sampled LRU over the last minutes, and the policy in force may be better. So the
//! curve is fitted to two measured figures. At the memory a tenant holds, it gives the measured
//! miss ratio. With all keys seen in memory, it gives the misses without the evictions. Where
//! causes are not known, the curve is shifted: if a tenant misses as often as sampled LRU would
//! with 1.3 times the memory, each of its bytes counts 1.3 times. Memory for all is divided as the
//! recipe would divide it: by the waiting that the next byte saves, along the convex hulls of the
//! curves.
//!
//! No estimate goes beyond the data: a curve ends at the size that holds all keys seen of a tenant.

use crate::pool::{Bounds, Pool};
use crate::{Report, Tenant};
use base::Cause;
use serde::{Deserialize, Serialize};

/// The largest factor by which a curve is shifted, to either side.
const SHIFT_MAX: f64 = 4.0;

/// A measured miss ratio this close to the curve, or within its band, is on the curve.
const ON_THE_CURVE: f64 = 0.005;

/// A curve is bent to the misses of an unbounded cache only if it falls by more than this beyond
/// the present memory. Bending multiplies its fall by at most `STEEPNESS_MAX`.
const FALLS_MIN: f64 = 0.005;
const STEEPNESS_MAX: f64 = 5.0;

/// Sampled reads that a curve must rest on to be used for estimates.
const READS_MIN: f64 = 400.0;

/// A curve that ends below this share of a tenant's memory has seen too few of its keys.
const SEEN_MIN: f64 = 0.5;

/// Points of the curves that hulls are drawn through, as many as charts draw.
const POINTS: u64 = 32;

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

/// Two ways to read a play of another pool size. A play may hold more of a tenant than the store
/// does, and may do so at any size, or only at the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The store would hold the adjusted bytes, [`Curve::sizes`].
    Fitted,
    /// The store would hold as many bytes as the play, [`Curve::played`].
    AsPlayed,
}

/// The estimate of a curve at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The miss ratio.
    pub ratio: f64,
    /// The band of `ratio` to either side.
    pub band: f64,
}

/// The middle of two estimates, with a band wide enough for both.
pub(crate) fn between([one, other]: &[Estimate; 2]) -> Estimate {
    let apart = 0.5 * (one.ratio - other.ratio).abs();
    Estimate { ratio: one.ratio.midpoint(other.ratio), band: one.band.max(other.band).hypot(apart) }
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
    fn size_for(&self, wanted: f64) -> Option<f64> {
        let at = self.ratios.iter().position(|&ratio| ratio <= wanted + 1e-9)?;
        let right = self.sizes[at] as f64;
        let Some(before) = at.checked_sub(1) else { return Some(right) };
        let (left, high, low) = (self.sizes[before] as f64, self.ratios[before], self.ratios[at]);
        let along = (high - wanted) / (high - low).max(f64::MIN_POSITIVE);
        Some(left + along * (right - left))
    }
}

/// The effect of memory on a tenant: its curve, fitted to the measured figures.
#[derive(Clone, Copy, Debug)]
pub struct Sizing<'a> {
    tenant: &'a Tenant,
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
        Estimate { ratio: (bent + self.above).clamp(0.0, 1.0), band }
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

    /// The memory beyond which more saves less than a twentieth of a percentage point of misses.
    pub fn flat_from(&self) -> u64 {
        let least = self.at(self.end()).ratio;
        self.size_for(least + 0.0005).map_or(self.end(), |size| size as u64)
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

/// A division of memory among all tenants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Division {
    /// Bytes of each tenant, in the order of the report.
    pub shares: Vec<u64>,
    /// The miss ratio of each tenant, where its curve is known.
    pub ratios: Vec<Option<Estimate>>,
    /// Waiting for misses of all tenants, in milliseconds per second.
    pub wait_ms: f64,
    /// The band of the waiting to either side, in milliseconds per second.
    pub band_ms: f64,
}

/// Divides memory among the tenants so that they wait least, within their floors and ceilings.
/// Tenants without a known curve keep the memory they hold.
pub fn divide(report: &Report, memory: u64) -> Division {
    if let Some(pool) = Pool::of(report) {
        let bounds: Vec<_> = report.tenants.iter().map(Bounds::of).collect();
        return pool.divide(memory, &bounds);
    }
    let sizings: Vec<_> = report.tenants.iter().map(Sizing::of).collect();
    let floor = |(tenant, sizing): (&Tenant, &Option<Sizing<'_>>)| match sizing {
        None => tenant.used,
        Some(_) => tenant.min.min(tenant.used.max(tenant.min)),
    };
    let mut shares: Vec<u64> = report.tenants.iter().zip(&sizings).map(floor).collect();
    let mut left = memory.saturating_sub(shares.iter().sum());
    let hulls: Vec<_> = report
        .tenants
        .iter()
        .zip(&sizings)
        .zip(&shares)
        .map(|((tenant, sizing), &share)| {
            let most = tenant.max.unwrap_or(u64::MAX);
            sizing.map_or_else(Vec::new, |sizing| {
                hull(&sizing, tenant.weight, share, most.min(memory))
            })
        })
        .collect();
    // The steepest piece of all hulls gets memory first.
    let mut pieces: Vec<_> = hulls
        .iter()
        .enumerate()
        .flat_map(|(at, hull)| hull.windows(2).map(move |pair| (at, pair[0], pair[1])))
        .map(|(at, (from, high), (to, low))| (at, to - from, (high - low) / (to - from) as f64))
        .collect();
    pieces.sort_by(|a, b| b.2.total_cmp(&a.2));
    for (at, bytes, _) in pieces {
        let given = bytes.min(left);
        shares[at] += given;
        left -= given;
    }
    let ratio = |(sizing, share): (&Option<Sizing<'_>>, &u64)| Some(sizing.as_ref()?.at(*share));
    let ratios = sizings.iter().zip(&shares).map(ratio).collect();
    Division::of(report, shares, ratios)
}

impl Division {
    /// The division with these shares and miss ratios, with the waiting that follows from them.
    pub(crate) fn of(report: &Report, shares: Vec<u64>, ratios: Vec<Option<Estimate>>) -> Self {
        let known = report.tenants.iter().zip(&ratios).zip(&shares);
        let each = known.map(|((tenant, ratio), share)| {
            if let Some(ratio) = ratio {
                return waits(tenant, *ratio);
            }
            // Without a curve, a tenant that keeps its memory goes on waiting as long as now.
            let ratio = tenant.recent.wait_ms_per_s();
            let moved = tenant.used.abs_diff(*share) as f64 / tenant.used.max(1) as f64;
            Estimate { ratio, band: ratio * moved.min(1.0) }
        });
        let each: Vec<_> = each.collect();
        Self {
            wait_ms: each.iter().map(|wait| wait.ratio).sum(),
            // The errors of tenants are independent.
            band_ms: each.iter().map(|wait| wait.band * wait.band).sum::<f64>().sqrt(),
            shares,
            ratios,
        }
    }
}

/// The lower convex hull of weighted waiting against bytes, from `from` to `most` bytes.
fn hull(sizing: &Sizing<'_>, weight: f64, from: u64, most: u64) -> Vec<(u64, f64)> {
    let end = sizing.end().max(from).min(most);
    // A curve is straight between its points, except for the bend at the memory the tenant holds.
    let mut sizes = sizing.sizes(POINTS);
    sizes.extend([from, sizing.tenant.used, end]);
    sizes.retain(|size| (from..=end).contains(size));
    sizes.sort_unstable();
    sizes.dedup();
    let mut hull: Vec<(u64, f64)> = vec![];
    for size in sizes {
        let point = (size, weight * sizing.waits(size).ratio);
        let slope = |a: (u64, f64), b: (u64, f64)| (b.1 - a.1) / (b.0 - a.0) as f64;
        while let [.., a, b] = hull[..]
            && slope(a, b) >= slope(b, point)
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// The effect of another memory limit on all tenants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Memory for all tenants, in bytes.
    pub memory: u64,
    /// Waiting saved, in milliseconds per second; negative where waiting grows.
    pub saves_ms: f64,
    /// The band of the waiting to either side, in milliseconds per second.
    pub band_ms: f64,
    /// Whether `memory` exceeds the size at which all keys seen fit.
    pub is_beyond: bool,
}

/// The effect of `memory` bytes for all tenants; `None` where no curve is known or there is no
/// limit.
pub fn outlook(report: &Report, memory: u64) -> Option<Outlook> {
    let sizings: Vec<_> = report.tenants.iter().map(Sizing::of).collect();
    if sizings.iter().all(Option::is_none) || report.server.divided == 0 {
        return None;
    }
    let (now, then) = (divide(report, report.server.divided), divide(report, memory));
    let known = report.tenants.iter().zip(&sizings);
    let end: u64 =
        known.map(|(tenant, sizing)| sizing.as_ref().map_or(tenant.used, Sizing::end)).sum();
    if Pool::of(report).is_some() {
        // The bands of a pool are those of the difference from the measured figures.
        let saves_ms = now.wait_ms - then.wait_ms;
        let ends = sizings.iter().flatten().map(Sizing::pool_end);
        let is_beyond = memory > ends.max().unwrap_or_default();
        return Some(Outlook { memory, saves_ms, band_ms: then.band_ms, is_beyond });
    }
    // Both divisions rest on the same sample, so their errors are equal, except for the part of the
    // reads in which they differ.
    let saves_ms = now.wait_ms - then.wait_ms;
    let share = (saves_ms.abs() / now.wait_ms.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let band_ms = now.band_ms.max(then.band_ms) * share.sqrt();
    Some(Outlook { memory, saves_ms, band_ms, is_beyond: memory > end })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Recent, Server};

    /// A tenant whose misses fall evenly from all reads to a tenth of them within `end` bytes.
    pub(crate) fn tenant(
        name: &str,
        used: u64,
        end: u64,
        penalty_us: f64,
        measured: f64,
    ) -> Tenant {
        let sizes: Vec<u64> = (0..=10).map(|step| end * step / 10).collect();
        let ratios: Vec<f64> = (0..=10).map(|step| 1.0 - 0.09 * f64::from(step)).collect();
        Tenant {
            name: name.into(),
            used,
            weight: 1.0,
            penalty_us: Some(penalty_us),
            recent: Recent {
                seconds: 100,
                reads: 100_000,
                misses: (100_000.0 * measured) as u64,
                ..Recent::default()
            },
            curve: Some(Curve {
                low: ratios.iter().map(|ratio| ratio - 0.01).collect(),
                high: ratios.iter().map(|ratio| ratio + 0.01).collect(),
                sizes,
                ratios,
                reads: 50_000.0,
                ..Curve::default()
            }),
            ..Tenant::default()
        }
    }

    #[test]
    fn a_curve_is_shifted_to_what_is_measured() {
        let on = tenant("a", 500, 1_000, 1e3, 0.55);
        let sizing = Sizing::of(&on).unwrap();
        assert!((sizing.at(500).ratio - 0.55).abs() < 1e-9);
        assert!((sizing.at(250).ratio - 0.775).abs() < 1e-9);
        assert_eq!(sizing.end(), 1_000);
        // The tenant misses as often as sampled LRU would with 800 bytes, so all its keys fit in
        // 625.
        let better = tenant("a", 500, 1_000, 1e3, 0.28);
        let sizing = Sizing::of(&better).unwrap();
        assert!((sizing.at(500).ratio - 0.28).abs() < 1e-9);
        assert_eq!(sizing.end(), 625);
        assert!((sizing.at(250).ratio - 0.64).abs() < 1e-9);
        // The tenant misses more than the curve does at its end: the excess is added at every size.
        let never = tenant("a", 2_000, 1_000, 1e3, 0.3);
        let sizing = Sizing::of(&never).unwrap();
        assert!((sizing.at(2_000).ratio - 0.3).abs() < 1e-9);
        assert!(Sizing::of(&Tenant::default()).is_none());
    }

    /// 40 of the 55 percentage points of misses are evictions. So an unbounded cache misses 15 %,
    /// though the curve of the last minutes ends at 10 %.
    #[test]
    fn with_all_in_memory_only_what_was_evicted_hits() {
        let mut one = tenant("a", 500, 1_000, 1e3, 0.55);
        one.recent.causes = [150, 400, 0, 0, 0];
        one.recent.sampled = 550;
        let sizing = Sizing::of(&one).unwrap();
        assert!((sizing.at(1_000).ratio - 0.15).abs() < 1e-9, "{:?}", sizing.at(1_000));
        assert!((sizing.at(500).ratio - 0.55).abs() < 1e-9);
        assert!((sizing.at(250).ratio - 0.775).abs() < 1e-9, "with less it is as the curve is");
        let Need::Memory { bytes, .. } = sizing.need(0.35) else { panic!() };
        assert!(bytes.abs_diff(750) <= 1, "{bytes}");
        assert!(matches!(sizing.need(0.14), Need::Never { .. }));
    }

    #[test]
    fn a_wish_has_its_memory_or_none() {
        let one = tenant("a", 500, 1_000, 1e3, 0.55);
        let sizing = Sizing::of(&one).unwrap();
        let Need::Memory { bytes, least, most } = sizing.need(0.28) else { panic!() };
        assert!(bytes.abs_diff(800) <= 1 && least.abs_diff(789) <= 1, "{bytes} {least}");
        assert!(most.unwrap().abs_diff(812) <= 1, "{most:?}");
        assert!(matches!(sizing.need(0.1), Need::Memory { most: None, .. }));
        let Need::Never { floor } = sizing.need(0.05) else { panic!() };
        assert!((floor - 0.1).abs() < 1e-9);
    }

    #[test]
    fn memory_goes_where_the_next_byte_saves_most() {
        let report = Report {
            tenants: vec![
                tenant("dear", 500, 1_000, 10e3, 0.55),
                tenant("cheap", 500, 1_000, 1e3, 0.55),
                Tenant { name: "new".into(), used: 100, ..Tenant::default() },
            ],
            server: Server { divided: 1_100, ..Server::default() },
            ..Report::default()
        };
        let division = divide(&report, 1_100);
        assert_eq!(division.shares, [1_000, 0, 100]);
        // 1000 reads per second of each: a tenth of them misses for 10 ms, and all miss for 1 ms.
        assert!((division.wait_ms - 2_000.0).abs() < 1.0, "{division:?}");
        let more = outlook(&report, 2_100).unwrap();
        assert!((more.saves_ms - 900.0).abs() < 1.0 && !more.is_beyond, "{more:?}");
        assert!(outlook(&report, 3_000).unwrap().is_beyond);
        let less = outlook(&report, 600).unwrap();
        assert!((less.saves_ms + 4_500.0).abs() < 10.0, "{less:?}");
        let mut bounded = report.clone();
        bounded.tenants[1].min = 400;
        assert_eq!(divide(&bounded, 1_100).shares, [600, 400, 100]);
        bounded.tenants[0].max = Some(300);
        assert_eq!(divide(&bounded, 1_100).shares, [300, 700, 100]);
    }
}
