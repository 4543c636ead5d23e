//! Curves and policies from plays of the sampled requests, fitted to the measured figures.
//!
//! The pilot replays the requests of sampled keys: at several sizes with the policy in force, and
//! at the present size with the other policies. A play is compared with another play, never with
//! the store. If one play misses some share less than another, the measured misses are reduced by
//! the same share. Where a recipe gives each tenant a budget, a play of this division is compared
//! with one of a shared LRU pool, and the curves are those of the recipe.
//!
//! Otherwise all tenants share one pool. Each item stays while its bytes are worth more than bytes
//! elsewhere in the pool. So the misses of a tenant depend only on the memory it holds. Its curve
//! is drawn through the memory it holds and its misses at each size of the pool. Plays have no
//! floors and ceilings. A tenant bound by one of them holds as much as it would in a pool of
//! another size, and so do the others (`Levels`). The measured figures belong to that size.
//!
//! A play misses slightly more or less than the store. It also holds slightly more of one tenant
//! and less of another, because a rank that learns has fewer keys to learn from. Its result at
//! another size can be read in two ways: its error is the same there, or it behaves like the store
//! with other memory. The curve follows the first reading, which errs to neither side, and its band
//! reaches to the second.

use crate::levels::Levels;
use crate::played::{HOLDS, missed, sum};
use crate::sizing::{Curve, Estimate};
use crate::{Plays, Report, Tenant, trials};
use std::cmp::Ordering;
use tune::Evictor;
use tune::pilot::Replayed;
use tune::tape::{Fared, GROUPS, Played, ratio_of};

/// The error of the model beside chance: as a share of the change, and as a share of the reads.
const MODEL: (f64, f64) = (0.1, 0.003);

/// From this many sampled misses on, the ratio of misses is the better estimate.
const MISSES_MIN: f64 = 30.0;

/// Bisection steps in the search for the memory at which a play is like the store.
const STEPS: usize = 24;

/// Fills a report from the plays: a curve for each tenant, the comparison of policies, and
/// [`Plays`].
pub fn take(report: &mut Report, replayed: &Replayed, name: impl Fn(Evictor) -> String) {
    let Some(present) = replayed.present() else { return };
    // Each tenant in a play that holds as much of its data as the store.
    let like_store: Vec<_> = if present.scene.evictor().is_some() {
        let Some(levels) = Levels::of(report, replayed) else { return };
        for (at, tenant) in report.tenants.iter_mut().enumerate() {
            if let Some(curve) = curve(tenant, at, &levels, present) {
                tenant.curve = Some(curve);
            }
        }
        levels.of.iter().enumerate().map(|(at, level)| levels.fared(at, *level)).collect()
    } else {
        (0..report.tenants.len()).map(|at| present.tenants.get(at).copied()).collect()
    };
    let off = trials::off(report, &like_store, present);
    if off.is_none() {
        report.policies = trials::of(report, replayed, present, name);
    }
    let reads: f64 = present.tenants.iter().map(|fared| sum(&fared.reads)).sum();
    let seconds = present.length.0 / 1_000_000;
    report.plays = Some(Plays { seconds, reads: reads as u64, off });
}

/// The curve of a tenant: its misses by the memory it holds.
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
        // A tenant without memory misses all reads. Hardly any tenant has none, so the band reaches
        // lower.
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
        // Only chance makes a play miss more with more memory, so keep the curve monotone.
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

/// The factor on a tenant's memory with which the play misses as often as the store does. A play
/// that misses more or less than the store may do so at every size, or may behave like the store
/// with other memory.
fn alike(tenant: &Tenant, at: usize, levels: &Levels<'_>, present: &Played) -> Option<f64> {
    let measured = tenant.recent.miss_ratio()?;
    let misses =
        |times: f64| missed(tenant, &levels.holding(at, tenant.used as f64 * times)?, present);
    let is_less = misses(1.0)? < measured;
    // Of several such sizes, the nearest counts.
    let (mut low, mut high) = if is_less { (HOLDS.0, 1.0) } else { (1.0, HOLDS.1) };
    for _ in 0..STEPS {
        let middle = low.midpoint(high);
        let there = misses(middle)?;
        let is_beyond = if is_less { there >= measured } else { there > measured };
        if is_beyond { low = middle } else { high = middle }
    }
    Some(low.midpoint(high))
}

/// Converts the memory a tenant holds in a play to its memory in the store. Both are 0 in an empty
/// pool, and equal in a pool that holds all its keys. At the present size both are known. Between
/// these points the conversion is linear.
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

/// Gives points with equal sizes one value: the present point's if they have the size that the
/// tenant holds now, otherwise the last one's.
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

/// The estimate of the miss ratio at `then`, where the play `now` corresponds to the ratio
/// `measured`.
fn changed(now: &Fared, then: &Fared, measured: f64) -> Estimate {
    let (missed, reads) = (sum(&now.misses), sum(&now.reads));
    let (ratio, band) = if missed >= MISSES_MIN {
        let (times, band) = ratio_of(&then.misses, &now.misses);
        (measured * times, measured * band)
    } else {
        // A ratio of very few misses means nothing, so take the difference.
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
    use crate::claim::{self, Claim, ClaimedFigure};
    use crate::sizing::{Sizing, divide, tests::tenant};
    use crate::{Recent, Server};
    use base::{Bytes, Micros};
    use tune::tape::{Scene, ScenePool};

    /// Two tenants that hold half of any pool each. The misses of one fall with its memory; the
    /// misses of the other do not.
    fn replayed() -> Replayed {
        let played = |evictor, size: Option<u64>, of_waits: f64| {
            let held = size.map_or(2_000.0, |size| (size as f64).min(2_000.0)) / 2.0;
            let falls = 1_000.0 * (1.0 - 0.9 * held / 1_000.0);
            let fared = |misses: f64| Fared {
                held,
                reads: [125.0; GROUPS],
                misses: [misses / 8.0; GROUPS],
                waits: [1e3 * misses / 8.0 * of_waits; GROUPS],
            };
            let pools = vec![ScenePool::shared(evictor, size.map(Bytes))];
            let scene = Scene { pools, prices: vec![], since: Micros(0) };
            let tenants = vec![fared(falls), fared(500.0)];
            Played { scene, tenants, length: Micros::from_secs(100), rate: 0.01 }
        };
        let own = Evictor::gittins(64);
        let sizes = [250, 500, 750, 1_000, 1_500, 2_000, 4_000];
        let mut sizes: Vec<_> =
            sizes.map(|size| (Some(Bytes(size)), played(own, Some(size), 1.0))).into();
        sizes.push((None, played(own, None, 1.0)));
        let others = vec![played(Evictor::klru_pool(5), Some(1_000), 1.1)];
        let (memory, at) = (Bytes(1_000), Micros::from_secs(100));
        Replayed { sizes, others, memory, at }
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
        take(&mut report, &replayed(), name);
        report
    }

    fn name(evictor: Evictor) -> String {
        let name = if evictor == Evictor::gittins(64) { "gittins" } else { "lru" };
        format!("allkeys-{name}")
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

    /// The store misses a tenth less than the play. With half the memory the same may hold, or the
    /// play is like the store with a tenth more memory.
    #[test]
    fn a_band_has_both_readings_in_it() {
        let mut report = report();
        let falls = &mut report.tenants[0].recent;
        falls.misses = falls.reads / 2;
        take(&mut report, &replayed(), name);
        let half = Sizing::of(&report.tenants[0]).unwrap().at(250);
        assert!((half.ratio - 0.5 * 0.775 / 0.55).abs() < 1e-3, "{half:?}");
        assert!(half.ratio + half.band >= 0.75 && half.band < 0.06, "{half:?}");
    }

    /// Few reads say little about misses, but every tenant holds less of a smaller pool.
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
        // Every answer about a tenant's memory is one point of its curve.
        let more = divide(&report, 1_300);
        let sizing = Sizing::of(&report.tenants[0]).unwrap();
        assert_eq!(more.ratios[0].unwrap().ratio, sizing.at(more.shares[0]).ratio);
        let twice = claim::memory(&report, 2_000);
        assert_eq!(twice[0].what, ClaimedFigure::Waiting);
        // Each tenant has 1 000 reads per second: the first waits 100 ms instead of 550.
        assert!((twice[0].now - 1_050.0).abs() < 1.0, "{twice:?}");
        assert!((twice[0].value - 600.0).abs() < 1.0 && twice[0].is_sound(), "{twice:?}");
        // A floor takes from the other tenant the memory that it gives to this one.
        let floor = claim::floor(&report, &report.tenants[1], 750);
        let costs =
            floor.iter().find(|claim| matches!(claim.what, ClaimedFigure::Others { .. })).unwrap();
        assert!((costs.change() - 225.0).abs() < 2.0, "{floor:?}");
        let before = costs.change();
        report.tenants[1].min = 750;
        report.tenants[0].used = 250;
        report.tenants[1].used = 750;
        let (falls, flat) = (&mut report.tenants[0], 0.775);
        falls.recent.misses = (flat * falls.recent.reads as f64) as u64;
        falls.recent.wait_ms = falls.recent.misses as f64;
        report.recent = Recent::sum(report.tenants.iter().map(|tenant| &tenant.recent));
        take(&mut report, &replayed(), name);
        let without = claim::floor_costs(&report, &report.tenants[1].clone()).unwrap();
        assert!((without.change() + before).abs() < 10.0, "{without:?}, and {before} before");
    }

    #[test]
    fn policies_are_compared_where_the_play_is_like_the_store() {
        let mut report = report();
        let lru = claim::policy(&report, "allkeys-lru").unwrap();
        assert!((lru.change() / lru.now - 0.1).abs() < 1e-6 && lru.is_sound(), "{lru:?}");
        assert!(crate::say::summary(&report).contains("wait 10 % longer"));
        // The store misses a third as often as its play.
        for tenant in &mut report.tenants {
            tenant.recent.misses /= 3;
            tenant.recent.wait_ms /= 3.0;
        }
        report.recent = Recent::sum(report.tenants.iter().map(|tenant| &tenant.recent));
        report.policies.clear();
        take(&mut report, &replayed(), name);
        assert!(claim::policy(&report, "allkeys-lru").is_none());
        let says = crate::say::summary(&report);
        assert!(says.contains("There is no comparison") && !says.contains("longer"), "{says}");
        assert!(claim::all(&report).iter().all(Claim::is_sound));
    }

    /// The plays of a division and of one LRU pool, for the same tenants.
    fn divided() -> Replayed {
        let all = replayed();
        let mut present = all.present().unwrap().clone();
        let own = |tenant| ScenePool {
            tenant: Some(tenant),
            evictor: Evictor::klru(1),
            capacity: Some(Bytes(500)),
        };
        present.scene.pools = vec![own(0), own(1)];
        Replayed { sizes: vec![(Some(all.memory), present)], ..all }
    }

    #[test]
    fn a_division_is_compared_with_one_lru_pool() {
        let mut report = report();
        report.policies.clear();
        report.server.recipe = "kredis".into();
        let before: Vec<_> = report.tenants.iter().map(|one| one.curve.clone()).collect();
        take(&mut report, &divided(), name);
        let after: Vec<_> = report.tenants.iter().map(|one| one.curve.clone()).collect();
        assert_eq!(before, after, "the curves are those of the recipe");
        let named: Vec<_> = report.policies.iter().map(|trial| &*trial.policy).collect();
        assert_eq!(named, ["kredis", "allkeys-lru"]);
        let lru = claim::policy(&report, "allkeys-lru").unwrap();
        assert!((lru.change() / lru.now - 0.1).abs() < 1e-6 && lru.is_sound(), "{lru:?}");
        assert!(crate::say::pilot(&report, &report.moves)[0].contains("wait 10 % longer"));
        // A play that misses otherwise than the store tells nothing.
        report.tenants[0].recent.misses /= 2;
        report.tenants[0].recent.wait_ms /= 2.0;
        report.recent = Recent::sum(report.tenants.iter().map(|tenant| &tenant.recent));
        report.policies.clear();
        take(&mut report, &divided(), name);
        assert_eq!(claim::policy(&report, "allkeys-lru"), None);
        assert!(crate::say::pilot(&report, &report.moves)[0].contains("There is no comparison"));
    }
}
