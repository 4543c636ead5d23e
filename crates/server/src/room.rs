//! The size that a write may come to, known before its value is built: a write that will be refused
//! takes no memory, and makes nobody wait or leave.
//!
//! The store refuses what does not fit as well, but it sees a value only once there is one. So a
//! command whose result has a length that is known beforehand asks here first, and a command that
//! makes a value of the one before asks again where it sees that one, before it makes it.

use crate::shared::{Shared, View};
use base::{Bytes, TenantId};
use store::Error;

/// Values up to this length are made without asking: the store refuses them as well.
const SMALL: usize = 16 << 10;
/// A part of the memory there is, above which it is also asked what is kept for others.
const LARGE: u64 = 16;

/// Whether what takes so many bytes is written without asking.
pub(crate) const fn is_small(bytes: usize) -> bool {
    bytes <= SMALL
}

/// The room for a value of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Bytes of the longest value.
    value_max: u64,
    /// Bytes of an item, whatever is evicted for it.
    item_max: u64,
    /// The same, without what is kept for other tenants.
    left: u64,
    /// Bytes that are free, where nothing is evicted.
    free: Option<u64>,
}

impl Room {
    /// The room for a value of at least `len` bytes. To be asked without a lock of the store.
    pub(crate) fn of(shared: &Shared, view: &View, tenant: TenantId, len: usize) -> Self {
        let value_max = view.settings.proto_max_bulk_len.0;
        if is_small(len) {
            return Self { value_max, item_max: u64::MAX, left: u64::MAX, free: None };
        }
        let limit = match shared.store.limit().0 {
            0 => u64::MAX,
            limit => limit.saturating_sub(shared.store.reserve().0),
        };
        let item_max = limit.min(view.max_of(tenant).map_or(u64::MAX, |max| max.0));
        let is_large = len as u64 > item_max / LARGE;
        let kept = if is_large { shared.store.protected_from(tenant).0 } else { 0 };
        let nothing_leaves = shared.nothing_leaves(view);
        let free = nothing_leaves.then(|| limit.saturating_sub(shared.store.used().0));
        Self { value_max, item_max, left: item_max.saturating_sub(kept), free }
    }

    /// Bytes that an item may have, whatever is evicted for it.
    pub(crate) const fn item_max(&self) -> u64 {
        self.item_max
    }

    /// Refuses a value of `len` bytes that cannot be stored in the place of one of `old`.
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

    /// Refuses an item that becomes so many bytes larger, and can never have as many.
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
