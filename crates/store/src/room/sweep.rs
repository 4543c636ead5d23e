//! The sweep of a shard: bounded work in the background.
//!
//! It expires due entries of the wheels (`expire.rs`). Then it walks through tables, one bucket
//! after the other, to refresh stamps before they wrap, and to merge buckets of tables that have
//! become sparse. Then, if a limit was lowered, it evicts.

use crate::Now;
use crate::bytes::memory::Memory;
use crate::bytes::stats::Swept;
use crate::contents::contents::Contents;
use crate::items::table::item_table::END;
use crate::room::expire::TENANTS_MAX;
use crate::room::room::{Room, Sweeper};
use crate::tenant::tenant::TenantShard;
use crate::victims::budget::RoomRequest;
use base::TenantId;

/// Accesses after which a table is walked for its stamps: often enough, because stamps wrap after
/// 2^26.
const STAMPS_EVERY: u64 = 1 << 23;
/// Accesses after which a walk may find a table that became sparse.
const WALK_EVERY: u64 = 1 << 10;
/// Entries whose memory a sweep frees at once.
const SHRINK_STEPS: usize = 4 << 10;

impl Room {
    /// Expires up to `budget` due entries, tenant by tenant, and maintains the wheels.
    fn sweep_wheels(
        &mut self,
        contents: &mut Contents,
        memory: &Memory,
        now: Now,
        budget: usize,
    ) -> Swept {
        let mut swept = Swept::default();
        if !contents.has_wheels {
            return swept;
        }
        let count = contents.tenants.len();
        let looked_at = count.min(TENANTS_MAX);
        // With many tenants, each round takes the next ones.
        let step = if looked_at < count { looked_at } else { 1 };
        let first = self.sweeper.first % count.max(1);
        self.sweeper.first = first + step;
        for at in (first..first + looked_at).map(|at| at % count) {
            while swept.buckets < budget
                && let Some((dead, freed)) = contents.expire_one(at, now)
            {
                memory.take_back(freed);
                contents.tenants[at].counters.expired_swept += dead;
                swept.expired += dead as usize;
                swept.buckets += 1;
            }
            swept.buckets += contents.walk_wheel(at, budget - swept.buckets, now);
            memory.take_back(contents.narrow_wheel(at, SHRINK_STEPS));
        }
        if looked_at == count || first + step >= count {
            contents.update_no_expiry();
        }
        swept
    }

    /// Expires up to `budget` entries, and spends the rest of the budget on buckets of tables.
    /// Stops at the end of the last table.
    pub(crate) fn sweep(
        &mut self,
        contents: &mut Contents,
        memory: &Memory,
        now: Now,
        budget: usize,
    ) -> Swept {
        let mut swept = self.sweep_wheels(contents, memory, now, budget);
        memory.take_back(contents.release_idle());
        if !self.walks(contents) {
            return swept;
        }
        // Tables get a turn even if entries are always due.
        let budget = if budget == 0 { 0 } else { budget.max(swept.buckets + 1) };
        while swept.buckets < budget {
            let Sweeper { tenant: at, position, for_stamps, .. } = self.sweeper;
            if at >= contents.tenants.len() {
                self.end_of_walk(contents);
                break;
            }
            swept.buckets += 1;
            let tenant = &mut contents.tenants[at];
            let next = if tenant.table.is_sparse() || for_stamps {
                let tick = contents.clock.tick;
                let TenantShard { table, pages, .. } = tenant;
                let next = table.walk_mut(position, |mut item| {
                    let mut stamps = item.view().stamps();
                    stamps.refresh(tick);
                    item.set_stamps(stamps);
                    if for_stamps {
                        pages.retag(item.view());
                    }
                });
                contents.shrink(memory, at as TenantId);
                next
            } else {
                END
            };
            self.sweeper.position = next;
            if next == END {
                self.sweeper.tenant += 1;
                self.sweeper.position = 0;
            }
        }
        swept
    }

    /// Whether a walk is under way, or a new one may find something to do.
    fn walks(&self, contents: &Contents) -> bool {
        let Sweeper { tenant, position, begun, for_stamps, .. } = self.sweeper;
        let is_under_way = tenant > 0 || position > 0 || for_stamps;
        is_under_way || contents.emptied || contents.clock.tick - begun >= WALK_EVERY
    }

    fn end_of_walk(&mut self, contents: &mut Contents) {
        let Sweeper { begun, for_stamps, stamped, first, .. } = self.sweeper;
        let stamped = if for_stamps { begun } else { stamped };
        let for_stamps = contents.clock.tick - stamped >= STAMPS_EVERY;
        let begun = contents.clock.tick;
        contents.emptied = false;
        self.sweeper = Sweeper { begun, for_stamps, stamped, first, ..Sweeper::default() };
    }

    /// Evicts a page if the store, or the tenant `above`, has more than its limit. Returns whether
    /// it did. One page per call is enough, because the shard is locked meanwhile.
    pub(crate) fn trim(
        &mut self,
        contents: &mut Contents,
        memory: &Memory,
        above: Option<TenantId>,
        now: Now,
    ) -> bool {
        let is_above = |at: &TenantId| contents.tenant(*at).account.excess() > 0;
        let want = RoomRequest { tenant: None, own: false, pinned: 0, now };
        let want = match above.filter(is_above) {
            Some(tenant) => RoomRequest { tenant: Some(tenant), own: true, ..want },
            None if memory.excess() > 0 => want,
            None => return false,
        };
        let freed = self.evict_page(contents, &want);
        let is_evicted = !freed.is_nothing();
        memory.take_back(freed);
        contents.emptied |= is_evicted;
        is_evicted
    }
}
