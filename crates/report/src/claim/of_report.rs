//! The claims that a report makes.

use super::{Claim, ClaimedFigure, Setting};
use crate::sizing::{Bounds, Division, SharedPool, Sizing, divide, waits};
use crate::{Report, SAMPLES_MIN, Tenant};
use base::Cause;

/// With fewer reads of all tenants, no claim about waiting is made; with fewer reads of one tenant,
/// none about its misses.
const READS_MIN: u64 = 1_000;

/// The least number of sampled reads of expired keys for a claim about a longer time to live.
const EXPIRED_MIN: f64 = 100.0;

/// Evictions that a longer time to live may ignore, as a share of the reads of expired keys. With
/// more, items that live longer take memory from others.
const EVICTED_MAX: f64 = 0.1;

/// One undivided LRU cache, as `maxmemory-policy` names it.
pub const LRU: &str = "allkeys-lru";

/// A claim about a figure that is `now` and would be `value`, `band` more or less.
fn claim(
    report: &Report,
    what: ClaimedFigure,
    setting: Setting,
    now: f64,
    value: f64,
    band: f64,
) -> Claim {
    let (low, high) = ((value - band).max(0.0), value + band);
    let window_s = report.recent.seconds;
    Claim { what, setting, now, value, low, high, window_s }
}

/// All sound claims that this report makes.
pub fn all(report: &Report) -> Vec<Claim> {
    let mut claims = vec![];
    for trial in &report.policies {
        claims.extend(policy(report, &trial.policy));
    }
    let divided = report.server.divided;
    for (part, of) in [(1, 2), (3, 4), (5, 4), (3, 2), (2, 1), (4, 1)] {
        claims.extend(memory(report, divided / of * part));
    }
    for tenant in &report.tenants {
        for bytes in [tenant.used / 4 * 5, tenant.used / 2 * 3] {
            claims.extend(floor(report, tenant, bytes));
        }
        if tenant.min > 0 {
            claims.extend(floor(report, tenant, 0));
        }
        claims.extend(twice_the_ttl(report, tenant));
    }
    claims.extend(compression(report));
    claims.retain(Claim::is_sound);
    claims
}

/// All claims about this `maxmemory`; none where too little is known.
pub fn of_maxmemory(report: &Report, maxmemory: u64) -> Vec<Claim> {
    memory(report, divided(report, maxmemory))
}

/// The step by which sentences try more memory, in bytes of `maxmemory`: a quarter of it, or 1 GiB
/// from 2 GiB on. `None` without a limit.
pub fn step(report: &Report) -> Option<u64> {
    match report.server.maxmemory {
        0 => None,
        small if small < 2 << 30 => Some(small / 4),
        _ => Some(1 << 30),
    }
}

/// The bytes of `maxmemory` that tenants could have: the same part as now.
pub fn divided(report: &Report, maxmemory: u64) -> u64 {
    let server = &report.server;
    let part = u128::from(server.divided) * u128::from(maxmemory);
    (part / u128::from(server.maxmemory.max(1))) as u64
}

/// The waiting of all tenants under another policy; `None` if no play tried that policy or reads
/// are too few.
pub fn policy(report: &Report, policy: &str) -> Option<Claim> {
    let trial = report.policies.iter().find(|trial| trial.policy == policy && !trial.is_present)?;
    let now = report.recent.wait_ms_per_s();
    let setting = Setting::Policy { policy: policy.to_owned() };
    is_enough(report).then(|| {
        claim(report, ClaimedFigure::Waiting, setting, now, now * trial.waits, now * trial.band)
    })
}

/// The waiting of all tenants with the present memory, divided as the present reads would divide
/// it; `None` where the measured waiting is about the same. Claims about another memory are
/// compared with this waiting, because they divide that memory in the same way.
pub fn settled(report: &Report) -> Option<f64> {
    const CLEARLY: f64 = 0.02;
    let measured = report.recent.wait_ms_per_s();
    let settled = divide(report, report.server.divided);
    let off = (settled.wait_ms - measured).abs();
    (off > settled.band_ms.max(CLEARLY * measured)).then_some(settled.wait_ms)
}

/// The waiting of all tenants, and the misses of each, with `divided` bytes to divide.
pub fn memory(report: &Report, divided: u64) -> Vec<Claim> {
    let setting = Setting::Memory { divided };
    let now = divide(report, report.server.divided);
    outcome(report, &setting, &now, &divide(report, divided))
}

/// The waiting of all tenants, and the misses of each, with `compression auto`: as if there were so
/// much more memory as the items take less. Empty if compression is not off, or too few values were
/// sampled.
pub fn compression(report: &Report) -> Vec<Claim> {
    let Some(memory_to) = memory_to(report) else { return vec![] };
    let now = divide(report, report.server.divided);
    let then = divide(report, (report.server.divided as f64 / memory_to) as u64);
    outcome(report, &Setting::Compression, &now, &then)
}

/// The part of their memory that all items would take with compression; `None` if it is not off,
/// or the samples are few.
pub fn memory_to(report: &Report) -> Option<f64> {
    if report.server.compression != "no" {
        return None;
    }
    let mut known = 0;
    let with = report.tenants.iter().map(|tenant| {
        let shrinks = tenant.compressed.sampled;
        known += shrinks.map_or(0, |shrinks| shrinks.values);
        tenant.used as f64 * shrinks.map_or(1.0, |shrinks| shrinks.memory_to)
    });
    let with: f64 = with.sum();
    let used: u64 = report.tenants.iter().map(|tenant| tenant.used).sum();
    (known >= SAMPLES_MIN && with > 0.0).then(|| with / used as f64)
}

/// The waiting of all tenants if the compressed values of one were plain: as if there were so much
/// less memory. `None` if it has none, or too little is known.
pub fn plain(report: &Report, tenant: &Tenant) -> Option<Claim> {
    let (divided, saved) = (report.server.divided, tenant.compressed.saved());
    let part = divided as f64 / (divided + saved).max(1) as f64;
    let claims = memory(report, (divided as f64 * part) as u64);
    claims.into_iter().next().filter(|_| saved > 0)
}

/// The misses of a tenant, and the waiting of the others, with a floor of `bytes`. Empty if there
/// are fewer bytes to divide.
pub fn floor(report: &Report, tenant: &Tenant, bytes: u64) -> Vec<Claim> {
    if bytes > report.server.divided {
        return vec![];
    }
    let setting = Setting::Floor { tenant: tenant.name.clone(), bytes };
    let (now, then) = (with_floor(report, tenant, tenant.min), with_floor(report, tenant, bytes));
    let Some((now, then)) = now.zip(then) else { return vec![] };
    let Some(at) = place(report, tenant) else { return vec![] };
    let mut claims = misses(report, &setting, at, &then).into_iter().collect::<Vec<_>>();
    let waited = |division: &Division| -> (f64, f64) {
        let own = report.tenants.iter().zip(&division.ratios).enumerate();
        let others = own.filter(|(other, _)| *other != at);
        let others = others.filter_map(|(_, (tenant, ratio))| Some(waits(tenant, (*ratio)?)));
        others.fold((0.0, 0.0), |(sum, squares), wait| {
            (sum + wait.ratio, squares + wait.band * wait.band)
        })
    };
    let ((before, chance), (after, more)) = (waited(&now), waited(&then));
    let own = report.tenants[at].recent.wait_ms_per_s();
    let measured = report.recent.wait_ms_per_s() - own;
    let band = chance.max(more).sqrt();
    let what = ClaimedFigure::Others { tenant: tenant.name.clone() };
    if is_enough(report) {
        claims.push(claim(report, what, setting, measured, measured + after - before, band));
    }
    claims
}

/// The waiting of the other tenants if this one had no floor; `None` if it has none now.
pub fn floor_costs(report: &Report, tenant: &Tenant) -> Option<Claim> {
    let others = |claim: &Claim| matches!(claim.what, ClaimedFigure::Others { .. });
    floor(report, tenant, 0).into_iter().find(others).filter(|_| tenant.min > 0)
}

/// The misses of a tenant if its items lived twice as long; `None` if reads of expired keys are too
/// few, or more than a few misses are of evicted items.
pub fn twice_the_ttl(report: &Report, tenant: &Tenant) -> Option<Claim> {
    let recent = &tenant.recent;
    let now = recent.miss_ratio().filter(|_| recent.reads >= READS_MIN)?;
    let expired = recent.missed_for(Cause::Expired)?;
    let evicted = recent.missed_for(Cause::Evicted)?;
    let sampled = recent.sampled as f64 * expired / now;
    if sampled < EXPIRED_MIN || evicted > EVICTED_MAX * expired {
        return None;
    }
    let saved = tenant.twice_the_ttl?;
    let chance = 2.0 * (saved * (1.0 - saved) / sampled).sqrt();
    let (what, setting) = (
        ClaimedFigure::Misses { tenant: tenant.name.clone() },
        Setting::TwiceTheTtl { tenant: tenant.name.clone() },
    );
    // What is evicted now may stay evicted, or be needed by items that live longer.
    let band = (expired * chance).hypot(evicted);
    Some(claim(report, what, setting, now, now - expired * saved, band))
}

fn with_floor(report: &Report, tenant: &Tenant, bytes: u64) -> Option<Division> {
    let at = place(report, tenant)?;
    if let Some(pool) = SharedPool::of(report) {
        let mut bounds: Vec<_> = report.tenants.iter().map(Bounds::of).collect();
        bounds[at].min = bytes;
        return Some(pool.divide(report.server.divided, &bounds));
    }
    let mut with_floor = report.clone();
    with_floor.tenants[at].min = bytes;
    Some(divide(&with_floor, report.server.divided))
}

fn place(report: &Report, tenant: &Tenant) -> Option<usize> {
    report.tenants.iter().position(|one| one.name == tenant.name)
}

fn outcome(report: &Report, setting: &Setting, now: &Division, then: &Division) -> Vec<Claim> {
    if !is_enough(report) || report.tenants.iter().all(|tenant| Sizing::of(tenant).is_none()) {
        return vec![];
    }
    let measured = report.recent.wait_ms_per_s();
    let value = measured + then.wait_ms - now.wait_ms;
    let band = if SharedPool::of(report).is_some() {
        then.band_ms
    } else {
        // Both divisions rest on the same sample, so their errors are equal, except for the part of
        // the waiting in which they differ.
        let share = (then.wait_ms - now.wait_ms).abs() / now.wait_ms.max(f64::MIN_POSITIVE);
        now.band_ms.max(then.band_ms) * share.min(1.0).sqrt()
    };
    let waiting = claim(report, ClaimedFigure::Waiting, setting.clone(), measured, value, band);
    let each = (0..report.tenants.len()).filter_map(|at| misses(report, setting, at, then));
    std::iter::once(waiting).chain(each).collect()
}

/// The claim about the misses of a tenant under a division of memory.
fn misses(report: &Report, setting: &Setting, at: usize, then: &Division) -> Option<Claim> {
    let tenant = &report.tenants[at];
    let measured = tenant.recent.miss_ratio().filter(|_| tenant.recent.reads >= READS_MIN)?;
    let there = then.ratios[at]?;
    let what = ClaimedFigure::Misses { tenant: tenant.name.clone() };
    Some(claim(report, what, setting.clone(), measured, there.ratio, there.band))
}

fn is_enough(report: &Report) -> bool {
    report.recent.reads >= READS_MIN
}
