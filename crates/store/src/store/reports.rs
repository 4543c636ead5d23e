//! Statistics, samples, eviction times and removals, collected from all shards.

use crate::learning::removals::{Removal, RemovalListener, Removals};
use crate::sync::shim::lock;
use crate::victims::eviction_time::Pauses;
use crate::{Counters, Len, PenaltyClassStats, Store, TenantStats};
use base::penalty::CLASSES;
use base::{Bytes, Filter, Sample, TenantId};
use std::sync::Arc;

/// Most fetches timed by all stopwatches at once.
const FETCHES_MAX: usize = 1 << 14;

impl Store {
    /// Statistics of a tenant now; all zero for an unknown number.
    pub fn tenant_stats(&self, tenant: TenantId) -> TenantStats {
        let account = lock(&self.admin).accounts.get(usize::from(tenant)).cloned();
        let Some(account) = account else { return TenantStats::default() };
        let (mut len, mut counters) = (Len::default(), Counters::default());
        for shard in &self.shards {
            if let Some(tenant) = shard.write_drained().contents().tenants.get(usize::from(tenant))
            {
                len += tenant.len(None);
                counters += tenant.counters;
            }
        }
        let penalty = lock(&account.measured).stats();
        TenantStats { used: Bytes(account.used()), len, counters, penalty }
    }

    /// Statistics of all tenants now, with one lock of each shard.
    pub fn all_stats(&self) -> Vec<TenantStats> {
        let accounts = lock(&self.admin).accounts.clone();
        let mut all = vec![TenantStats::default(); accounts.len()];
        for shard in &self.shards {
            for (stats, tenant) in all.iter_mut().zip(&shard.write_drained().contents().tenants) {
                stats.len += tenant.len(None);
                stats.counters += tenant.counters;
            }
        }
        for (stats, account) in all.iter_mut().zip(&accounts) {
            stats.used = Bytes(account.used());
            stats.penalty = lock(&account.measured).stats();
        }
        all
    }

    /// Chooses the keys of a tenant whose requests are reported; [`Filter::NONE`] at first.
    pub fn set_tap(&self, tenant: TenantId, filter: Filter) {
        for shard in &self.shards {
            shard.write_drained().contents_mut().tap.set_filter(tenant, filter);
        }
    }

    /// Switches the timing of fetches on or off; off at first.
    pub fn set_stopwatch(&self, on: bool) {
        let places = if on { (FETCHES_MAX / self.shards.len()).max(256) } else { 0 };
        for shard in &self.shards {
            shard.write_drained().contents_mut().stopwatch.set_places(places);
        }
    }

    /// Multiplies the weight of the fetches timed so far by `factor`, so that they fade.
    pub fn fade_penalties(&self, factor: f64) {
        for account in &lock(&self.admin).accounts {
            lock(&account.measured).fade(factor);
        }
    }

    /// Appends the samples since the last call to `samples`, in order of time. Returns the number
    /// of samples lost because the last call was too long ago.
    pub fn drain(&self, samples: &mut Vec<Sample>) -> u64 {
        let begin = samples.len();
        let lost = self
            .shards
            .iter()
            .map(|shard| shard.write_drained().contents_mut().tap.drain(samples))
            .sum();
        // Stable, so that requests to one key, all in one shard, keep their order.
        samples[begin..].sort_by_key(|sample| sample.time);
        lost
    }

    /// Bytes charged now: items, tables, and the fixed memory of the tenants in each shard.
    pub fn used(&self) -> Bytes {
        Bytes(self.budget.memory.used())
    }

    /// Bytes of the tables that find items and of the wheels that find expired ones; a part of
    /// [`Self::used`].
    pub fn table_bytes(&self) -> Bytes {
        let mut sum = 0;
        for shard in &self.shards {
            let shard = shard.write_drained();
            let tenants = shard.contents().tenants.iter();
            sum += tenants.map(|one| one.table.bytes() + one.wheel_bytes()).sum::<u64>();
        }
        Bytes(sum)
    }

    /// Most bytes that the store may use; 0 for no limit.
    pub fn limit(&self) -> Bytes {
        Bytes(self.budget.memory.limit())
    }
}

impl Store {
    /// Bytes and requests of a tenant's penalty classes; empty while no pool has a class.
    pub fn penalty_class_stats(&self, tenant: TenantId) -> Vec<PenaltyClassStats> {
        let (account, counts) = {
            let admin = lock(&self.admin);
            (admin.accounts.get(usize::from(tenant)).cloned(), admin.class_bytes > 0)
        };
        let Some(account) = account.filter(|_| counts) else { return vec![] };
        let mut all: Vec<_> = (0..=CLASSES)
            .map(|class| PenaltyClassStats { class, ..PenaltyClassStats::default() })
            .collect();
        for shard in &self.shards {
            let shard = shard.write_drained();
            let classes =
                shard.contents().tenants.get(usize::from(tenant)).and_then(|t| t.classes.as_ref());
            for (stats, count) in all.iter_mut().zip(classes.iter().flat_map(|c| &c.counts)) {
                stats.used += Bytes(count.used);
                stats.gets += count.gets;
                stats.misses += count.misses;
                stats.sets += count.sets;
            }
        }
        let measured = lock(&account.measured);
        for stats in &mut all {
            stats.penalty = measured.class_stats(stats.class);
        }
        all
    }
}

impl Store {
    /// The finished fetches of a tenant by the class of their time ([`base::penalty`]), where older
    /// ones count less; empty for an unknown number.
    pub fn fetch_times(&self, tenant: TenantId) -> Vec<f64> {
        let account = lock(&self.admin).accounts.get(usize::from(tenant)).cloned();
        let measured = account.map(|account| lock(&account.measured).by_class());
        measured.iter().flatten().map(|class| f64::from(class.count)).collect()
    }

    /// Large collections whose item was removed: the number still to be freed, which are charged
    /// until then, and the number freed since the last [`Self::forget_lazily_freed`]. A flush of
    /// everything frees the collections of items at once, and does not count them.
    pub fn lazily_freed(&self) -> (u64, u64) {
        let accounts = &lock(&self.admin).accounts;
        let all = accounts.iter().map(|account| account.trees_without_item());
        all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Counts the freed collections from 0 again.
    pub fn forget_lazily_freed(&self) {
        lock(&self.admin).accounts.iter().for_each(|account| account.forget_freed_trees());
    }

    /// Times that operations took to make room, since the store was created.
    pub fn pauses(&self) -> Pauses {
        let mut sum = Pauses::default();
        for shard in &self.shards {
            sum.merge(shard.write_drained().parts().1.pauses());
        }
        sum
    }

    /// Clears the list of long pauses.
    pub fn forget_spikes(&self) {
        for shard in &self.shards {
            shard.write_drained().parts().1.forget_spikes();
        }
    }
}

impl Store {
    /// Appends the evicted and expired items since the last call to `all`. Returns the number of
    /// removals lost because the last call was too long ago. Removals are kept from the first call
    /// on.
    pub fn take_removals(&self, all: &mut Vec<Removal>) -> u64 {
        let mut lost = 0;
        self.each_removals(|removals| {
            lost += std::mem::take(&mut removals.lost);
            all.append(removals.list.get_or_insert_default());
        });
        lost
    }

    /// Stops keeping removals.
    pub fn stop_removals(&self) {
        self.each_removals(|removals| (removals.list, removals.lost) = (None, 0));
    }

    /// Calls `listener` for every item of the present tenants that is removed from now on. The call
    /// is made once, during the removal, on the thread whose call removes the item, and under the
    /// lock of its shard. So the listener should be short, and must not call the store. Items
    /// removed by [`Store::flush`] are not reported, nor are values that grow by an append.
    pub fn listen(&self, listener: &Arc<RemovalListener>) {
        self.each_removals(|removals| removals.listener = Some(Arc::clone(listener)));
    }

    fn each_removals(&self, mut change: impl FnMut(&mut Removals)) {
        for shard in &self.shards {
            for (at, tenant) in shard.write_drained().contents_mut().tenants.iter_mut().enumerate()
            {
                let removals = tenant.removals.get_or_insert_default();
                removals.tenant = at as TenantId;
                change(removals);
                let is_idle = removals.listener.is_none() && removals.list.is_none();
                tenant.removals.take_if(|_| is_idle);
            }
        }
    }
}
