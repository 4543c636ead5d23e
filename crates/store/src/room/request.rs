//! A request for room.

use crate::Now;
use base::TenantId;

/// The need for room of a write or of the sweep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoomRequest {
    /// The tenant that writes; `None` for the sweep.
    pub(crate) tenant: Option<TenantId>,
    /// Whether only the tenant's own items may be evicted, because it is at its max.
    pub(crate) own: bool,
    /// [`ItemTable::word`](crate::items::table::item_table::ItemTable::word) of the written item.
    pub(crate) pinned: usize,
    pub(crate) now: Now,
}
