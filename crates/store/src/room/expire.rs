//! Expiry: items are entered in a wheel when they get an expiry, and removed when it is due.
//!
//! Each tenant of each shard keeps a timing wheel (`items/wheel.rs`) of expiries. A writer that
//! sets an earlier expiry than before first makes room for an entry, so that nothing changes if
//! there is none, and enters it afterwards. Due entries are *expired* one after the other: all dead
//! items of the entry's chain are removed. If the entry's own item is alive, it is entered again.
//!
//! Two callers expire entries: the sweep, as bounded work in the background, and writes that need
//! room, before they evict anything. While a dead item is among the first [`LOOKS`] due entries of
//! a shard, no live item is evicted there. The two are counted separately.

use crate::bytes::freed::Freed;
use crate::contents::contents::Contents;
use crate::victims::budget::{Around, RoomRequest};
use base::TenantId;

/// Entries that a write looks at for each item that it would evict: some hundred nanoseconds each.
const LOOKS: usize = 128;
/// Most tenants whose wheels are looked at together, so that the wait of a write does not grow with
/// the number of tenants.
pub(super) const TENANTS_MAX: usize = 64;

/// Expires entries for a write that needs room, until a page is free.
#[inline]
pub(super) fn expire(contents: &mut Contents, want: &RoomRequest) -> Freed {
    let freed = contents.free_leaves(want.own_tenant());
    if !freed.is_nothing() {
        return freed;
    }
    if want.now.unix_ms <= contents.no_expiry_before {
        return Freed::NOTHING;
    }
    let mut looks = LOOKS;
    while let Some(freed) = expire_some(contents, want, &mut looks) {
        // Otherwise a chunk is free, but not its page.
        if !freed.is_nothing() {
            return freed;
        }
    }
    Freed::NOTHING
}

/// Expires entries until there is a free chunk for an item with `bytes` bytes of contents.
/// Returns whether there is.
pub(super) fn expire_for_chunk(
    contents: &mut Contents,
    around: &Around<'_>,
    tenant: TenantId,
    bytes: u64,
    want: &RoomRequest,
) -> bool {
    let mut looks = LOOKS;
    while want.now.unix_ms > contents.no_expiry_before
        && let Some(freed) = expire_some(contents, want, &mut looks)
    {
        around.budget.memory.take_back(freed);
        if contents.has_chunk(tenant, bytes) {
            return true;
        }
    }
    false
}

/// Expires entries until a dead item is removed. `None` if nothing more is due, or too many
/// entries were looked at.
#[cold]
fn expire_some(contents: &mut Contents, want: &RoomRequest, looks: &mut usize) -> Option<Freed> {
    let count = contents.tenants.len();
    let (first, looked_at) = match want.tenant.filter(|_| want.own) {
        Some(own) => (usize::from(own), 1),
        None if count <= TENANTS_MAX => (0, count),
        None => (contents.clock.prng.below(count as u64) as usize, TENANTS_MAX),
    };
    for at in (first..first + looked_at).map(|at| at % count) {
        while *looks > 0 {
            let Some((dead, freed)) = contents.expire_one(at, want.now) else { break };
            *looks -= 1;
            contents.tenants[at].counters.expired_for_room += dead;
            if dead > 0 {
                return Some(freed);
            }
        }
    }
    #[cfg(test)]
    {
        contents.gave_up += u64::from(*looks == 0);
    }
    if count <= TENANTS_MAX {
        contents.update_no_expiry();
    }
    None
}
