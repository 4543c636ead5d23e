//! Eviction of collections.
//!
//! For the pages, a collection is one of the smallest items. So when memory is needed, trees are
//! evicted in proportion to their share of it. Of some trees drawn at random, the one whose item
//! has the lowest rank is evicted; the rank counts all of its bytes.

use crate::bytes::freed::Freed;
use crate::contents::contents::Contents;
use crate::contents::contents::ShardClock;
use crate::items::item::Ref;
use crate::items::table::item_table::Slot;
use crate::items::trees::tree::Tree;
use crate::items::trees::trees::{has_tree, number};
use crate::learning::exit::Exit;
use crate::room::room::{Room, TreeTurn};
use crate::tenant::tenant::TenantShard;
use crate::victims::budget::RoomRequest;
use base::{TenantId, Tick};

impl Room {
    /// Evicts a collection of the pool that gives first, if one should be evicted.
    pub(crate) fn evict_tree(
        &mut self,
        contents: &mut Contents,
        want: &RoomRequest,
        often: TreeTurn,
    ) -> Freed {
        if !contents.has_trees() {
            return Freed::NOTHING;
        }
        let pool = self.pools.first(&mut self.order, want);
        match self.choose_tree(contents, pool, want, often) {
            Some((at, place)) => {
                let mut freed = contents.take_out(at, place, Exit::Evicted);
                freed += contents.free_leaves(want.own_tenant());
                freed
            }
            None => Freed::NOTHING,
        }
    }

    /// The collection of a pool to evict, if any.
    fn choose_tree(
        &mut self,
        contents: &mut Contents,
        pool: usize,
        want: &RoomRequest,
        often: TreeTurn,
    ) -> Option<(TenantId, Slot)> {
        let Self { pools, evictable, .. } = self;
        let Contents { tenants, clock: ShardClock { tick, prng, .. }, .. } = contents;
        let may_lose = |&tenant: &TenantId| {
            let TenantShard { account, trees, .. } = &tenants[usize::from(tenant)];
            let is_own = want.tenant == Some(tenant);
            let own = is_own && (want.own || !account.is_below_min(0));
            trees.held > 0 && (own || !is_own && !want.own && account.loose() > 0)
        };
        let at = pools.drawn_from(pool, prng).find(may_lose)?;
        let TenantShard { table, trees, pages, account, .. } = &tenants[usize::from(at)];
        let evictor = pools.evictor(at);
        if often == TreeTurn::ByShare && prng.below(trees.held + pages.bytes()) >= trees.held {
            return None;
        }
        let mut lowest: Option<(f32, Slot)> = None;
        for _ in 0..usize::from(evictor.k) << u32::from(evictor.pool) {
            let Some((number, hash)) = trees.draw(prng) else { continue };
            let is_it =
                |item: Ref<'_>| has_tree(item.kind()) && self::number(item.value()) == number;
            let Some(place) = table.find_beside(hash, is_it) else { continue };
            let (item, bytes) = (table.get(place), trees.get(number).map_or(0, Tree::bytes));
            let is_kept = want.tenant != Some(at) && account.loose() < bytes;
            if is_kept || evictable.spare(item.expires()) || table.word(place) == want.pinned {
                continue;
            }
            let (stamps, size) = (item.stamps(), u32::try_from(bytes).unwrap_or(u32::MAX));
            let (class, meta) = (stamps.hit_class(), stamps.meta(size, *tick));
            let rank = evictor.rank.rank_in(at, class, &meta, Tick(*tick));
            if lowest.is_none_or(|(least, _)| rank < least) {
                lowest = Some((rank, place));
            }
        }
        lowest.map(|(_, place)| (at, place))
    }
}
