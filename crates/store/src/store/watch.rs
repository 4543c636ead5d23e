//! Learning from watched keys: when, and in which memory. `learning/watching.rs` explains it.

use crate::bytes::freed::Freed;
use crate::learning::watching::{LOOKS_APART, PART, costs, options};
use crate::store::store::Admin;
use crate::sync::shim::lock;
use crate::victims::budget::RoomRequest;
use crate::{Now, Store};
use base::Micros;
use policy::rank::gittins::{Indices, Memory, TENANTS};
use std::sync::Arc;

/// Most pages per shard that are evicted for lessons.
const PAGES_FOR_LESSONS: usize = 64;

/// Evictions are near when less than this part of the limit is free.
const NEAR: u64 = 8;

impl Store {
    /// Sets the weight of each tenant's waiting time, by its number; 1 if the list is shorter. A
    /// rank that depends on the cost of misses multiplies it by the weight.
    pub fn set_prices(&self, prices: &[f32]) {
        let mut admin = lock(&self.admin);
        if admin.prices == prices {
            return;
        }
        admin.prices = prices.to_vec();
        let Admin { watching: Some(watching), accounts, prices, .. } = &mut *admin else { return };
        let costs = costs(&watching.learner, accounts, prices);
        watching.indices = Arc::new(watching.indices.with_costs(&costs));
        self.publish(&mut admin);
    }

    /// Takes the queues of the taps, and computes new indices when it is time.
    pub(crate) fn watch(&self, now: Now) {
        let mut admin = lock(&self.admin);
        let Admin { watching: Some(watching), accounts, prices, .. } = &mut *admin else { return };
        let (mut tick, mut requests) = (0, 0);
        watching.learner.set_tenants(accounts.len());
        let mut queue = std::mem::take(&mut watching.queue);
        for shard in &self.shards {
            queue.clear();
            let mut shard = shard.write_drained();
            tick = tick.max(shard.contents().clock.tick);
            shard.contents_mut().tap.exchange_watched(&mut queue);
            drop(shard);
            requests += queue.len();
            watching.take(&queue);
        }
        watching.queue = queue;
        watching.pace.note(requests, watching.learner.watched(), now.micros);
        let part = self.budget.memory.limit() / PART;
        let narrower = watching.narrow(part);
        let since = now.micros.saturating_sub(watching.looked);
        let apart = Micros(LOOKS_APART.0 * accounts.len().min(TENANTS) as u64);
        // Without a clock, time does not count.
        let is_time = since >= apart || since == Micros(0);
        let is_due = is_time && watching.learner.is_due(tick, 1);
        if !narrower && !is_due {
            return;
        }
        // Reading the counts of many tenants takes a while, so it comes last.
        let (items, evicted) =
            if is_due { self.items_by_shard(accounts.len()) } else { (vec![], 0) };
        let by_shard: usize = items.iter().sum();
        if by_shard > 0 {
            watching.looked = now.micros;
            watching.learner.set_options(options(self.budget.memory.limit(), accounts.len()));
            let table = watching.learner.learn(tick, by_shard, evicted);
            let costs = costs(&watching.learner, accounts, prices);
            let used: u64 = accounts.iter().map(|account| account.used()).sum();
            let mean_size = used as f32 / (by_shard * self.shards.len()) as f32;
            watching.indices = Arc::new(Indices::new(table, &items, mean_size, &costs));
            self.size_ghosts(part / self.shards.len() as u64, now);
        }
        self.charge_watching(&mut admin, now);
        self.publish(&mut admin);
    }

    /// Mean number of items of each tenant per shard, and mean number of evictions per shard so
    /// far.
    pub(crate) fn items_by_shard(&self, tenants: usize) -> (Vec<usize>, u64) {
        let (mut items, mut evicted) = (vec![0; tenants], 0);
        for shard in &self.shards {
            for (items, tenant) in items.iter_mut().zip(&shard.write_drained().contents().tenants) {
                *items += tenant.table.len();
                evicted += tenant.counters.evicted;
            }
        }
        for items in &mut items {
            *items /= self.shards.len();
        }
        (items, evicted / self.shards.len() as u64)
    }

    /// Charges the current memory of watching.
    pub(crate) fn charge_watching(&self, admin: &mut Admin, now: Now) {
        if let Some(watching) = &mut admin.watching {
            let bytes = (watching.learner.bytes() + 2 * watching.indices.bytes()) as u64;
            let bytes = self.charged_for_lessons(bytes);
            self.take_for_lessons(bytes.saturating_sub(watching.bytes), now);
            self.budget.memory.give(watching.bytes.saturating_sub(bytes));
            watching.bytes = bytes;
        }
    }

    /// Takes `bytes` bytes, and evicts items for them if memory is full.
    pub(crate) fn take_for_lessons(&self, bytes: u64, now: Now) {
        let mut credit = Freed::NOTHING;
        for shard in self.shards.iter().cycle().take(PAGES_FOR_LESSONS * self.shards.len()) {
            let short = bytes.saturating_sub(credit.bytes());
            if short == 0 || self.budget.memory.try_take(short) {
                self.budget.memory.take_back(credit.without(bytes));
                return;
            }
            // Evicted bytes stay taken, and become this memory.
            let want = RoomRequest { tenant: None, own: false, pinned: 0, now };
            let mut shard = shard.write_drained();
            let (contents, room) = shard.parts();
            credit += room.evict_page(contents, &want);
        }
        self.budget.memory.take(bytes.saturating_sub(credit.bytes()));
        self.budget.memory.take_back(credit.without(bytes));
    }

    /// Adjusts the number of evicted keys that each shard remembers: as many as it has items, at
    /// most as many as fit in `bytes_max`, and none before evictions are near. During a restore,
    /// the number of the earlier run stays.
    fn size_ghosts(&self, bytes_max: u64, now: Now) {
        let memory = &self.budget.memory;
        let is_near = memory.used() >= memory.limit() - memory.limit() / NEAR;
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            let contents = shard.contents_mut();
            if contents.is_restoring() {
                continue;
            }
            let has_evicted = contents.tenants.iter().any(|tenant| tenant.counters.evicted > 0);
            let items = contents.tenants.iter().map(|tenant| tenant.table.len()).sum::<usize>();
            let is_needed = is_near || has_evicted;
            let keys = if is_needed { items.min(bytes_max as usize / Memory::ENTRY) } else { 0 };
            let ghosts = contents.ghosts.get_or_insert_default();
            ghosts.memory.resize(keys);
            let bytes = ghosts.memory.bytes() as u64;
            let before = std::mem::replace(&mut ghosts.bytes, bytes);
            drop(shard);
            self.take_for_lessons(bytes.saturating_sub(before), now);
            self.budget.memory.give(before.saturating_sub(bytes));
        }
    }

    /// Drops the evicted keys of all shards.
    pub(crate) fn forget_ghosts(&self) {
        for shard in &self.shards {
            let ghosts = shard.write_drained().contents_mut().ghosts.take();
            self.budget.memory.give(ghosts.map_or(0, |ghosts| ghosts.bytes));
        }
    }
}
