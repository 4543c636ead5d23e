//! The need of a write: bytes, chunk, expiry entry; and the room that was reserved for it.

use crate::Key;
use crate::items::item::Parts;
use crate::items::table::item_table::Slot;
use base::TenantId;
use policy::rank::Stamps;

/// The room that a write needs. Once the room is reserved, nothing of the write can fail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub(crate) tenant: TenantId,
    /// Hash of the written key.
    pub(crate) hash: u64,
    /// The place of the item that is written, which evictions spare; `None` for a new item.
    pub(crate) place: Option<Slot>,
    /// [`ItemTable::word`](crate::items::table::item_table::ItemTable::word) of that item; 0 for a
    /// new one.
    pub(crate) pinned: usize,
    /// Contents in bytes of an item that needs a chunk of its own.
    pub(crate) chunk: Option<u64>,
    /// Whether an entry of the wheel is needed.
    pub(crate) expiry: bool,
    /// Bytes needed in any case, of a tree or of an index.
    pub(crate) bytes: u64,
    /// Whether the store's counter has these bytes already, and only the account lacks them.
    pub(crate) is_charged: bool,
    /// Stamps of the item once it is written.
    pub(crate) stamps: Stamps,
}

/// The room that a write has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserved {
    /// The place of the written item, which evictions may have changed.
    pub(crate) place: Option<Slot>,
    /// For a new item, the bytes reserved for the growth of the table; otherwise [`Need::bytes`].
    pub(crate) bytes: u64,
}

impl Need {
    /// Bytes for a tenant, while the item with this word is spared; 0 for none.
    pub(crate) const fn bytes(tenant: TenantId, bytes: u64, pinned: usize) -> Self {
        Self {
            tenant,
            hash: 0,
            place: None,
            pinned,
            chunk: None,
            expiry: false,
            bytes,
            is_charged: false,
            stamps: Stamps::new(0, 0),
        }
    }

    /// Room for an item that is not there yet.
    #[inline]
    pub(crate) fn new_item(key: &Key, parts: &Parts, stamps: Stamps) -> Self {
        Self {
            hash: key.hash,
            chunk: Some(parts.contents()),
            expiry: parts.expires.is_some(),
            stamps,
            ..Self::bytes(key.tenant, 0, 0)
        }
    }
}
