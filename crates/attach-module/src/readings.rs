//! Tenants as the pilot reads them: their memory and requests, the cost of their misses, and the
//! keys that its models sample.

use crate::learn::Costs;
use crate::stamps::{class_of_code, code_of};
use crate::tenants::{Mean, QUIET, Tenants, TrackedTenant};
use base::penalty::{Estimate, class_of, of_class};
use base::{Bytes, Filter, Micros, TenantId};
use policy::rank::gittins::ClassFetches;
use tune::tenant::TenantConfig;
use tune::{Goal, Part, Step, TenantReading};

/// With fewer fetches their mean cost is not used.
const FETCHES_MIN: f64 = 16.0;

/// Weight that the fetches measured before keep at the end of each second.
const FETCHES_KEEP: f64 = 0.99;

impl Tenants {
    /// Stores the filter that the models have for each tenant. Returns the filter for the keys to
    /// examine.
    pub(crate) fn follow(&mut self, step: Option<&Step>) -> Filter {
        let widest = |one: Filter, other: Filter| {
            if other.threshold() > one.threshold() { other } else { one }
        };
        let (mut all, mut lively) = (Filter::NONE, Filter::NONE);
        for (tenant, id) in self.all.iter_mut().zip(0..) {
            let pools = step.iter().flat_map(|step| &step.pools);
            let filters = pools.filter(|pool| pool.tenants.contains(&id)).map(|pool| pool.filter);
            tenant.filter = filters.fold(Filter::NONE, widest);
            let asked = tenant.hits + tenant.misses + tenant.sets;
            tenant.quiet = if asked == tenant.asked { tenant.quiet.saturating_add(1) } else { 0 };
            tenant.asked = asked;
            all = widest(all, tenant.filter);
            if tenant.quiet < QUIET {
                lively = widest(lively, tenant.filter);
            }
        }
        if lively.threshold() > 0 { lively } else { all }
    }

    /// Counts a fetch and its cost.
    pub(crate) fn fetched(&mut self, owner: TenantId, penalty: Micros) {
        let Some(tenant) = self.get_mut(owner) else { return };
        // The class as the stamps of a key have it.
        let class = class_of_code(code_of(class_of(penalty)));
        for mean in [&mut tenant.fetches, &mut tenant.by_class[usize::from(class)]] {
            mean.count += 1.0;
            mean.sum += penalty.as_f64();
        }
        match &mut tenant.cost {
            Some(cost) => cost.add(penalty),
            None => tenant.cost = Some(Estimate::new(penalty)),
        }
    }

    /// Discounts the fetches measured so far.
    pub(crate) fn fade(&mut self) {
        for tenant in &mut self.all {
            for mean in std::iter::once(&mut tenant.fetches).chain(&mut tenant.by_class) {
                mean.count *= FETCHES_KEEP;
                mean.sum *= FETCHES_KEEP;
            }
        }
    }

    /// The class of the cost of a tenant's misses.
    pub(crate) fn class(&self, owner: TenantId) -> u8 {
        let tenant = &self.all[usize::from(owner)];
        let known = tenant.fetches.count >= FETCHES_MIN;
        tenant.cost.filter(|_| known).map_or(0, Estimate::class)
    }

    /// The tenants' data from which the pilot makes a plan.
    pub(crate) fn reading(&self) -> Vec<TenantReading> {
        (0..self.all.len()).map(|at| self.reading_of(at)).collect()
    }

    fn reading_of(&self, at: usize) -> TenantReading {
        let tenant = &self.all[at];
        let id = at as TenantId;
        let penalty = (tenant.fetches.count >= FETCHES_MIN)
            .then(|| tenant.fetches.get().map(|us| Micros(us as u64)))
            .flatten();
        let used = Bytes(self.used(id) as u64);
        let gets = tenant.hits + tenant.misses;
        let part = Part {
            class: self.class(id),
            used,
            gets,
            misses: tenant.misses,
            sets: tenant.sets,
            penalty,
        };
        TenantReading {
            id,
            name: tenant.config.name.clone(),
            used,
            items: tenant.items.max(0) as u64,
            gets,
            misses: tenant.misses,
            sets: tenant.sets,
            penalty,
            min: tenant.config.min,
            max: tenant.config.max,
            weight: tenant.config.weight,
            classes: vec![part],
        }
    }

    /// The costs of the tenants' misses, from which the rank takes its prices.
    pub(crate) fn costs(&self) -> Vec<Costs> {
        let of = |tenant: &TrackedTenant| {
            let known = |mean: Mean| mean.get().unwrap_or_default() as f32;
            let of = |mean: Mean| ClassFetches { mean: known(mean), count: mean.count as f32 };
            Costs { mean: known(tenant.fetches), by_class: tenant.by_class.map(of) }
        };
        self.all.iter().map(of).collect()
    }

    /// The goals promised to tenants.
    pub(crate) fn goals(&self) -> Vec<Goal> {
        let goal = |(tenant, id): (&TrackedTenant, TenantId)| {
            let TenantConfig { target, priority, .. } = tenant.config;
            target.map(|target| Goal { tenant: id, target, priority })
        };
        self.all.iter().zip(0..).filter_map(goal).collect()
    }

    /// The approximate cost of a miss of a tenant's key; zero where it is unknown.
    pub(crate) fn penalty(&self, owner: TenantId) -> Micros {
        of_class(self.class(owner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use tune::{Evictor, PoolStep};

    /// Two tenants by prefix, and a step that samples every key of the second, and few others.
    fn tenants() -> (Tenants, Step, Filter) {
        let mut settings = Settings::default();
        settings.set_tenants("a match prefix a:; b match prefix b:").unwrap();
        let few = Filter::below(Filter::ALL.threshold() / 128);
        let pool = |(tenant, filter)| PoolStep {
            tenants: vec![tenant],
            class: None,
            budget: Bytes(1),
            evictor: Evictor::klru(5),
            filter,
        };
        let pools = [(0, few), (1, few), (2, Filter::ALL)].map(pool).to_vec();
        (Tenants::new(&settings.tenants, 16, 0), Step { pools, prices: vec![] }, few)
    }

    /// A tenant without requests must not cause a look-up of every key of the others.
    #[test]
    fn a_quiet_tenant_widens_nothing() {
        let (mut tenants, step, few) = tenants();
        assert_eq!(tenants.follow(Some(&step)), Filter::ALL, "nobody was asked for anything yet");
        tenants.all[1].misses = 1;
        assert_eq!(tenants.follow(Some(&step)), few);
        tenants.all[2].sets = 1;
        assert_eq!(tenants.follow(Some(&step)), Filter::ALL);
        for _ in 0..QUIET {
            tenants.all[1].hits += 1;
            tenants.follow(Some(&step));
        }
        assert_eq!(tenants.follow(Some(&step)), few);
        assert_eq!(tenants.all[2].filter, Filter::ALL, "its own keys are seen when it is back");
        assert_eq!(tenants.follow(None), Filter::NONE);
    }

    #[test]
    fn a_database_is_asked_for_where_it_matters() {
        let (mut tenants, ..) = tenants();
        assert_eq!(tenants.only_db(), Some(0));
        tenants.dbs = vec![(3, 7)];
        assert_eq!(tenants.only_db(), Some(3));
        tenants.dbs = vec![(0, 1), (3, 7)];
        assert_eq!(tenants.only_db(), None);
        let mut settings = Settings::default();
        settings.set_tenants("jobs match db 1").unwrap();
        assert_eq!(Tenants::new(&settings.tenants, 16, 0).only_db(), None);
    }
}
