//! The simulated store as the pilot reads and sets it.

use super::SampledPlant;
use super::plant::{Bucket, Member};
use super::pool::{Pool, home};
use super::watching::Watching;
use base::{Bytes, Filter};
use std::collections::HashMap;
use tune::{Evictor, Plant, PoolStep, Reading, Step, TenantReading};

impl Plant for SampledPlant {
    fn read(&mut self) -> Reading {
        let part = |(bucket, class): (&Bucket, u8)| {
            bucket.counts.part(class, bucket.used, bucket.fetches.get())
        };
        let tenant = |(id, member): (usize, &Member)| TenantReading {
            used: member.used,
            items: member.places.len() as u64,
            penalty: member.fetches.get(),
            classes: member.buckets.iter().zip(0..).map(part).collect(),
            ..member.bounds.reading(id, &member.counts)
        };
        let (samples, dropped) = self.samples.take();
        Reading {
            now: self.now,
            limit: self.limit,
            tenants: self.members.iter().enumerate().map(tenant).collect(),
            goals: self.goals.clone(),
            samples,
            dropped,
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        let mut kept: HashMap<_, _> = std::mem::take(&mut self.pools)
            .into_iter()
            .map(|pool| ((pool.step.tenants, pool.step.class), pool.kept))
            .collect();
        let pool = |step: &PoolStep| {
            let kept = kept.remove(&(step.tenants.clone(), step.class)).unwrap_or_default();
            Pool { step: step.clone(), used: Bytes(0), kept }
        };
        self.pools = step.pools.iter().map(pool).collect();
        self.prices.clone_from(&step.prices);
        let learns = |pool: &PoolStep| pool.evictor == Evictor::gittins(pool.evictor.k);
        if step.pools.iter().any(learns) {
            let tenants = self.members.len();
            // The state of the rank is kept while another policy is in force, because the pool may
            // return to it.
            self.watching.get_or_insert_with(|| Box::new(Watching::new(tenants)));
        }
        for (member, tenant) in self.members.iter_mut().zip(0..) {
            for ((home_of, bucket), class) in member.pools.iter_mut().zip(&member.buckets).zip(0..)
            {
                *home_of = home(&self.pools, tenant, class);
                self.pools[*home_of].used += bucket.used;
            }
            let own = step.pools.iter().filter(|pool| pool.tenants.contains(&tenant));
            let widest = own.map(|pool| pool.filter).max_by_key(|filter| filter.threshold());
            member.filter = widest.unwrap_or(Filter::NONE);
        }
    }
}
