//! Learning from lifetimes: when, and from which counts. `learning/lifetimes.rs` explains it.

use crate::Store;
use crate::contents::contents::Contents;
use crate::contents::contents::ShardClock;
use crate::learning::lifetimes::Lifetimes;
use crate::learning::watching::Watching;
use crate::store::store::Admin;
use crate::sync::shim::lock;
use base::{Filter, TenantId, Tick};
use policy::rank::{Learnt, Lessons};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Items drawn in a shard for the lifetimes that still last.
const DRAWS: usize = 512;

/// Most bytes charged for lessons, as a divisor of the limit.
const LESSONS_PART: u64 = 32;

impl Store {
    /// Sets whether the results of learning from watched keys are kept while no pool's rank uses
    /// them.
    pub fn keep_lessons(&self, keeps: bool) {
        lock(&self.admin).keeps_lessons = keeps;
    }

    /// Begins to learn if a pool's rank learns. Drops the results when no rank does any more,
    /// unless lessons are kept for a rank that may return.
    pub(crate) fn switch_lessons(&self, admin: &mut Admin) {
        let learns = |from| admin.pools.iter().any(|pool| pool.evictor.rank.learns() == Some(from));
        let (lifetimes, watched) = (learns(Lessons::Lifetimes), learns(Lessons::Watched));
        let tenants = admin.accounts.len();
        if admin.lifetimes.as_ref().is_some_and(|known| !lifetimes || known.tenants != tenants) {
            let known = admin.lifetimes.take();
            self.budget.memory.give(known.map_or(0, |known| known.bytes));
            self.shards.iter().for_each(|shard| shard.write_drained().contents_mut().lives = None);
        }
        if lifetimes && admin.lifetimes.is_none() {
            let mut known = Lifetimes::new(tenants, self.shards[0].count());
            known.bytes = self.charged_for_lessons(known.bytes);
            self.budget.memory.take(known.bytes);
            admin.lifetimes = Some(known);
        }
        let watched = watched || admin.keeps_lessons;
        if admin.watching.is_some() && !watched {
            let known = admin.watching.take();
            self.budget.memory.give(known.map_or(0, |known| known.bytes()));
            self.forget_ghosts();
        }
        if learns(Lessons::Watched) && admin.watching.is_none() {
            admin.watching = Some(Watching::new(tenants));
        }
        self.learns.store(lifetimes || watched, Relaxed);
    }

    /// Bytes charged for lessons of `bytes` bytes: in a small cache at most a part of the limit.
    /// The rest counts as the process's own memory, like its code.
    pub(crate) fn charged_for_lessons(&self, bytes: u64) -> u64 {
        match self.budget.memory.limit() {
            0 => bytes,
            limit => bytes.min(limit / LESSONS_PART),
        }
    }

    /// The ranks learnt so far.
    pub(crate) fn learnt(admin: &Admin) -> Learnt {
        Learnt {
            lifetimes: admin.lifetimes.as_ref().map(|known| Arc::clone(&known.ranks)),
            watched: admin.watching.as_ref().map(Watching::indices),
        }
    }

    /// Prepares the contents of a shard for the ranks that learn.
    pub(crate) fn teach(admin: &Admin, contents: &mut Contents) {
        contents.renews = admin.pools.iter().any(|pool| pool.evictor.rank.is_of_writes());
        contents.lessons = None;
        match &admin.lifetimes {
            None => contents.lives = None,
            Some(known) => {
                contents.lives.get_or_insert_with(|| known.lives());
                contents.lessons = Some(Lessons::Lifetimes);
            }
        }
        let watch = admin.watching.as_ref().map_or(Filter::NONE, Watching::filter);
        contents.tap.set_watch(watch, admin.accounts.len());
        if admin.watching.is_some() {
            contents.lessons = Some(Lessons::Watched);
        }
    }

    /// Learns, if it is time to.
    pub(crate) fn learn(&self) {
        let mut admin = lock(&self.admin);
        let Some(lessons) = &mut admin.lifetimes else { return };
        let requests =
            self.shards.iter().map(|shard| shard.write_drained().contents().clock.tick).sum();
        if !lessons.learner.is_time(requests) {
            return;
        }
        let (mut evictions, mut items) = (0, 0);
        for shard in &self.shards {
            let shard = shard.write_drained();
            for tenant in &shard.contents().tenants {
                evictions += tenant.counters.evicted;
                items += tenant.table.len();
            }
        }
        if !lessons.learner.is_due(requests, evictions, items as u64) {
            return;
        }
        let mut lasting = vec![];
        // Bytes of explorers, and of all drawn items.
        let (mut explorers, mut bytes) = (0.0, 0.0);
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            let Contents { tenants, clock: ShardClock { tick, prng, .. }, .. } =
                shard.contents_mut();
            for (at, tenant) in tenants.iter_mut().enumerate() {
                // The known worth of victims depends on the ranks that are replaced now.
                tenant.pages.forget_victims();
                let first = lasting.len();
                let len = tenant.table.len();
                let (mut spared, mut drawn) = (0, 0);
                for _ in 0..if len > 0 { DRAWS.min(2 * len) } else { 0 } {
                    let (place, word) = tenant.table.draw(prng);
                    if word != 0 {
                        let item = tenant.table.get(place);
                        let stamps = item.stamps();
                        let (class, age) = (stamps.hit_class(), stamps.age(*tick));
                        let charge = tenant.charge_of(item);
                        drawn += charge;
                        if lessons.ranks.explores(age.into(), Tick(*tick)) {
                            spared += charge;
                        }
                        lasting.push((at as TenantId, class, age, 0.0));
                    }
                }
                let weight = len as f32 / (lasting.len() - first) as f32;
                for lasts in &mut lasting[first..] {
                    lasts.3 = weight;
                }
                if drawn > 0 {
                    bytes += f64::from(weight) * drawn as f64;
                    explorers += f64::from(weight) * spared as f64;
                }
            }
        }
        lessons.lived.iter().for_each(|lived| lessons.learner.take(lived));
        let by_shard = items / self.shards.len();
        let share = if bytes > 0.0 { explorers / bytes } else { 0.0 };
        lessons.ranks = Arc::new(lessons.learner.learn(requests, &lasting, by_shard, share));
        self.publish(&mut admin);
    }
}
