//! Policies compared by plays of the sampled requests with the present memory.
//!
//! The play of the policy in force differs somewhat from the store. The plays of the other policies
//! may differ by as much, or this play alone may differ: a rank that learns has fewer keys to learn
//! from than in the store, and LRU learns nothing. So the waiting of a policy is the middle of both
//! readings, and its band holds both. If the play of the policy in force differs by more than
//! chance allows, no policy is compared, and the report says why.

use crate::played::{missed, reads, sum};
use crate::{PolicyTrial, Recent, Report};
use tune::Evictor;
use tune::pilot::{Replayed, Trial};
use tune::tape::{Fared, Played, ratio_of};

/// The allowed error of a play: as a share of the reads, and as a share of the measured misses.
const OFF: (f64, f64) = (0.02, 0.15);

/// No policy is compared if the played waiting differs from the measured one by more than this
/// share.
const MISFIT_MAX: f64 = 0.2;

/// The error of a tenant's play counts if the tenant has more than this share of all waiting.
const MATTERS: f64 = 0.1;

/// The error of another policy's waiting beside chance, as a share of it: a play has fewer keys to
/// learn from than the store.
const MODEL_OF_POLICY: f64 = 0.02;

/// The trials of all policies, the one in force first. A recipe that divides the memory is named in
/// place of a policy.
pub(crate) fn of(
    report: &Report,
    replayed: &Replayed,
    present: &Played,
    name: impl Fn(Evictor) -> String,
) -> Vec<PolicyTrial> {
    let measured = report.recent.miss_ratio().unwrap_or_default();
    let recipe = || report.server.recipe_name().to_owned();
    let first = PolicyTrial {
        policy: present.scene.evictor().map_or_else(recipe, &name),
        is_present: true,
        waits: 1.0,
        band: 0.0,
        miss_ratio: measured,
    };
    let trials = replayed.trials();
    let other = |(trial, played): (&Trial, &Played)| {
        let (waits, misses) = as_played(report, played);
        let apart = 0.5 * (trial.waits - waits).abs();
        PolicyTrial {
            policy: played.scene.evictor().map_or_else(recipe, &name),
            is_present: false,
            waits: trial.waits.midpoint(waits),
            band: trial.band.hypot(MODEL_OF_POLICY).hypot(apart),
            miss_ratio: (measured * trial.misses.midpoint(misses)).min(1.0),
        }
    };
    let others = trials.iter().skip(1).zip(&replayed.others).map(other);
    std::iter::once(first).chain(others).collect()
}

/// The waiting and the misses of all tenants if the store behaved like this play, each divided by
/// the measured value.
fn as_played(report: &Report, played: &Played) -> (f64, f64) {
    let (mut waits, mut misses) = (0.0, 0.0);
    for (at, tenant) in report.tenants.iter().enumerate() {
        let recent = &tenant.recent;
        let times = recent.reads as f64 / reads(tenant, played).max(f64::MIN_POSITIVE);
        let fared = played.tenants.get(at).filter(|fared| sum(&fared.reads) > 0.0);
        waits += fared.map_or(recent.wait_ms, |fared| sum(&fared.waits) / 1e3 * times);
        misses += fared.map_or(recent.misses as f64, |fared| sum(&fared.misses) * times);
    }
    let recent = &report.recent;
    (waits / recent.wait_ms.max(f64::MIN_POSITIVE), misses / (recent.misses as f64).max(1.0))
}

/// The difference between played and measured waiting, summed over the tenants, as a share of the
/// measured waiting.
fn misfit(report: &Report, like_store: &[Option<Fared>], present: &Played) -> f64 {
    let mut off = 0.0;
    for (at, tenant) in report.tenants.iter().enumerate() {
        let missed = like_store[at].and_then(|own| missed(tenant, &own, present));
        if let Some((missed, us)) = missed.zip(tenant.penalty_us) {
            let Recent { reads, wait_ms, .. } = tenant.recent;
            off += (reads as f64 * us / 1e3 * missed - wait_ms).abs();
        }
    }
    off / report.recent.wait_ms.max(f64::MIN_POSITIVE)
}

/// The reason not to compare policies: the play of the one in force differs too much from the
/// store. `None` if it does not. `like_store` has the result of each tenant in a play that holds as
/// much of its data as the store.
pub(crate) fn off(
    report: &Report,
    like_store: &[Option<Fared>],
    present: &Played,
) -> Option<String> {
    let all = report.recent.wait_ms;
    for (at, tenant) in report.tenants.iter().enumerate() {
        let Some((fared, measured)) = like_store[at].zip(tenant.recent.miss_ratio()) else {
            continue;
        };
        let (_, band) = ratio_of(&fared.misses, &fared.reads);
        let Some(played) = missed(tenant, &fared, present) else { continue };
        let allowed = band.max(OFF.0).max(OFF.1 * measured);
        if tenant.recent.wait_ms > MATTERS * all && (played - measured).abs() > allowed {
            let percent = crate::words::percent;
            return Some(format!(
                "a comparison replays sampled requests of the last minutes in a model of the \
                 cache. There {} misses {}, but {} in the cache itself, so the model cannot be \
                 trusted yet, as while a cache fills or a load changes.",
                tenant.name,
                percent(played),
                percent(measured)
            ));
        }
    }
    let misfit = misfit(report, like_store, present);
    (misfit > MISFIT_MAX).then(|| {
        format!(
            "a comparison replays sampled requests of the last minutes in a model of the cache. \
             There clients wait {} more or less than in the cache itself, so the model cannot be \
             trusted yet.",
            crate::words::percent(misfit)
        )
    })
}
