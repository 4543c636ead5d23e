//! Checks of a write's size before its value is built, so that a refused write takes no memory,
//! evicts nothing and keeps no other client waiting.
//!
//! The store refuses too large values as well, but only once they exist. So a command that knows
//! the length of its result checks it here first. A command that derives a value from the old one
//! checks again when it sees the old value, before it builds the new one.

use super::call::Call;
use crate::server::View;
use base::{Bytes, TenantId};
use store::{Error, Store};

/// Values up to this length are built without a check; the store itself refuses them if needed.
const SMALL: usize = 16 << 10;
/// A value above one part in this number also must respect the memory protected for other tenants.
const LARGE: u64 = 16;

/// Whether a value of this many bytes is written without a check.
pub(crate) const fn is_small(bytes: usize) -> bool {
    bytes <= SMALL
}

/// The room for a value of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// The longest value, in bytes.
    value_max: u64,
    /// The largest item in bytes, if everything else may be evicted.
    item_max: u64,
    /// The largest item in bytes without the memory protected for other tenants.
    left: u64,
    /// The free bytes, if nothing may be evicted.
    free: Option<u64>,
}

impl Room {
    /// The room for a value of at least `len` bytes. The caller must hold no lock of the store.
    pub(crate) fn of(store: &Store, view: &View, tenant: TenantId, len: usize) -> Self {
        let value_max = view.settings.proto_max_bulk_len.0;
        if is_small(len) {
            return Self { value_max, item_max: u64::MAX, left: u64::MAX, free: None };
        }
        let limit = match store.limit().0 {
            0 => u64::MAX,
            limit => limit.saturating_sub(store.reserve().0),
        };
        let item_max = limit.min(view.max_of(tenant).map_or(u64::MAX, |max| max.0));
        let is_large = len as u64 > item_max / LARGE;
        let kept = if is_large { store.protected_from(tenant).0 } else { 0 };
        let nothing_leaves = view.nothing_leaves(store);
        let free = nothing_leaves.then(|| limit.saturating_sub(store.used().0));
        Self { value_max, item_max, left: item_max.saturating_sub(kept), free }
    }

    /// The largest item in bytes, if everything else may be evicted.
    pub(crate) const fn item_max(&self) -> u64 {
        self.item_max
    }

    /// Refuses a value of `len` bytes that cannot replace one of `old` bytes.
    pub(crate) fn check(&self, old: usize, len: usize) -> Result<(), Error> {
        if len as u64 > self.value_max {
            let (need, limit) = (Bytes(len as u64), Bytes(self.value_max));
            return Err(Error::TooLong { need, limit });
        }
        if len <= SMALL.max(old) {
            return Ok(());
        }
        self.check_growth(store::charge(0, len, false))
    }

    /// Refuses an item that needs `need` bytes, if it can never have them.
    pub(crate) fn check_growth(&self, need: u64) -> Result<(), Error> {
        if need > self.item_max {
            return Err(Error::TooLarge { need: Bytes(need), limit: Bytes(self.item_max) });
        }
        if need > self.left || self.free.is_some_and(|free| need > free) {
            return Err(Error::Full);
        }
        Ok(())
    }
}

/// Whether memory is too full for a command of `len` bytes: nothing can be evicted to make room, or
/// the command is larger than the memory limit.
pub(crate) fn is_full(call: &Call<'_>, len: usize) -> bool {
    let ((used, limit), reserve) = (call.server.memory(), call.server.store.reserve());
    let held = if call.view.nothing_leaves(&call.server.store) { used.0 + reserve.0 } else { 0 };
    limit.0 > 0 && held + len as u64 > limit.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: usize = 1 << 10;

    #[test]
    fn what_never_fits_is_refused() {
        let room = Room { value_max: 200 << 10, item_max: 100 << 10, left: 60 << 10, free: None };
        assert_eq!(room.check(0, 50 * KB), Ok(()));
        assert_eq!(room.check(0, 60 * KB), Err(Error::Full), "kept for others, with its header");
        assert!(matches!(room.check(0, 100 * KB), Err(Error::TooLarge { .. })));
        assert!(matches!(room.check(0, 201 * KB), Err(Error::TooLong { .. })));
        assert_eq!(room.check(150 * KB, 150 * KB), Ok(()), "it grows by nothing");
    }

    #[test]
    fn where_nothing_leaves_only_what_is_free_is_there() {
        let room =
            Room { value_max: 9 << 20, item_max: 8 << 20, left: 8 << 20, free: Some(1 << 20) };
        assert_eq!(room.check(0, 1000 * KB), Ok(()));
        assert_eq!(room.check(0, 1100 * KB), Err(Error::Full));
        assert_eq!(room.check(1100 * KB, 1100 * KB), Ok(()));
    }
}
