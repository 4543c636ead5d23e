//! Size classes as the pilot sees them: statistics, and moves of pages by a plan.

use crate::items::sizes::size_class::{Move, SizeClassStats};
use crate::items::table::item_table::SHARE;
use crate::room::balance::request_of;
use crate::room::room::Room;
use crate::shard::shard::Shard;
use crate::sync::shim::lock;
use crate::tenant::tenant::TenantShard;
use crate::{Now, Store};
use base::{Bytes, Sample, TenantId};
use std::sync::atomic::Ordering::Relaxed;

impl Store {
    /// Bytes of a page of most classes in one shard, the unit of moves.
    pub fn page(&self) -> Bytes {
        Bytes(self.sizes.page())
    }

    /// The class of an item charged `charge` bytes: its index in the result of
    /// [`Store::size_class_stats`].
    pub fn class_of(&self, charge: Bytes) -> usize {
        self.sizes.of_charge(charge.0)
    }

    /// Bytes that the item of a sample takes of a page that it shares with others. An item with a
    /// run of its own has its whole charge, and a sample without a size has 0.
    pub fn share_of(&self, sample: &Sample) -> u32 {
        let charge = u64::from(sample.size).saturating_sub(SHARE);
        if charge == 0 {
            return sample.size;
        }
        match self.sizes.of_charge(charge) {
            large if large == self.sizes.large() => charge as u32,
            class => self.sizes.share(class) as u32,
        }
    }

    /// Statistics of a tenant's classes, by size. For a class without recent evictions, a victim is
    /// chosen but not evicted.
    pub fn size_class_stats(&self, tenant: TenantId, now: Now) -> Vec<SizeClassStats> {
        let mut all = vec![SizeClassStats::default(); self.sizes.large() + 1];
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            let (contents, room) = shard.parts();
            for (class, stats) in all.iter_mut().enumerate() {
                let of = contents.tenants.get(usize::from(tenant));
                let Some(TenantShard { pages, .. }) = of else { return vec![] };
                if pages.held[class].items > 0 && pages.held[class].is_quiet() {
                    room.probe_victim(contents, tenant, class, now);
                }
                contents.tenant_mut(tenant).pages.report(class, stats);
            }
        }
        all
    }

    /// Replaces the moves still to be made. [`Store::sweep`] makes them.
    pub fn move_pages(&self, moves: &[Move]) {
        lock(&self.moves.0).0 = moves.to_vec();
    }

    /// Sets whether pages move to classes whose victims are worth more: by their ranks if ranks are
    /// a worth per byte, otherwise by their youth. If off, pages move only by
    /// [`Store::move_pages`]. On at first.
    pub fn balance_pages(&self, on: bool) {
        self.budget.balances.store(on, Relaxed);
    }

    /// Whether [`Store::balance_pages`] is on.
    pub fn balances(&self) -> bool {
        self.budget.balances.load(Relaxed)
    }

    /// The number of pages still to be moved.
    pub fn pages_to_move(&self) -> u64 {
        lock(&self.moves.0).0.iter().map(|step| step.pages).sum()
    }

    /// Moves a page, if there is a move to make and the shard has a page for it. Returns whether it
    /// did.
    pub(crate) fn move_page(&self, shard: &mut Shard, now: Now) -> bool {
        let (contents, room) = shard.parts();
        if self.balances() {
            return room.balance(contents, &self.around(), now);
        }
        let (moves, turn) = &mut *lock(&self.moves.0);
        if moves.is_empty() || room.at() != *turn % self.shards.len() {
            return false;
        }
        *turn += 1;
        let may_go = |step: &&mut Move| step.pages > 0 && Room::can_move(contents, step);
        let Some(step) = moves.iter_mut().find(may_go) else { return false };
        room.move_page(contents, &self.around(), step, &request_of(step, now));
        step.pages = step.pages.saturating_sub(self.sizes.page_of(step.to.class) / self.page().0);
        moves.retain(|step| step.pages > 0);
        true
    }
}
