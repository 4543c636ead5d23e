//! Eviction of a page, or of a large item, for memory that another class or tenant gets.
//!
//! The page comes from the pool that is to give, and there from the class whose victims are worth
//! least. Its items move to free chunks of their class, or are evicted.

use crate::Now;
use crate::contents::tenant::TenantShard;
use crate::items::pages::size_class::SizeClass;
use crate::items::table::bucket::address_of;
use crate::room::budget::RoomRequest;
use crate::room::evict_tree::TreeTurn;
use crate::shard::shard::Shard;
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

impl Shard {
    /// Evicts a page or a large item, or a collection if no page may be evicted. Items that are due
    /// to expire come first. Returns the bytes that are free now, which stay reserved in the
    /// store's memory for the caller; 0 if nothing here may be evicted.
    pub(crate) fn evict_page(&mut self, want: &RoomRequest) -> u64 {
        let freed = self.expire(want);
        if freed > 0 {
            return freed;
        }
        let first = self.pools.first(&mut self.order, want);
        let freed = self.evict_page_of(first, want, FloorRule::IfAboveMin);
        if freed > 0 {
            return freed;
        }
        // Nothing of that pool may be evicted here.
        let all = self.pools.all_in_order(want);
        let others = all.iter().filter(|&&pool| pool != first);
        let mut others = others.map(|&pool| (pool, FloorRule::IfAboveMin)).collect::<Vec<_>>();
        others.extend(all.iter().map(|&pool| (pool, FloorRule::InAnyCase)));
        let mut freed = others.into_iter().map(|(pool, own)| self.evict_page_of(pool, want, own));
        match freed.find(|&freed| freed > 0) {
            Some(freed) => freed,
            None => self.evict_tree(want, TreeTurn::Always),
        }
    }

    /// Evicts a page or a large item of a pool's tenants, from the class whose memory is worth
    /// least. So large items compete with all small ones.
    fn evict_page_of(&mut self, pool: usize, want: &RoomRequest, own: FloorRule) -> u64 {
        let mut donors = self.donors(pool, want, own);
        while !donors.is_empty() {
            let from = donors.swap_remove(self.least(&donors, want.now));
            let buckets = self.shrink_by_a_page(from, want);
            let freed = buckets + self.take_page(from, want);
            if freed > 0 {
                return freed;
            }
        }
        0
    }

    /// The index of the class whose memory is worth least. For a quiet class a victim is chosen to
    /// find out.
    fn least(&mut self, donors: &[SizeClass], now: Now) -> usize {
        let mut least = (f64::INFINITY, 0);
        for (at, &of) in donors.iter().enumerate() {
            if self.tenants[usize::from(of.tenant)].pages.is_quiet(of.class) {
                self.probe_victim(of.tenant, of.class, now);
            }
            let loss = self.class_state(of, false).loss();
            if loss < least.0 {
                least = (loss, at);
            }
        }
        least.1
    }

    /// The classes of a pool's tenants that may lose a page. With many tenants, only some are
    /// considered.
    fn donors(&mut self, pool: usize, want: &RoomRequest, own: FloorRule) -> Vec<SizeClass> {
        let Self { pools, tenants, prng, .. } = self;
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

    /// Takes a page or a large item from a class. Returns the bytes that are free now, 0 for none.
    pub(crate) fn take_page(&mut self, of: SizeClass, want: &RoomRequest) -> u64 {
        let Some(index) = self.victim_page(of, want) else { return 0 };
        let tenant = &self.tenants[usize::from(of.tenant)];
        if !tenant.pages.may_go(of.class, index, self.evictable) {
            return 0;
        }
        let bytes = tenant.pages.bytes_of(of.class, index);
        if want.tenant == Some(of.tenant) {
            tenant.account.give(bytes);
        } else if !tenant.account.try_give(bytes) {
            // Other shards have taken the bytes that it could spare.
            return 0;
        }
        let buckets = self.clear(of, index, want.now);
        let tenant = &mut self.tenants[usize::from(of.tenant)];
        tenant.account.give(buckets);
        buckets + tenant.pages.release(of.class, index)
    }

    /// The page of a class to evict: of some pages the one with the fewest items; for large items
    /// the one that is worth least.
    fn victim_page(&mut self, of: SizeClass, want: &RoomRequest) -> Option<usize> {
        let pages = &self.tenants[usize::from(of.tenant)].pages;
        if of.class != pages.classes().large() {
            return pages.emptiest(of.class, PAGES_TRIED, address_of(want.pinned), &mut self.prng);
        }
        let chosen = self.choose(of.tenant, of.class, want)?;
        // A dead item is worth nothing.
        self.note_worth(of.tenant, of.class, &chosen);
        Some(chosen.page)
    }

    /// Clears a page of its items. An item moves to a free chunk of its class if there is one, and
    /// is evicted otherwise. Returns the bytes of buckets that are free now.
    fn clear(&mut self, of: SizeClass, index: usize, now: Now) -> u64 {
        let (at, class) = (usize::from(of.tenant), of.class);
        let mut bytes = 0;
        self.tenants[at].pages.close(class, index);
        for slot in 0..self.tenants[at].pages.classes().slots(class) {
            let pages = &self.tenants[at].pages;
            let met = pages.met(class, index, slot, self.seed, now.unix_ms);
            let Some(chosen) = met else { continue };
            if !chosen.is_dead && pages.takes_another(class) {
                self.tenants[at].moves(class, index, &chosen);
            } else {
                bytes += self.evict(of.tenant, class, &chosen);
                self.tenants[at].pages.close(class, index);
            }
        }
        bytes
    }
}
