//! What other sizes of memory would give.
//!
//! If tenants share a pool, their curves are of the policy in force, held to what is measured
//! already ([`crate::plays`]), and the pool says what each would hold (`pool.rs`). Else a curve
//! is of sampled LRU, of the last minutes, and the policy in force may be better. So it is
//! held to what is measured: with what a tenant has it misses as often as it does, and with all
//! that was seen of it in memory it misses all but what was evicted. Where causes are not known, a
//! curve is shifted: if a tenant misses as often as sampled LRU would with 1.3 times as much, all
//! its memory counts 1.3 times. Memory for all is divided as the recipe would, by the
//! waiting that the next byte saves, along the convex hulls of the curves.
//!
//! Nothing is said beyond the data: a curve ends where all that was seen of a tenant would fit.

use crate::pool::{Bounds, Pool};
use crate::{Report, Tenant};
use base::Cause;
use serde::{Deserialize, Serialize};

/// A curve is shifted by this much at most, to either side.
const SHIFT_MAX: f64 = 4.0;

/// A measured miss ratio that is so near the curve, or within its band, is on it.
const ON_THE_CURVE: f64 = 0.005;

/// A curve is bent to what an unbounded cache would miss where it falls by more than this from
/// here on, and to so many times its fall at most.
const FALLS_MIN: f64 = 0.005;
const STEEPNESS_MAX: f64 = 5.0;

/// Reads that a curve rests on, at least, for anything to be said by it.
const READS_MIN: f64 = 400.0;

/// A curve that ends below this share of what a tenant holds has not seen enough of it.
const SEEN_MIN: f64 = 0.5;

/// Points of a curve that hulls are drawn through: as many as curves are drawn with.
const POINTS: u64 = 32;

/// A curve of a tenant, as it is drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Bytes, from 0 to where the data ends.
    pub sizes: Vec<u64>,
    /// The miss ratio at each.
    pub ratios: Vec<f64>,
    /// The lowest that is likely at each size: two standard errors from independent parts of the
    /// sample. Empty where nobody knows.
    pub low: Vec<f64>,
    /// The highest.
    pub high: Vec<f64>,
    /// Reads of the sample it rests on.
    pub reads: f64,
    /// The memory of all tenants with which this one holds each of the sizes, where they share a
    /// pool and the curve is of the policy in force there; else empty.
    #[serde(default)]
    pub pool: Vec<u64>,
    /// The bytes that plays hold at each of these: `sizes` are adjusted to what the store holds.
    /// Empty where `pool` is.
    #[serde(default)]
    pub played: Vec<u64>,
}

/// How what a play holds in another pool is read: a play that holds more of a tenant than the store
/// does may do so in any pool, or in this one only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The store would hold what [`Curve::sizes`] say.
    Fitted,
    /// The store would hold what the play does.
    AsPlayed,
}

/// What a curve says at a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The miss ratio.
    pub ratio: f64,
    /// How far chance may have moved it to either side.
    pub band: f64,
}

/// The middle of two estimates, with a band that has both in it.
pub(crate) fn between([one, other]: &[Estimate; 2]) -> Estimate {
    let apart = 0.5 * (one.ratio - other.ratio).abs();
    Estimate { ratio: one.ratio.midpoint(other.ratio), band: one.band.max(other.band).hypot(apart) }
}

impl Curve {
    /// The size beyond which there is no data.
    pub fn end(&self) -> u64 {
        self.sizes.last().copied().unwrap_or_default()
    }

    /// The value at a size: of the points beside it, and how far along it is between them.
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

    /// The miss ratio with so much memory; that at the end beyond it.
    pub fn at(&self, size: f64) -> Option<Estimate> {
        if self.sizes.is_empty() {
            return None;
        }
        let ratio = self.of(size, |at| self.ratios.get(at).copied())?;
        // Between two points it is variances that are in between.
        let squares = self.of(size, |at| {
            let (ratio, low, high) = (self.ratios.get(at)?, self.low.get(at)?, self.high.get(at)?);
            Some((high - ratio).max(ratio - low).powi(2))
        });
        // Of n misses the standard error is √n, were they independent.
        let chance = || 2.0 * (ratio / self.reads.max(1.0)).sqrt();
        Some(Estimate { ratio, band: squares.map_or_else(chance, f64::sqrt) })
    }

    /// The least size with which no more miss than this.
    fn size_for(&self, wanted: f64) -> Option<f64> {
        let at = self.ratios.iter().position(|&ratio| ratio <= wanted + 1e-9)?;
        let right = self.sizes[at] as f64;
        let Some(before) = at.checked_sub(1) else { return Some(right) };
        let (left, high, low) = (self.sizes[before] as f64, self.ratios[before], self.ratios[at]);
        let along = (high - wanted) / (high - low).max(f64::MIN_POSITIVE);
        Some(left + along * (right - left))
    }
}

/// What memory would give a tenant: its curve, held to what is measured.
#[derive(Clone, Copy, Debug)]
pub struct Sizing<'a> {
    tenant: &'a Tenant,
    curve: &'a Curve,
    /// What a byte counts beside one under sampled LRU.
    counts: f64,
    /// What is measured above the curve with what it holds.
    above: f64,
    /// What the curve says of what it holds.
    here: f64,
    /// With more than it holds, the curve falls so many times as fast: to what an unbounded cache
    /// would miss.
    steepness: f64,
}

/// What a wish for a miss ratio comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Need {
    /// So many bytes: with the least and the most that the band allows.
    Memory {
        /// Bytes.
        bytes: u64,
        /// Bytes, if chance was against the sample.
        least: u64,
        /// Bytes, if chance was for it; none where the band leaves it open.
        most: Option<u64>,
    },
    /// No memory gives it: with all that was seen so far in memory it would be this.
    Never {
        /// The miss ratio with all of it.
        floor: f64,
    },
}

impl<'a> Sizing<'a> {
    /// The sizing of a tenant whose curve rests on enough reads.
    pub fn of(tenant: &'a Tenant) -> Option<Self> {
        Self::in_pool(tenant).filter(|sizing| sizing.curve.reads >= READS_MIN)
    }

    /// The sizing of any tenant with a curve. Fewer reads show what it holds in another pool than
    /// what it misses, and the band tells how well that is known.
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
        // Only what was evicted would be there with more memory.
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

    /// The miss ratio with so much memory.
    pub fn at(&self, bytes: u64) -> Estimate {
        let there = self.curve.at(bytes as f64 * self.counts);
        let Estimate { ratio, band } = there.unwrap_or(Estimate { ratio: 1.0, band: 1.0 });
        let Self { here, steepness, .. } = *self;
        let bent = if ratio < here { here + steepness * (ratio - here) } else { ratio };
        Estimate { ratio: (bent + self.above).clamp(0.0, 1.0), band }
    }

    /// The size on the curve that has a miss ratio.
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

    /// The memory beyond which nothing is known to be gained.
    pub fn end(&self) -> u64 {
        (self.curve.end() as f64 / self.counts) as u64
    }

    /// Sizes to draw it at: from nothing to where nothing more is known, or to what it holds.
    pub fn sizes(&self, points: u64) -> Vec<u64> {
        let end = self.end().max(self.tenant.used);
        (0..=points)
            .map(|step| (u128::from(end) * u128::from(step) / u128::from(points)) as u64)
            .collect()
    }

    /// The memory from which on more would save less than a twentieth of a point.
    pub fn flat_from(&self) -> u64 {
        let least = self.at(self.end()).ratio;
        self.size_for(least + 0.0005).map_or(self.end(), |size| size as u64)
    }

    /// The memory that a miss ratio takes.
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

    /// Bytes that it holds in a pool of so much memory for all.
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

    /// The memory of all beyond which nothing more is known.
    pub(crate) fn pool_end(&self) -> u64 {
        self.curve.pool.last().copied().unwrap_or_default()
    }

    /// Waiting for misses with so much memory, in milliseconds a second, and its band.
    pub fn waits(&self, bytes: u64) -> Estimate {
        waits(self.tenant, self.at(bytes))
    }
}

/// The waiting of a tenant that misses so many, in milliseconds a second.
pub(crate) fn waits(tenant: &Tenant, Estimate { ratio, band }: Estimate) -> Estimate {
    let all = tenant.recent.reads_per_s() * tenant.penalty_us.unwrap_or_default() / 1e3;
    Estimate { ratio: all * ratio, band: all * band }
}

/// Saved by a MiB of a tenant's, in microseconds of waiting a second: of a quarter more than it
/// holds, and of a MiB at least.
pub fn mib_saves_us(tenant: &Tenant) -> Option<f64> {
    const MIB: u64 = 1 << 20;
    let sizing = Sizing::of(tenant).filter(|_| tenant.recent.reads > 0)?;
    let more = (tenant.used / 4).max(MIB);
    let saved = sizing.waits(tenant.used).ratio - sizing.waits(tenant.used + more).ratio;
    Some((1e3 * saved * MIB as f64 / more as f64).max(0.0))
}

/// Memory dealt out to all tenants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Division {
    /// Bytes of each tenant, in the order of the report.
    pub shares: Vec<u64>,
    /// The miss ratio of each tenant, where its curve is known.
    pub ratios: Vec<Option<Estimate>>,
    /// Waiting for misses of all, in milliseconds a second.
    pub wait_ms: f64,
    /// How far chance may have moved that to either side.
    pub band_ms: f64,
}

/// Divides memory among the tenants so that they wait least, with what each must have. Tenants of
/// which too little is known keep what they hold.
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
    // The steepest piece of any hull first.
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
    /// Shares, with what each tenant misses with its own.
    pub(crate) fn of(report: &Report, shares: Vec<u64>, ratios: Vec<Option<Estimate>>) -> Self {
        let known = report.tenants.iter().zip(&ratios).zip(&shares);
        let each = known.map(|((tenant, ratio), share)| {
            if let Some(ratio) = ratio {
                return waits(tenant, *ratio);
            }
            // It goes on as it is, if it keeps what it has.
            let ratio = tenant.recent.wait_ms_per_s();
            let moved = tenant.used.abs_diff(*share) as f64 / tenant.used.max(1) as f64;
            Estimate { ratio, band: ratio * moved.min(1.0) }
        });
        let each: Vec<_> = each.collect();
        Self {
            wait_ms: each.iter().map(|wait| wait.ratio).sum(),
            // Chance is another in each tenant.
            band_ms: each.iter().map(|wait| wait.band * wait.band).sum::<f64>().sqrt(),
            shares,
            ratios,
        }
    }
}

/// The lower convex hull of weighted waiting against bytes, from a share on.
fn hull(sizing: &Sizing<'_>, weight: f64, from: u64, most: u64) -> Vec<(u64, f64)> {
    let end = sizing.end().max(from).min(most);
    // Between its points a curve is straight, but for the bend where the tenant is.
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

/// What another limit of memory would give all tenants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Memory for all.
    pub memory: u64,
    /// Waiting saved, in milliseconds a second; below 0 where it costs.
    pub saves_ms: f64,
    /// How far chance may have moved that to either side.
    pub band_ms: f64,
    /// Whether all that was seen fits before so much is used.
    pub is_beyond: bool,
}

/// What another limit would give, where anything is known.
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
        // Its bands are those of the difference from what is measured.
        let saves_ms = now.wait_ms - then.wait_ms;
        let ends = sizings.iter().flatten().map(Sizing::pool_end);
        let is_beyond = memory > ends.max().unwrap_or_default();
        return Some(Outlook { memory, saves_ms, band_ms: then.band_ms, is_beyond });
    }
    // Both rest on the same sample: what is off in one is off in the other by as much, but for
    // the part of the reads in which they differ.
    let saves_ms = now.wait_ms - then.wait_ms;
    let share = (saves_ms.abs() / now.wait_ms.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let band_ms = now.band_ms.max(then.band_ms) * share.sqrt();
    Some(Outlook { memory, saves_ms, band_ms, is_beyond: memory > end })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Recent, Server};

    /// A tenant whose misses fall evenly from all to a tenth within so many bytes.
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
        // It misses as sampled LRU would with 800 bytes, so all of it fits in 625.
        let better = tenant("a", 500, 1_000, 1e3, 0.28);
        let sizing = Sizing::of(&better).unwrap();
        assert!((sizing.at(500).ratio - 0.28).abs() < 1e-9);
        assert_eq!(sizing.end(), 625);
        assert!((sizing.at(250).ratio - 0.64).abs() < 1e-9);
        // Worse than the curve is at its end: there is that much on top of it everywhere.
        let never = tenant("a", 2_000, 1_000, 1e3, 0.3);
        let sizing = Sizing::of(&never).unwrap();
        assert!((sizing.at(2_000).ratio - 0.3).abs() < 1e-9);
        assert!(Sizing::of(&Tenant::default()).is_none());
    }

    /// Of 55 % misses 40 points were evicted: an unbounded cache has 15 %, though the curve of the
    /// last minutes ends at 10 %.
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
        // 1000 reads a second, a tenth of which misses for 10 ms, and all for 1 ms.
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
