//! The reasons for which an item is removed.

use crate::RemovalCause;

/// Why an item is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It was evicted to make room.
    Evicted,
    /// It has expired.
    Expired,
    /// A client removed it.
    Deleted,
    /// A client removed all items.
    Flushed,
    /// It was dumped: there is a copy of it elsewhere.
    Dumped,
}

impl Exit {
    /// The cause that a listener receives; `None` if a client removed all items.
    pub(crate) const fn cause(self) -> Option<RemovalCause> {
        match self {
            Self::Evicted | Self::Dumped => Some(RemovalCause::Evicted),
            Self::Expired => Some(RemovalCause::Expired),
            Self::Deleted => Some(RemovalCause::Removed),
            Self::Flushed => None,
        }
    }
}
