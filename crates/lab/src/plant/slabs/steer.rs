//! Readings of the plant for the pilot, and its response to a step.

use super::SlabPlant;
use super::plant::SizeClass;
use crate::plant::Counts;
use base::list::NIL;
use base::{Bytes, Filter, Micros, TenantId};
use tune::{Plant, Reading, SlabClass, Step, TenantReading};

/// Requests between two looks at the items that are evicted next.
const TAIL_EVERY: u64 = 1 << 14;

impl SlabPlant {
    /// Finds the tail of each class: a page's worth of items that are evicted next.
    fn mark_tails(&mut self) {
        self.tail_at = self.tick;
        for at in 0..self.classes.len() {
            let mut slot = self.classes[at].order.oldest();
            for _ in 1..self.per_page(at) {
                if slot == NIL {
                    break;
                }
                slot = self.links.newer(slot);
            }
            // A class with less than a page of items has no tail.
            self.classes[at].tail = if slot == NIL { 0 } else { self.items[slot as usize].last };
        }
    }

    fn slab_class(&self, at: usize) -> Option<SlabClass> {
        let of = &self.classes[at];
        let oldest = of.order.oldest();
        let tail_age = if oldest == NIL { 0 } else { self.tick - self.items[oldest as usize].last };
        let chunks = self.per_page(at) * of.pages.len();
        (of.counts.gets + of.counts.sets > 0).then(|| SlabClass {
            tenant: self.owner(at) as TenantId,
            class: (at % self.chunks.len()) as u8,
            page: Bytes(u64::from(self.slabs.page)),
            chunk: Bytes(u64::from(self.share(at))),
            pages: of.pages.len() as u64,
            free: (chunks - of.order.len()) as u64,
            evicted: of.evicted,
            tail_hits: of.tail_hits,
            tail_age,
            victims: of.victims,
        })
    }
}

impl SlabPlant {
    /// The classes that had any request.
    pub fn shown(&self) -> Vec<SlabClass> {
        (0..self.classes.len()).filter_map(|at| self.slab_class(at)).collect()
    }
}

impl Plant for SlabPlant {
    fn read(&mut self) -> Reading {
        if self.tick - self.tail_at >= TAIL_EVERY {
            self.mark_tails();
        }
        self.pretend();
        let page = u64::from(self.slabs.page);
        let part = |(of, class): (&SizeClass, u8)| {
            let used = Bytes(page * of.pages.len() as u64);
            let mean = of.counts.waited.as_f64() / of.counts.misses.max(1) as f64;
            of.counts.part(class, used, penalty(&of.counts, mean))
        };
        let classes = self.classes.chunks(self.chunks.len());
        let tenants = self.members.iter().zip(classes).enumerate();
        let tenants = tenants.map(|(id, (member, classes))| TenantReading {
            used: Bytes(page * member.pages),
            items: member.places.len() as u64,
            penalty: penalty(&member.counts, member.counts.mean_us() / member.counts.miss_ratio()),
            classes: classes.iter().zip(0..).map(part).collect(),
            ..member.bounds.reading(id, &member.counts)
        });
        let tenants = tenants.collect();
        let (samples, dropped) = self.samples.take();
        Reading {
            now: self.now,
            limit: Bytes(page * self.pages_max()),
            tenants,
            slabs: self.shown(),
            goals: self.goals.clone(),
            samples,
            dropped,
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        let page = f64::from(self.slabs.page);
        let is_full = self.pages_taken == self.pages_max();
        for class in &mut self.classes {
            (class.wanted, class.filter) = (None, Filter::NONE);
        }
        for pool in &step.pools {
            for tenant in &pool.tenants {
                let first = usize::from(*tenant) * self.chunks.len();
                let of = match pool.class {
                    Some(class) => first + usize::from(class)..first + usize::from(class) + 1,
                    None => first..first + self.chunks.len(),
                };
                for class in &mut self.classes[of] {
                    class.filter = pool.filter;
                    let budget = pool.budget.as_f64() / page;
                    class.wanted = pool.class.filter(|_| is_full).map(|_| budget);
                }
            }
        }
    }
}

/// A mean cost of misses in microseconds; `None` where no miss took any time.
fn penalty(counts: &Counts, mean_us: f64) -> Option<Micros> {
    (counts.waited > Micros(0)).then(|| Micros(mean_us.round() as u64))
}
