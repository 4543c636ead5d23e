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
use crate::shard::shard::Shard;
use base::{TenantId, Tick};
use policy::rank::gittins::{Lower, Past};
use policy::rank::{Meta, Stamps};

/// Number of items drawn.
const DRAWN: usize = 64;
/// Most slots looked at to draw them: some are empty.
const LOOKED_AT: usize = 4 * DRAWN;

impl Shard {
    /// Whether a value of these contents is not worth its memory. Its key must not exist, and
    /// `fits` returns whether it can be stored at its size.
    #[inline]
    pub(crate) fn declines(
        &mut self,
        memory: &Memory,
        key: &Key,
        contents: u64,
        fits: impl FnOnce(&Self, u64) -> bool,
    ) -> bool {
        let tenant = &self.tenants[usize::from(key.tenant)];
        let size = tenant.pages.classes().charge(contents);
        let large = self.pools.evictor(key.tenant).rank.competes_from();
        large.is_some_and(|large| size as f32 >= large)
            && fits(self, size)
            && self.is_worth_less(memory, key, size)
    }

    #[cold]
    fn is_worth_less(&mut self, memory: &Memory, key: &Key, size: u64) -> bool {
        let account = &self.tenants[usize::from(key.tenant)].account;
        let held = memory.used();
        let need = (held + size).saturating_sub(memory.effective());
        let is_poor = account.is_below_min(size) || account.used() + size > account.max();
        if need == 0 || is_poor {
            return false;
        }
        let Some(pasts) = &mut self.pasts else { return false };
        let known = pasts.memory.take(key.hash);
        let mut past = known.unwrap_or(Past::new(self.tick));
        if known.is_some() {
            past.hit(self.tick);
        }
        let stamps = Stamps { born: past.born, hits: past.hits, ..Stamps::new(self.tick, 0) };
        let own = self.rank_of(key.tenant, stamps.meta(size as u32, self.tick));
        let lower = self.worth_less_than(own);
        let declines = !lower.yields(need.min(size), held);
        if let Some(pasts) = &mut self.pasts
            && let Some(past) = if declines { Some(past) } else { known }
        {
            pasts.memory.insert(key.hash, past);
        }
        if declines {
            self.tenants[usize::from(key.tenant)].counters.not_admitted += 1;
        }
        declines
    }

    fn rank_of(&self, tenant: TenantId, meta: Meta) -> f32 {
        self.pools.evictor(tenant).rank.rank_in(tenant, 0, &meta, Tick(self.tick))
    }

    /// Draws items of all tenants, each with the same probability, and adds up those worth less.
    fn worth_less_than(&mut self, own: f32) -> Lower {
        let mut lower = Lower::than(own);
        let all: usize = self.tenants.iter().map(|tenant| tenant.table.len()).sum();
        // Every `step`-th item, starting at a random one.
        let step = (all / DRAWN).max(1);
        let mut left = self.prng.below(step as u64) as usize;
        for at in 0..self.tenants.len() {
            let items = self.tenants[at].table.len();
            let draws = (left..items).step_by(step).len();
            left = left + draws * step - items;
            let (mut drawn, mut looked_at) = (0, 0);
            while drawn < draws && looked_at < LOOKED_AT {
                looked_at += 1;
                let Self { tenants, prng, .. } = self;
                let (place, word) = tenants[at].table.draw(prng);
                if word != 0 {
                    drawn += 1;
                    let tenant = &self.tenants[at];
                    let item = tenant.table.get(place);
                    let (size, stamps) = (tenant.charge_of(item), item.stamps());
                    let rank = self.rank_of(at as TenantId, stamps.meta(size as u32, self.tick));
                    lower.draw(rank, size);
                }
            }
        }
        lower
    }
}
