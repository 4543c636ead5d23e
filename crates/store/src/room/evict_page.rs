//! Eviction of a page, or of a large item, for memory that another class or tenant gets.
//!
//! The page comes from the pool that is to give, and there from the class whose victims are worth
//! least. Its items move to free chunks of their class, or are evicted.

use crate::Now;
use crate::bytes::freed::Freed;
use crate::contents::contents::Contents;
use crate::contents::contents::ShardClock;
use crate::items::sizes::size_class::SizeClass;
use crate::items::table::bucket::address_of;
use crate::room::expire::expire;
use crate::room::room::{Room, TreeTurn};
use crate::tenant::tenant::TenantShard;
use crate::victims::budget::RoomRequest;
use base::TenantId;

/// Pages of a class that are compared to find the one with the fewest items.
const PAGES_TRIED: u64 = 8;
/// Most tenants of a pool that are considered for losing a page.
const DONORS: usize = 16;

/// Whether a tenant's own items may be evicted for its writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FloorRule {
    /// Only while the tenant has more than its min.
    IfAboveMin,
    /// Always, because no other tenant has anything to give.
    InAnyCase,
}

impl Room {
    /// Evicts a page or a large item, or a collection if no page may be evicted. Items that are due
    /// to expire come first. Nothing is free afterwards if nothing here may be evicted.
    pub(crate) fn evict_page(&mut self, contents: &mut Contents, want: &RoomRequest) -> Freed {
        let freed = expire(contents, want);
        if !freed.is_nothing() {
            return freed;
        }
        let first = self.pools.first(&mut self.order, want);
        let freed = self.evict_page_of(contents, first, want, FloorRule::IfAboveMin);
        if !freed.is_nothing() {
            return freed;
        }
        // Nothing of that pool may be evicted here.
        let all = self.pools.all_in_order(want);
        let others = all.iter().filter(|&&pool| pool != first);
        let mut others = others.map(|&pool| (pool, FloorRule::IfAboveMin)).collect::<Vec<_>>();
        others.extend(all.iter().map(|&pool| (pool, FloorRule::InAnyCase)));
        let mut freed =
            others.into_iter().map(|(pool, own)| self.evict_page_of(contents, pool, want, own));
        match freed.find(|freed| !freed.is_nothing()) {
            Some(freed) => freed,
            None => self.evict_tree(contents, want, TreeTurn::Always),
        }
    }

    /// Evicts a page or a large item of a pool's tenants, from the class whose memory is worth
    /// least. So large items compete with all small ones.
    fn evict_page_of(
        &mut self,
        contents: &mut Contents,
        pool: usize,
        want: &RoomRequest,
        own: FloorRule,
    ) -> Freed {
        let mut donors = self.donors(contents, pool, want, own);
        while !donors.is_empty() {
            let from = donors.swap_remove(self.least(contents, &donors, want.now));
            let mut freed = self.shrink_by_a_page(contents, from, want);
            freed += self.take_page(contents, from, want);
            if !freed.is_nothing() {
                return freed;
            }
        }
        Freed::NOTHING
    }

    /// The index of the class whose memory is worth least. For a quiet class a victim is chosen to
    /// find out.
    fn least(&mut self, contents: &mut Contents, donors: &[SizeClass], now: Now) -> usize {
        let mut least = (f64::INFINITY, 0);
        for (at, &of) in donors.iter().enumerate() {
            if contents.tenant_mut(of.tenant).pages.is_quiet(of.class) {
                self.probe_victim(contents, of.tenant, of.class, now);
            }
            let loss = self.class_state(contents, of, false).loss();
            if loss < least.0 {
                least = (loss, at);
            }
        }
        least.1
    }

    /// The classes of a pool's tenants that may lose a page. With many tenants, only some are
    /// considered.
    fn donors(
        &mut self,
        contents: &mut Contents,
        pool: usize,
        want: &RoomRequest,
        own: FloorRule,
    ) -> Vec<SizeClass> {
        let pools = &self.pools;
        let Contents { tenants, clock: ShardClock { prng, .. }, .. } = contents;
        let may_lose = |tenant: TenantId| {
            let TenantShard { account, pages, .. } = &tenants[usize::from(tenant)];
            let is_loose = match want.tenant {
                Some(writer) if writer == tenant => {
                    want.own || own == FloorRule::InAnyCase || !account.is_below_min(0)
                }
                _ => !want.own && account.loose() >= pages.classes().page(),
            };
            is_loose && pages.with_pages().next().is_some()
        };
        let mut donors = vec![];
        for tenant in pools.drawn_from(pool, prng).filter(|&tenant| may_lose(tenant)).take(DONORS) {
            let TenantShard { pages, trees, .. } = &tenants[usize::from(tenant)];
            // If collections hold most of the memory, pages of small items are kept. Clearing one
            // would evict hot items too, and free little of the collections' memory.
            let are_trees = trees.bytes() > pages.bytes();
            let may_go = |class: &usize| !are_trees || !pages.classes().is_small(*class);
            let classes = pages.with_pages().filter(may_go);
            donors.extend(classes.map(|class| SizeClass { tenant, class }));
        }
        donors
    }

    /// Takes a page or a large item from a class, if one may be taken.
    pub(crate) fn take_page(
        &mut self,
        contents: &mut Contents,
        of: SizeClass,
        want: &RoomRequest,
    ) -> Freed {
        let Some(index) = self.victim_page(contents, of, want) else { return Freed::NOTHING };
        let TenantShard { pages, account, .. } = contents.tenant(of.tenant);
        if !pages.may_go(of.class, index, self.evictable) {
            return Freed::NOTHING;
        }
        let bytes = pages.bytes_of(of.class, index);
        let is_own = want.tenant == Some(of.tenant);
        let page = if is_own { Some(account.release(bytes)) } else { account.try_release(bytes) };
        // Otherwise other shards have taken the bytes that it could spare.
        let Some(mut freed) = page else { return Freed::NOTHING };
        freed += self.clear(contents, of, index, want.now);
        let released = contents.tenant_mut(of.tenant).pages.release(of.class, index);
        debug_assert_eq!(released, bytes, "a page keeps its length");
        freed
    }

    /// The page of a class to evict: of some pages the one with the fewest items; for large items
    /// the one that is worth least.
    fn victim_page(
        &mut self,
        contents: &mut Contents,
        of: SizeClass,
        want: &RoomRequest,
    ) -> Option<usize> {
        let Contents { tenants, clock: ShardClock { prng, .. }, .. } = contents;
        let pages = &tenants[usize::from(of.tenant)].pages;
        if of.class != pages.classes().large() {
            return pages.emptiest(of.class, PAGES_TRIED, address_of(want.pinned), prng);
        }
        let chosen = self.choose(contents, of.tenant, of.class, want)?;
        // A dead item is worth nothing.
        self.note_worth(contents, of.tenant, of.class, &chosen);
        Some(chosen.page)
    }

    /// Clears a page of its items. An item moves to a free chunk of its class if there is one, and
    /// is evicted otherwise.
    fn clear(&mut self, contents: &mut Contents, of: SizeClass, index: usize, now: Now) -> Freed {
        let (at, class, seed) = (of.tenant, of.class, contents.seed());
        let mut freed = Freed::NOTHING;
        contents.tenant_mut(at).pages.close(class, index);
        for slot in 0..contents.tenant(at).pages.classes().slots(class) {
            let tenant = contents.tenant_mut(at);
            let met = tenant.pages.met(class, index, slot, seed, now.unix_ms);
            let Some(chosen) = met else { continue };
            if !chosen.is_dead && tenant.pages.takes_another(class) {
                tenant.moves(class, index, &chosen);
            } else {
                freed += self.evict(contents, at, class, &chosen);
                contents.tenant_mut(at).pages.close(class, index);
            }
        }
        freed
    }
}
