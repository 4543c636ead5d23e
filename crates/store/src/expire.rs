//! The sweep: bounded work in the background that no request should do.
//!
//! It walks the tables, one bucket after the other, and removes dead items that nobody asks for
//! any more, moves on stamps before they wrap, and merges buckets of tables that have become
//! empty. Then, if a limit was lowered, it evicts.

use crate::memory::Memory;
use crate::shard::Shard;
use crate::sizes::Sizes;
use crate::stats::Swept;
use crate::table::END;
use crate::tenant::Tenant;
use crate::{Now, evict::Want};
use base::TenantId;

/// A table without expiring items is walked only for its stamps, once in so many accesses: often
/// enough, as they wrap after 2^28.
const STAMPS_EVERY: u64 = 1 << 25;

/// Where the sweep of a shard stands.
#[derive(Debug, Default)]
pub(crate) struct Sweeper {
    tenant: usize,
    position: u64,
    /// When this walk through all tables began, in accesses to the shard.
    begun: u64,
    /// Whether it goes through every table, for the stamps.
    for_stamps: bool,
    /// When the last such walk began.
    stamped: u64,
}

impl Shard {
    /// Looks at up to `budget` buckets; stops at the end of the last table.
    pub(crate) fn sweep(&mut self, memory: &Memory, now: Now, budget: usize) -> Swept {
        let mut swept = Swept::default();
        while swept.buckets < budget {
            let Sweeper { tenant: at, position, for_stamps, .. } = self.sweeper;
            if at >= self.tenants.len() {
                self.end_of_walk();
                break;
            }
            swept.buckets += 1;
            let tenant = &mut self.tenants[at];
            let len = tenant.len(None);
            let next = if tenant.table.is_sparse() || len.expires > 0 || for_stamps {
                while let Some(place) =
                    tenant.table.find_at(position, |item, _| item.is_dead(now.unix_ms))
                {
                    let item = tenant.table.get(place);
                    crate::learn::ends(&mut self.lived, at as TenantId, item, self.tick);
                    memory.give(tenant.expire(place));
                    swept.expired += 1;
                }
                let tick = self.tick;
                let Tenant { table, slabs, .. } = tenant;
                let next = table.walk_mut(position, |mut item| {
                    let mut stamps = item.view().stamps();
                    stamps.refresh(tick);
                    item.set_stamps(stamps);
                    if let (true, Some(slabs)) = (for_stamps, &mut *slabs) {
                        slabs.retag(item.view());
                    }
                });
                self.shrink(memory, at as TenantId);
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

    fn end_of_walk(&mut self) {
        let Sweeper { begun, for_stamps, stamped, .. } = self.sweeper;
        let stamped = if for_stamps { begun } else { stamped };
        let for_stamps = self.tick - stamped >= STAMPS_EVERY;
        self.sweeper = Sweeper { tenant: 0, position: 0, begun: self.tick, for_stamps, stamped };
    }

    /// Evicts up to `budget` items while the store or a tenant has more than it may.
    pub(crate) fn trim(&mut self, memory: &Memory, now: Now, budget: usize) -> usize {
        let mut evicted = 0;
        while evicted < budget {
            let above = self.tenants.iter().position(|tenant| tenant.account.excess() > 0);
            let want = Want { tenant: None, own: false, spare: 0, now };
            let want = match above {
                Some(tenant) => Want { tenant: Some(tenant as TenantId), own: true, ..want },
                None if memory.excess() > 0 => want,
                None => break,
            };
            let freed = self.evict_for_others(&want);
            memory.give(freed);
            if freed == 0 {
                break;
            }
            evicted += 1;
            if let Sizes::Slab(_) = self.sizes {
                // That was a page: enough for one time that the shard is locked.
                break;
            }
        }
        evicted
    }
}
