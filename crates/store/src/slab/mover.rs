//! Pages on their way between classes: moved as told, one at a time, never chosen here.
//!
//! A plan names the classes and how many pages. The sweep carries it out, a page for each shard
//! that it comes by: the page's items move to free chunks of their class or leave, and the page is
//! cut anew. Between tenants pages move by themselves, when budgets change and a tenant writes.

use super::Slabs;
use crate::evict::Want;
use crate::shard::Shard;
use crate::store::lock;
use crate::sync::Mutex;
use crate::{Now, Store};
use base::{Bytes, TenantId};
use policy::rank::Victims;

/// A plan to move pages from one class of a tenant to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Whose.
    pub tenant: TenantId,
    /// The class that loses them.
    pub from: usize,
    /// The class that gets them.
    pub to: usize,
    /// Pages of single shards.
    pub pages: u64,
}

/// A class of a tenant, over all shards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SizeClassStats {
    /// Bytes of a chunk; 0 for the last class, that of items with pages to themselves.
    pub chunk: Bytes,
    /// Pages of single shards.
    pub pages: u64,
    /// Bytes charged for them.
    pub bytes: Bytes,
    /// Items.
    pub items: u64,
    /// Chunks without one.
    pub free: u64,
    /// Items that left to make room.
    pub evicted: u64,
    /// The ranks of what left lately, or would leave: hit densities where the rank is LHD's.
    pub victims: Victims,
}

/// What is still to be moved.
#[derive(Debug, Default)]
pub(crate) struct Moves(Mutex<Vec<Move>>);

impl Store {
    /// Bytes of a page of one shard; 0 in the heap layout.
    pub fn page(&self) -> Bytes {
        Bytes(self.slab.as_ref().map_or(0, |(_, classes)| classes.page()))
    }

    /// The class of an item of which `charge` bytes are charged: its index in what
    /// [`Store::classes`] tells. 0 in the heap layout.
    pub fn class_of(&self, charge: Bytes) -> usize {
        self.slab.as_ref().map_or(0, |(_, classes)| classes.of_charge(charge.0))
    }

    /// The classes of a tenant in the slab layout, by size; none in the heap layout. Classes in
    /// which nothing left of late tell what would leave.
    pub fn classes(&self, tenant: TenantId, now: Now) -> Vec<SizeClassStats> {
        let Some((_, classes)) = &self.slab else { return vec![] };
        let mut all = vec![SizeClassStats::default(); classes.large() + 1];
        for shard in &self.shards {
            let mut shard = lock(&shard.0);
            let at = usize::from(tenant);
            for (class, stats) in all.iter_mut().enumerate() {
                let slabs = shard.tenants.get(at).and_then(|tenant| tenant.slabs.as_ref());
                let Some(held) = slabs.map(|slabs| &slabs.held[class]) else { return vec![] };
                if held.items > 0 && held.is_quiet() {
                    shard.pretend(tenant, class, now);
                }
                shard.tenants[at].pages().tell(class, stats);
            }
        }
        all
    }

    /// Replaces what is still to be moved. [`Store::sweep`] moves it.
    pub fn move_pages(&self, moves: &[Move]) {
        *lock(&self.moves.0) = moves.to_vec();
    }

    /// How many pages are still to be moved.
    pub fn pages_to_move(&self) -> u64 {
        lock(&self.moves.0).iter().map(|step| step.pages).sum()
    }

    /// Moves a page, if one is to be moved and the shard has one. Whether it did.
    pub(crate) fn move_page(&self, shard: &mut Shard, now: Now) -> bool {
        if self.slab.is_none() {
            return false;
        }
        let mut moves = lock(&self.moves.0);
        let Some(step) = moves.iter_mut().find(|step| step.pages > 0 && shard.can_move(step))
        else {
            return false;
        };
        shard.move_page(self, step, now);
        step.pages -= 1;
        moves.retain(|step| step.pages > 0);
        true
    }
}

impl super::Class {
    /// Whether nothing left since it was told of.
    const fn is_quiet(&self) -> bool {
        self.evicted == self.told
    }
}

impl Slabs {
    fn tell(&mut self, class: usize, stats: &mut SizeClassStats) {
        let held = &mut self.held[class];
        held.told = held.evicted;
        let slots = u64::from(self.classes.slots(class)) * held.pages.len() as u64;
        stats.chunk = Bytes(self.classes.chunk(class));
        stats.pages += held.pages.len() as u64;
        stats.bytes += Bytes(held.bytes);
        stats.items += held.items;
        stats.free += slots - held.items;
        stats.evicted += held.evicted;
        let (all, here) = (&mut stats.victims, held.victims);
        all.count += here.count;
        if all.count > 0 {
            let weight = here.count as f64 / all.count as f64;
            all.density += weight * (here.density - all.density);
        }
    }
}

impl Shard {
    /// A class keeps a page, or a burst of its size would find none.
    fn can_move(&self, step: &Move) -> bool {
        let tenant = self.tenants.get(usize::from(step.tenant));
        tenant.and_then(|tenant| tenant.slabs.as_ref()).is_some_and(|slabs| {
            step.from.max(step.to) < slabs.held.len()
                && step.from != step.to
                && slabs.held[step.from].bytes > slabs.classes.page()
        })
    }

    fn move_page(&mut self, store: &Store, step: &Move, now: Now) {
        let Move { tenant: at, from, to, .. } = *step;
        let want = Want { tenant: Some(at), own: true, spare: 0, now };
        let page = store.page().0;
        let mut freed = 0;
        while freed < page {
            match self.take_from(at, from, &want) {
                0 => break,
                bytes => freed += bytes,
            }
        }
        let tenant = &mut self.tenants[usize::from(at)];
        let Some(slabs) = &mut tenant.slabs else { return };
        // The class of what is large has no pages in store: it takes free memory.
        if to < slabs.classes.large() && freed >= page && tenant.account.try_take(page) {
            if slabs.add_page(to, page) {
                freed -= page;
            } else {
                tenant.account.give(page);
            }
        }
        store.memory.give(freed);
    }
}
