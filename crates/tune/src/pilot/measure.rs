//! The pilot's observations: samples at every look, and rates and outcomes at the end of an epoch.

use super::state::{PENALTY_DEFAULT_US, Pilot, PoolCounters, Steered};
use super::views::find;
use crate::Reading;
use crate::budgets::members;
use crate::causes::TenantTap;
use crate::watch::samples_per_s;
use base::penalty::of_class;
use base::{Bytes, Filter, Micros, MissRatio, Sample, TenantId};
use std::collections::HashMap;

/// A look with more samples than this multiple of the models' allowance is an overrun. The load has
/// then risen since the rates were chosen, and the rates cannot wait for the end of the epoch.
const OVERRUN: f64 = 3.0;

/// Minimum time that a look is taken to cover, so that a handful of samples is no overrun.
const LOOK_MIN: Micros = Micros::from_millis(50);

/// Weight of an epoch's rates against the smoothed rates of the epochs before.
const RATE_WEIGHT: f64 = 0.5;

impl Pilot {
    /// Lowers the sampling rates of pools that sample far more than allowed. Returns true if it
    /// lowered any.
    pub(super) fn brake(&mut self, reading: &Reading) -> bool {
        let look = reading.now.saturating_sub(self.looked).max(LOOK_MIN).as_f64() / 1e6;
        self.looked = reading.now;
        let widest = self.pools.iter().map(|pool| pool.filter().rate()).fold(0.0, f64::max);
        let is_shared = self.recipe.pools.has_classes();
        let ops = |pool: &Steered| {
            let is_of = |s: &&Sample| is_shared || pool.has(s.tenant, s.penalty, s.size);
            let rate = if is_shared { widest } else { pool.filter().rate() };
            let samples = reading.samples.iter().filter(is_of);
            samples.count() as f64 / rate.max(f64::MIN_POSITIVE) / look
        };
        if reading.samples.len() as f64 <= OVERRUN * samples_per_s(0.0) * look {
            return false;
        }
        let ops: Vec<_> = self.pools.iter().map(ops).collect();
        let active = ops.iter().filter(|&&ops| ops > 0.0).count();
        let samples = if is_shared {
            samples_per_s(ops.first().copied().unwrap_or_default())
        } else {
            samples_per_s(ops.iter().sum()) / active.max(1) as f64
        };
        let mut lowered = false;
        for (pool, ops) in self.pools.iter_mut().zip(ops) {
            lowered |= pool.watch.as_mut().is_some_and(|watch| watch.overrun(ops, samples));
        }
        lowered
    }

    pub(super) fn learn(&mut self, reading: &mut Reading) {
        // Shards are drained one after the other. A stable sort joins them and keeps the order of
        // the samples of each key.
        reading.samples.sort_by_key(|sample| sample.time);
        self.samples += reading.samples.len() as u64;
        self.dropped = reading.dropped;
        let taps = self.taps();
        let tap = |id: TenantId| taps.get(&id).copied().unwrap_or(Filter::NONE);
        let seen: Vec<_> = reading
            .tenants
            .iter()
            .map(|tenant| TenantTap {
                tenant: tenant.id,
                tap: tap(tenant.id),
                items: tenant.items,
                misses: tenant.misses,
            })
            .collect();
        self.causes.look(&reading.samples, &seen, reading.model_memory, reading.now);
        // A plant that is content with few keys has no memory for the comparison of a division.
        let is_small = reading.model_keys_min.is_some();
        let present = self.present();
        let is_played = present.is_some_and(|present| !is_small || present.is_shared());
        let Self { observer, pools, recipe, prices, views, replays, .. } = self;
        observer.classes = recipe.pools.class_kind();
        let mut accesses = vec![vec![]; pools.len()];
        // The accesses with their measured penalties, before the weights of tenants apply.
        let mut unpriced = vec![];
        // The tenant's mean penalty, for keys without a timed fetch, and the weight of its waiting.
        let mean = |at: TenantId| find(reading, at)?.penalty;
        let price = |at: TenantId| prices.in_force().get(usize::from(at)).copied().unwrap_or(1.0);
        let mut show = |access: base::Access| {
            let of = |pool: &Steered| pool.has(access.tenant, access.penalty, access.size.as_u32());
            if let Some(at) = pools.iter().position(of) {
                let usual = || mean(access.tenant).unwrap_or(Micros(PENALTY_DEFAULT_US as u64));
                let penalty = if access.penalty.0 > 0 { access.penalty } else { usual() };
                if is_played {
                    unpriced.push(base::Access { penalty, ..access });
                }
                let counts = price(access.tenant) * penalty.as_f64();
                accesses[at].push(base::Access { penalty: Micros(counts as u64), ..access });
            }
        };
        for sample in &reading.samples {
            observer.see(sample, &mut show);
        }
        observer.expire_pending(reading.now, &mut show);
        if let ([pool], [accesses]) = (&pools[..], &accesses[..]) {
            views.learn(reading, accesses, pool.filter());
        }
        if is_played {
            // A tape has the keys that every pool samples.
            let filters = pools.iter().map(Steered::filter);
            let filter = filters.min_by_key(|filter| filter.threshold()).unwrap_or(Filter::NONE);
            replays.learn(reading, &unpriced, filter);
        } else {
            replays.clear();
        }
        for (pool, accesses) in pools.iter_mut().zip(accesses) {
            let parts = members(reading, &pool.tenants).map(|tenant| tenant.part(pool.class));
            let gets = parts.map(|part| part.gets).sum();
            let before = pool.gets.replace(gets).unwrap_or(gets);
            if let Some(watch) = &mut pool.watch {
                watch.learn(&accesses, gets.saturating_sub(before));
            }
        }
    }

    /// The widest filter of each tenant's pools.
    fn taps(&self) -> HashMap<TenantId, Filter> {
        let mut taps = HashMap::new();
        for pool in &self.pools {
            let filter = pool.filter();
            for &tenant in &pool.tenants {
                let tap = taps.entry(tenant).or_insert(filter);
                if filter.threshold() > tap.threshold() {
                    *tap = filter;
                }
            }
        }
        taps
    }

    /// Updates the rates, outcomes and curves of all pools after an epoch of `length`.
    pub(super) fn measure(&mut self, reading: &Reading, length: Micros) {
        let seconds = length.as_f64().max(1.0) / 1e6;
        let last = self.history.back_mut();
        let mut outcomes = last.map(|epoch| epoch.pools.iter_mut()).into_iter().flatten();
        let mut counts = vec![];
        for pool in &mut self.pools {
            let (mut now, mut used) = (PoolCounters::default(), Bytes(0));
            for tenant in members(reading, &pool.tenants) {
                let part = tenant.part(pool.class);
                let seen = PoolCounters::of(&part);
                let old = self.counts.insert((tenant.id, pool.class), seen).unwrap_or(seen);
                now.gets += seen.gets.saturating_sub(old.gets);
                now.misses += seen.misses.saturating_sub(old.misses);
                now.sets += seen.sets.saturating_sub(old.sets);
                used += part.used;
            }
            let smooth = |old: f64, new: f64| {
                if old > 0.0 { old + RATE_WEIGHT * (new - old) } else { new }
            };
            let fills = now.sets.min(now.misses);
            pool.reads_per_s = smooth(pool.reads_per_s, now.gets as f64 / seconds);
            pool.ops_per_s = smooth(pool.ops_per_s, (now.gets + now.sets - fills) as f64 / seconds);
            pool.used = used;
            // The misses of the present policy are representative once the memory has turned over.
            let cooling = u64::from(self.recipe.cooling_epochs);
            let settled = pool.switched == 0 || self.epoch > pool.switched + cooling;
            if let Some(watch) = pool.watch.as_mut().filter(|_| settled && pool.held > Bytes(0)) {
                let held = Bytes(pool.held.0.midpoint(pool.budget.min(used).0));
                watch.check(pool.evictor, held, now.gets as f64, now.misses as f64);
            }
            if let Some(outcome) = outcomes.next().filter(|outcome| outcome.name == pool.name) {
                let measured = MissRatio::of(now.misses as f64, now.gets as f64).0;
                outcome.outcome = (now.gets > 0).then_some(measured);
            }
            counts.push(now);
        }
        let ops_per_s = self.pools.iter().map(|pool| pool.ops_per_s).sum();
        let active = self.pools.iter().filter(|pool| pool.ops_per_s > 0.0).count();
        // The class of a key is unknown until the key is sampled, so all classes have one rate. A
        // higher rate for a rare class would also sample the requests of the other classes.
        let is_shared = self.recipe.pools.has_classes();
        let shares = if is_shared { 1 } else { active.max(1) };
        let samples = samples_per_s(ops_per_s) / shares as f64;
        for (pool, counts) in self.pools.iter_mut().zip(counts) {
            if counts.gets + counts.sets == 0 {
                continue;
            }
            if let Some(watch) = &mut pool.watch {
                let ops_per_s = if is_shared { ops_per_s } else { pool.ops_per_s };
                watch.epoch(ops_per_s, samples, self.recipe.keep);
            }
        }
        self.measure_penalties(reading);
    }

    /// Sets the mean penalty of each pool, weighted by reads. A pool without a measurement gets the
    /// penalty of its class, or else the mean of the other pools.
    fn measure_penalties(&mut self, reading: &Reading) {
        let mean = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (weight, value) in pairs {
                sum += weight * value;
                weights += weight;
            }
            (weights > 0.0).then_some(sum / weights)
        };
        let known = |pool: &Steered| {
            let parts = members(reading, &pool.tenants).map(|tenant| tenant.part(pool.class));
            let measured =
                parts.filter_map(|part| Some((part.gets.max(1) as f64, part.penalty?.as_f64())));
            mean(&mut measured.collect::<Vec<_>>().into_iter())
        };
        let penalties: Vec<_> = self.pools.iter().map(known).collect();
        let rates = self.pools.iter().map(|pool| pool.reads_per_s.max(1e-9));
        let others = mean(&mut rates.zip(&penalties).filter_map(|(rate, p)| Some((rate, (*p)?))));
        for (pool, penalty) in self.pools.iter_mut().zip(penalties) {
            // The number of a penalty class gives its penalty before any measurement.
            let class = pool.class.filter(|&class| class > 0 && pool.sizes.is_none());
            let told = class.map(of_class);
            let known = penalty.or(told.map(Micros::as_f64)).or(others);
            pool.penalty_us = known.unwrap_or(PENALTY_DEFAULT_US);
        }
    }
}
