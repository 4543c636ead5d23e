//! Curves and policies by plays of the sampled requests, held to the measured figures.
//!
//! The pilot plays what sampled keys asked for: at several sizes with the policy in force, and at
//! the present size with the others. A play is compared with a play, and never with the store: by
//! what share one misses less than another, so much less would be missed of what is measured.
//!
//! All tenants share one pool, and each item stays while its bytes are worth more than what a byte
//! is worth anywhere. So what a tenant misses depends on what it holds, and on nothing else, and
//! its curve is drawn through what it holds and misses at each size of the pool. Floors and
//! ceilings are not played: a tenant that one of them binds holds what it would in a pool of
//! another size, and so do the others ([`Levels`]). What is measured is that of this size.
//!
//! A play misses a little otherwise than the store, and holds a little more of one tenant and less
//! of another, since a rank that learns has fewer keys to learn from. There are two ways to read
//! what it says of another size: it is off there as it is here, or it is like the store with other
//! memory. A curve is by the first, which errs to neither side, and its band reaches to the second.

use crate::levels::Levels;
use crate::sizing::{Curve, Estimate};
use crate::{Report, Tenant, trials};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use tune::pilot::Replayed;
use tune::tape::{Fared, GROUPS, Played, ratio_of};

/// A forecast may be off by so much beside chance: of the change, and of the reads.
const MODEL: (f64, f64) = (0.1, 0.003);

/// Sampled misses from which on their share is known better than the share of the keys.
const MISSES_MIN: f64 = 30.0;

/// Halvings in the search for the memory with which a play is like the store.
const STEPS: usize = 24;

/// A tenant holds so many times as much as the play says, at least and at most.
pub(crate) const HOLDS: (f64, f64) = (0.5, 2.0);

/// The plays that a report rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plays {
    /// Seconds of requests that were counted.
    pub seconds: u64,
    /// Sampled reads among them.
    pub reads: u64,
    /// Why policies are not compared, in a sentence; nothing where they are.
    pub off: Option<String>,
}

/// The sum of groups.
pub(crate) fn sum(groups: &[f64; GROUPS]) -> f64 {
    groups.iter().sum()
}

/// Takes what was played into a report: a curve for each tenant, and the policies.
pub fn take(report: &mut Report, replayed: &Replayed, name: impl Fn(&Played) -> String) {
    let Some(present) = replayed.present() else { return };
    let Some(levels) = Levels::of(report, replayed) else { return };
    for (at, tenant) in report.tenants.iter_mut().enumerate() {
        if let Some(curve) = curve(tenant, at, &levels, present) {
            tenant.curve = Some(curve);
        }
    }
    let off = trials::off(report, &levels, present);
    if off.is_none() {
        report.policies = trials::of(report, replayed, present, name);
    }
    let reads: f64 = present.tenants.iter().map(|fared| sum(&fared.reads)).sum();
    let seconds = present.length.0 / 1_000_000;
    report.plays = Some(Plays { seconds, reads: reads as u64, off });
}

/// The misses of a tenant by the memory it holds.
fn curve(tenant: &Tenant, at: usize, levels: &Levels<'_>, present: &Played) -> Option<Curve> {
    let own = levels.of[at];
    let used = tenant.used as f64;
    let reads = sum(&levels.fared(at, own)?.reads);
    let measured = tenant.recent.miss_ratio()?;
    if reads <= 0.0 {
        return None;
    }
    let alike = alike(tenant, at, levels, present)?;
    let ratio = |size: f64| -> Option<Estimate> {
        let of = |counts: f64| {
            let now = levels.holding(at, used * counts)?;
            Some(changed(&now, &levels.holding(at, size * counts)?, measured))
        };
        let (as_much, with_other) = (of(1.0)?, of(alike)?);
        let apart = with_other.ratio - as_much.ratio;
        Some(Estimate { band: as_much.band.hypot(apart), ..as_much })
    };
    let holds = Holds::of(used, at, levels)?;
    let mut curve = Curve {
        sizes: vec![0],
        ratios: vec![1.0],
        pool: vec![0],
        played: vec![0],
        // Whoever holds nothing misses all, but hardly anyone holds nothing.
        low: vec![1.0 - MODEL.0 * (1.0 - measured)],
        high: vec![1.0],
        reads,
    };
    let mut places: Vec<f64> = levels.grid.iter().map(|(level, _)| *level).collect();
    if !places.contains(&own) {
        places.push(own);
        places.sort_by(f64::total_cmp);
    }
    let mut present = 0;
    for level in places {
        let (last, before) = (curve.end(), curve.ratios.last().copied().unwrap_or(1.0));
        let played = levels.fared(at, level)?.held;
        let size = holds.stored(played) as u64;
        // More memory is never worse, but for chance.
        let (size, played) = match level.total_cmp(&own) {
            Ordering::Less => (size.min(tenant.used), (played as u64).min(tenant.used)),
            Ordering::Equal => {
                present = curve.sizes.len();
                (tenant.used, tenant.used)
            }
            Ordering::Greater => (size.max(tenant.used), (played as u64).max(tenant.used)),
        };
        let size = size.max(last);
        let Estimate { ratio, band } = ratio(size as f64)?;
        let ratio = match level.total_cmp(&own) {
            Ordering::Less => ratio.max(measured),
            Ordering::Equal => measured,
            Ordering::Greater => ratio.min(measured),
        };
        let ratio = ratio.min(before);
        curve.pool.push((level as u64).max(curve.pool.last().copied().unwrap_or_default() + 1));
        curve.sizes.push(size);
        curve.played.push(played.max(curve.played.last().copied().unwrap_or_default()));
        curve.ratios.push(ratio);
        curve.low.push((ratio - band).max(0.0));
        curve.high.push((ratio + band).min(1.0));
    }
    even(&mut curve, present);
    Some(curve)
}

/// How many times as much a tenant must hold in the play to miss as often as it does in the store.
/// A play that misses otherwise than the store may do so at every size, or be as good as the store
/// is with other memory.
fn alike(tenant: &Tenant, at: usize, levels: &Levels<'_>, present: &Played) -> Option<f64> {
    let measured = tenant.recent.miss_ratio()?;
    let misses =
        |times: f64| missed(tenant, &levels.holding(at, tenant.used as f64 * times)?, present);
    let is_less = misses(1.0)? < measured;
    // If several sizes do, the nearest counts.
    let (mut low, mut high) = if is_less { (HOLDS.0, 1.0) } else { (1.0, HOLDS.1) };
    for _ in 0..STEPS {
        let middle = low.midpoint(high);
        let there = misses(middle)?;
        let is_beyond = if is_less { there >= measured } else { there > measured };
        if is_beyond { low = middle } else { high = middle }
    }
    Some(low.midpoint(high))
}

/// The memory that a tenant has in the store by what it holds in a play: both have nothing in a
/// pool of nothing and all its keys in one where these fit, and of now both are known. In between
/// lines are drawn.
struct Holds {
    played: f64,
    stored: f64,
    all: f64,
}

impl Holds {
    fn of(stored: f64, at: usize, levels: &Levels<'_>) -> Option<Self> {
        let played = levels.fared(at, levels.of[at])?.held;
        let (most, _) = levels.grid.last()?;
        Some(Self { played, stored, all: levels.fared(at, *most)?.held })
    }

    fn stored(&self, played: f64) -> f64 {
        let Self { stored, all, .. } = *self;
        if played <= self.played {
            return stored * played / self.played.max(1.0);
        }
        let along = (played - self.played) / (all - self.played).max(1.0);
        stored + along.min(1.0) * (all - stored).max(0.0)
    }
}

/// Only one of several points with as many bytes can be true: with as many as the tenant holds,
/// that at its present place; else the last.
fn even(curve: &mut Curve, present: usize) {
    for at in (0..curve.sizes.len()).rev() {
        let from = match (curve.sizes[at], curve.sizes.get(at + 1)) {
            (size, _) if size == curve.sizes[present] => present,
            (size, Some(&next)) if size == next => at + 1,
            _ => at,
        };
        curve.ratios[at] = curve.ratios[from];
        curve.low[at] = curve.low[from];
        curve.high[at] = curve.high[from];
    }
}

/// The share of a tenant's reads that a play misses. Whether the few keys that are asked for most
/// are in the sample decides how many reads are in it, and hardly how many misses: so these are
/// divided by the reads that as many keys have.
pub(crate) fn missed(tenant: &Tenant, fared: &Fared, of: &Played) -> Option<f64> {
    let reads = reads(tenant, of);
    (reads > 0.0 && sum(&fared.reads) > 0.0).then(|| (sum(&fared.misses) / reads).min(1.0))
}

/// The reads of as many of a tenant's keys as are in a play.
pub(crate) fn reads(tenant: &Tenant, of: &Played) -> f64 {
    tenant.recent.reads_per_s() * of.length.as_f64() / 1e6 * of.rate
}

/// The miss ratio, where `now` is what `measured` comes of.
fn changed(now: &Fared, then: &Fared, measured: f64) -> Estimate {
    let (missed, reads) = (sum(&now.misses), sum(&now.reads));
    let (ratio, band) = if missed >= MISSES_MIN {
        let (times, band) = ratio_of(&then.misses, &now.misses);
        (measured * times, measured * band)
    } else {
        // Multiples of next to nothing say nothing.
        let more: [f64; GROUPS] = std::array::from_fn(|at| then.misses[at] - now.misses[at]);
        let (more, band) = ratio_of(&more, &now.reads);
        (measured + more, band + 2.0 / reads.sqrt())
    };
    let change = (ratio - measured).abs();
    let model = (MODEL.0 * change).hypot(MODEL.1.min(change));
    Estimate { ratio: ratio.clamp(0.0, 1.0), band: band.hypot(model) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{self, Claim, What};
    use crate::sizing::{Sizing, divide, tests::tenant};
    use crate::{Recent, Server};
    use base::{Bytes, Micros};
    use tune::Evictor;
    use tune::tape::Scene;

    /// Two tenants that hold as much of any pool; what one misses falls with its memory, and what
    /// the other misses does not.
    fn replayed() -> Replayed {
        let played = |size: Option<u64>, of_waits: f64| {
            let held = size.map_or(2_000.0, |size| (size as f64).min(2_000.0)) / 2.0;
            let falls = 1_000.0 * (1.0 - 0.9 * held / 1_000.0);
            let fared = |misses: f64| Fared {
                held,
                reads: [125.0; GROUPS],
                misses: [misses / 8.0; GROUPS],
                waits: [1e3 * misses / 8.0 * of_waits; GROUPS],
            };
            let capacity = size.map(Bytes);
            let evictor = Evictor::gittins(64);
            let scene = Scene { evictor, capacity, prices: vec![], since: Micros(0) };
            let tenants = vec![fared(falls), fared(500.0)];
            Played { scene, tenants, length: Micros::from_secs(100), rate: 0.01 }
        };
        let sizes = [250, 500, 750, 1_000, 1_500, 2_000, 4_000];
        let mut sizes: Vec<_> =
            sizes.map(|size| (Some(Bytes(size)), played(Some(size), 1.0))).into();
        sizes.push((None, played(None, 1.0)));
        let evictor = Evictor::gittins(64);
        let others = vec![played(Some(1_000), 1.1)];
        let (memory, at) = (Bytes(1_000), Micros::from_secs(100));
        Replayed { evictor, sizes, others, memory, at }
    }

    fn report() -> Report {
        let own = |name, measured| {
            let mut own = tenant(name, 500, 1_000, 1e3, measured);
            own.recent.wait_ms = own.recent.misses as f64;
            own.items = 1 << 30;
            own
        };
        let tenants = vec![own("falls", 0.55), own("flat", 0.5)];
        let recent = Recent::sum(tenants.iter().map(|tenant| &tenant.recent));
        let server = Server {
            divided: 1_000,
            maxmemory: 1_000,
            used: 1_000,
            recipe: "auto".into(),
            ..Server::default()
        };
        let mut report = Report { server, recent, tenants, ..Report::default() };
        take(&mut report, &replayed(), |played| {
            let is_own = played.waits() == replayed().present().unwrap().waits();
            if is_own { "allkeys-gittins".into() } else { "allkeys-lru".into() }
        });
        report
    }

    #[test]
    fn curves_are_held_to_what_is_measured() {
        let report = report();
        let sizing = Sizing::of(&report.tenants[0]).unwrap();
        assert!((sizing.at(500).ratio - 0.55).abs() < 1e-9, "{:?}", sizing.at(500));
        assert!((sizing.at(1_000).ratio - 0.1).abs() < 1e-6, "{:?}", sizing.at(1_000));
        assert!((sizing.at(250).ratio - 0.775).abs() < 1e-6, "{:?}", sizing.at(250));
        assert_eq!(sizing.end(), 1_000, "the keys that were asked for, and not those held");
        let flat = Sizing::of(&report.tenants[1]).unwrap();
        assert!((flat.at(2_000).ratio - 0.5).abs() < 1e-9);
        assert_eq!(crate::sizing::mib_saves_us(&report.tenants[1]), Some(0.0), "it saves nothing");
        assert_eq!(report.check(), Ok(()));
    }

    /// A tenth less is missed than played: with half the memory that may be so too, or the play is
    /// like the store with a tenth more.
    #[test]
    fn a_band_has_both_readings_in_it() {
        let mut report = report();
        let falls = &mut report.tenants[0].recent;
        falls.misses = falls.reads / 2;
        take(&mut report, &replayed(), |_| "allkeys-gittins".into());
        let half = Sizing::of(&report.tenants[0]).unwrap().at(250);
        assert!((half.ratio - 0.5 * 0.775 / 0.55).abs() < 1e-3, "{half:?}");
        assert!(half.ratio + half.band >= 0.75 && half.band < 0.06, "{half:?}");
    }

    /// Few reads tell little of misses, but every tenant holds less of a smaller pool.
    #[test]
    fn a_tenant_of_few_reads_shares_the_pool() {
        let mut report = report();
        report.tenants[1].curve.as_mut().unwrap().reads = 100.0;
        assert_eq!(divide(&report, 500).shares, [250, 250]);
        report.tenants[1].curve = None;
        assert_eq!(divide(&report, 500).shares, [250, 250], "nor does one that was not played");
    }

    #[test]
    fn one_pool_is_divided_as_it_divides_itself() {
        let mut report = report();
        assert_eq!(divide(&report, 1_000).shares, [500, 500]);
        let twice = claim::memory(&report, 2_000);
        assert_eq!(twice[0].what, What::Waiting);
        // A thousand reads a second of each: 550 ms become 100.
        assert!((twice[0].now - 1_050.0).abs() < 1.0, "{twice:?}");
        assert!((twice[0].value - 600.0).abs() < 1.0 && twice[0].is_sound(), "{twice:?}");
        // A floor takes from the other tenant what it gives its own.
        let floor = claim::floor(&report, &report.tenants[1], 750);
        let costs = floor.iter().find(|claim| matches!(claim.what, What::Others { .. })).unwrap();
        assert!((costs.change() - 225.0).abs() < 2.0, "{floor:?}");
        let before = costs.change();
        report.tenants[1].min = 750;
        report.tenants[0].used = 250;
        report.tenants[1].used = 750;
        let (falls, flat) = (&mut report.tenants[0], 0.775);
        falls.recent.misses = (flat * falls.recent.reads as f64) as u64;
        falls.recent.wait_ms = falls.recent.misses as f64;
        report.recent = Recent::sum(report.tenants.iter().map(|tenant| &tenant.recent));
        take(&mut report, &replayed(), |_| "allkeys-gittins".into());
        let without = claim::floor_costs(&report, &report.tenants[1].clone()).unwrap();
        assert!((without.change() + before).abs() < 10.0, "{without:?}, and {before} before");
    }

    #[test]
    fn policies_are_compared_where_the_play_is_like_the_store() {
        let mut report = report();
        let lru = claim::policy(&report, "allkeys-lru").unwrap();
        assert!((lru.change() / lru.now - 0.1).abs() < 1e-6 && lru.is_sound(), "{lru:?}");
        assert!(crate::say::summary(&report).contains("wait 10 % longer"));
        // The store misses a third of what its play does.
        for tenant in &mut report.tenants {
            tenant.recent.misses /= 3;
            tenant.recent.wait_ms /= 3.0;
        }
        report.recent = Recent::sum(report.tenants.iter().map(|tenant| &tenant.recent));
        report.policies.clear();
        take(&mut report, &replayed(), |_| "allkeys-lru".into());
        assert!(claim::policy(&report, "allkeys-lru").is_none());
        let says = crate::say::summary(&report);
        assert!(says.contains("is not said") && !says.contains("longer"), "{says}");
        assert!(claim::all(&report).iter().all(Claim::is_sound));
    }
}
