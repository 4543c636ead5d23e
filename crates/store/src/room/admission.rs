//! Decides whether a large new value is worth the items that would be evicted for it.
//!
//! A write that needs much memory evicts many items before it is itself a candidate for eviction.
//! So if memory is full and the rank supports it, some items are drawn. The value is admitted only
//! if the items that are worth less per byte hold as much memory as it needs
//! (`policy::rank::gittins`). A declined value is remembered like an item that was evicted at once:
//! it may be admitted when it is written again.
//!
//! Only a caller that allows it may be declined ([`Key::may_be_declined`]). A caller that states a
//! condition, or waits for an answer, relies on the write. A value whose key exists is always
//! written, because the old value would be read otherwise. A tenant below its min takes its memory.

use crate::Key;
use crate::bytes::memory::Memory;
use crate::contents::contents::Contents;
use crate::contents::contents::ShardClock;
use crate::room::room::Room;
use crate::victims::budget::Budget;
use base::{TenantId, Tick};
use policy::rank::gittins::{Lower, Past};
use policy::rank::{Meta, Stamps};
use std::sync::atomic::Ordering::Relaxed;

/// Number of items drawn.
const DRAWN: usize = 64;
/// Most slots looked at to draw them: some are empty.
const LOOKED_AT: usize = 4 * DRAWN;

impl Room {
    /// Whether a value with `bytes` bytes of contents is not worth its memory. Its key must not
    /// exist. A write that never fits is not declined, so that the client gets the error.
    #[inline]
    pub(crate) fn declines(
        &self,
        contents: &mut Contents,
        budget: &Budget,
        key: &Key,
        bytes: u64,
    ) -> bool {
        let size = contents.tenant(key.tenant).pages.classes().charge(bytes);
        let large = self.pools.evictor(key.tenant).rank.competes_from();
        large.is_some_and(|large| size as f32 >= large)
            && budget.competes.load(Relaxed)
            && size <= budget.value_max()
            && budget.check_fit(contents, key.tenant, size).is_ok()
            && self.is_worth_less(contents, &budget.memory, key, size)
    }

    #[cold]
    fn is_worth_less(
        &self,
        contents: &mut Contents,
        memory: &Memory,
        key: &Key,
        size: u64,
    ) -> bool {
        let account = &contents.tenant(key.tenant).account;
        let held = memory.used();
        let need = (held + size).saturating_sub(memory.effective());
        let is_poor = account.is_below_min(size) || account.used() + size > account.max();
        if need == 0 || is_poor {
            return false;
        }
        let Some(ghosts) = &mut contents.ghosts else { return false };
        let known = ghosts.memory.take(key.hash);
        let tick = contents.clock.tick;
        let past = known.unwrap_or(Past::new(tick));
        let stamps = Stamps { born: past.born, hits: past.hits, ..Stamps::new(tick, 0) };
        let own = self.rank_of(key.tenant, &stamps.meta(size as u32, tick), tick);
        let lower = self.worth_less_than(contents, own);
        let declines = !lower.yields(need.min(size), held);
        if let Some(ghosts) = &mut contents.ghosts
            && let Some(past) = if declines { Some(past) } else { known }
        {
            ghosts.memory.insert(key.hash, past);
        }
        if declines {
            contents.tenant_mut(key.tenant).counters.not_admitted += 1;
        }
        declines
    }

    fn rank_of(&self, tenant: TenantId, meta: &Meta, tick: u64) -> f32 {
        self.pools.evictor(tenant).rank.rank_in(tenant, 0, meta, Tick(tick))
    }

    /// Draws items of all tenants, each with the same probability, and adds up those worth less.
    fn worth_less_than(&self, contents: &mut Contents, own: f32) -> Lower {
        let mut lower = Lower::than(own);
        let Contents { tenants, clock: ShardClock { tick, prng, .. }, .. } = contents;
        let all: usize = tenants.iter().map(|tenant| tenant.table.len()).sum();
        // Every `step`-th item, starting at a random one.
        let step = (all / DRAWN).max(1);
        let mut left = prng.below(step as u64) as usize;
        for (at, tenant) in (0..).zip(&*tenants) {
            let items = tenant.table.len();
            let draws = (left..items).step_by(step).len();
            left = left + draws * step - items;
            let (mut drawn, mut looked_at) = (0, 0);
            while drawn < draws && looked_at < LOOKED_AT {
                looked_at += 1;
                let (place, word) = tenant.table.draw(prng);
                if word != 0 {
                    drawn += 1;
                    let item = tenant.table.get(place);
                    let (size, stamps) = (tenant.charge_of(item), item.stamps());
                    let rank = self.rank_of(at, &stamps.meta(size as u32, *tick), *tick);
                    lower.draw(rank, size);
                }
            }
        }
        lower
    }
}
