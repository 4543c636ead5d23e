//! Eviction of one item, which frees its chunk for another of its class.
//!
//! `choose.rs` names the victim. If pools are penalty classes, it is of the class that is furthest
//! above its budget. Victims of such a class count as worth less, so that pages move away from the
//! sizes that it has. A dead item that is drawn is removed at once, whatever its rank.

use crate::bytes::freed::Freed;
use crate::bytes::measured::SLOTS;
use crate::contents::contents::Contents;
use crate::contents::contents::ShardClock;
use crate::items::pages::victim::Victim;
use crate::items::sizes::size_class::SizeClass;
use crate::items::table::bucket::address_of;
use crate::room::room::Room;
use crate::victims::budget::{Around, RoomRequest};
use crate::victims::choose::VictimQuery;
use crate::{Evictable, Now};
use base::TenantId;
use smallvec::SmallVec;

/// Most items evicted by rank before a page is cleared. Further small items of the page are evicted
/// without ranking, to bound the time.
const RESCUED_MAX: u32 = 128;

/// The bytes of a penalty class divided by its budget, to this power, scale the age of its victims;
/// then the bound of this factor, which holds in both directions.
const OVERDRAWN: i32 = 8;

const OVERDRAWN_MAX: f64 = 16.0;

impl Room {
    /// Evicts items of a class from their chunks: one, and with it a few more that were chosen
    /// ahead, for the writes to come. Reaching an item takes most of the time of an eviction.
    /// Returns whether there was one.
    pub(crate) fn evict_some(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        at: TenantId,
        class: usize,
        want: &RoomRequest,
    ) -> bool {
        let mut gone = 0;
        while let Some(freed) = self.evict_one(contents, at, class, want) {
            around.budget.memory.take_back(freed);
            self.eviction_times.victim();
            gone += 1;
            let (pages, evictor) = (&contents.tenant(at).pages, self.pools.evictor(at));
            if !pages.may_evict_along(class, gone, evictor, contents.clock.reader_slot) {
                break;
            }
        }
        gone > 0
    }

    /// Evicts the item of a class that is worth least, if there is one.
    fn evict_one(
        &mut self,
        contents: &mut Contents,
        at: TenantId,
        class: usize,
        want: &RoomRequest,
    ) -> Option<Freed> {
        let chosen = self.choose(contents, at, class, want)?;
        Some(self.evict(contents, at, class, &chosen))
    }

    /// Evicts the least valuable items of a class, until the others fit in one page fewer. The
    /// items on the page that is cleared need not be the least valuable.
    pub(crate) fn shrink_by_a_page(
        &mut self,
        contents: &mut Contents,
        of: SizeClass,
        want: &RoomRequest,
    ) -> Freed {
        let mut freed = Freed::NOTHING;
        for _ in 0..RESCUED_MAX {
            if contents.tenant(of.tenant).pages.fits_a_page_less(of.class) {
                break;
            }
            match self.evict_one(contents, of.tenant, of.class, want) {
                Some(more) => freed += more,
                None => break,
            }
        }
        freed
    }

    /// The penalty classes from which to evict, in this order, each with its bytes divided by its
    /// budget. Empty if pools are not penalty classes.
    fn penalties(&mut self, contents: &Contents, at: TenantId) -> SmallVec<[(u8, f64); SLOTS]> {
        if !self.pools.are_classes() {
            return SmallVec::new();
        }
        let mut all = self.pools.classes(&mut self.order);
        let tenant = contents.tenant(at);
        all.retain(|(class, _)| tenant.has_class(*class));
        all
    }

    pub(crate) fn choose(
        &mut self,
        contents: &mut Contents,
        at: TenantId,
        class: usize,
        want: &RoomRequest,
    ) -> Option<Victim> {
        let penalties = self.penalties(contents, at);
        let Self { pools, candidates, evictable, .. } = self;
        let seed = contents.seed();
        let Contents { tenants, clock: ShardClock { tick, reader_slot, prng }, .. } = contents;
        let tenant = &mut tenants[usize::from(at)];
        if *evictable != Evictable::Any && tenant.len(None).expires == 0 {
            return None;
        }
        let mut choice = VictimQuery {
            evictor: pools.evictor(at),
            tenant: at,
            only: None,
            tick: *tick,
            reader_slot: *reader_slot,
            unix_ms: want.now.unix_ms,
            pinned: address_of(want.pinned),
            seed,
            evictable: *evictable,
        };
        for (penalty, _) in penalties {
            choice.only = Some(penalty);
            let chosen = tenant.pages.choose(class, &choice, prng, candidates);
            if chosen.is_some() {
                return chosen;
            }
        }
        choice.only = None;
        let chosen = tenant.pages.choose(class, &choice, prng, candidates);
        tenant.pages.prefetch_queued(class, *reader_slot, &tenant.table);
        chosen
    }

    /// Chooses a victim of a class without evicting it, to learn what the memory of a quiet class
    /// is worth.
    pub(crate) fn probe_victim(
        &mut self,
        contents: &mut Contents,
        tenant: TenantId,
        class: usize,
        now: Now,
    ) {
        let want = RoomRequest { tenant: Some(tenant), own: true, pinned: 0, now };
        if let Some(chosen) = self.choose(contents, tenant, class, &want) {
            self.note_worth(contents, tenant, class, &chosen);
        }
    }

    /// Records what a victim is worth if it was chosen by its rank: the rank itself if ranks are
    /// worth per byte, otherwise the negative age.
    pub(crate) fn note_worth(
        &mut self,
        contents: &mut Contents,
        at: TenantId,
        class: usize,
        chosen: &Victim,
    ) {
        let Some(rank) = chosen.rank else { return };
        let worth = if self.pools.evictor(at).rank.is_worth() {
            f64::from(rank)
        } else {
            let pages = &contents.tenant(at).pages;
            let Some(stamps) = pages.stamps_of(class, chosen) else { return };
            -f64::from(stamps.age(contents.clock.tick)) * self.overdrawn(stamps.penalty_class())
        };
        contents.tenant_mut(at).pages.note_victim(class, worth);
    }

    /// The factor by which the bytes of a penalty class, compared to its budget, count against its
    /// victims.
    fn overdrawn(&mut self, penalty: u8) -> f64 {
        if !self.pools.are_classes() {
            return 1.0;
        }
        let all = self.pools.classes(&mut self.order);
        let share = all.iter().find(|(class, _)| *class == penalty).map_or(1.0, |(_, of)| *of);
        share.powi(OVERDRAWN).clamp(1.0 / OVERDRAWN_MAX, OVERDRAWN_MAX)
    }

    /// Evicts an item, which frees its chunk.
    pub(super) fn evict(
        &mut self,
        contents: &mut Contents,
        at: TenantId,
        class: usize,
        chosen: &Victim,
    ) -> Freed {
        self.note_worth(contents, at, class, chosen);
        contents.take_victim(at, class, chosen)
    }
}
