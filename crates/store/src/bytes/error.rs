//! Errors of refused writes.

use base::Bytes;
use std::fmt;

/// Why a write was refused. The key keeps its old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The item is too large for the limits, whatever is evicted.
    TooLarge {
        /// Bytes that the item would be charged.
        need: Bytes,
        /// Most bytes that a single item may be charged.
        limit: Bytes,
    },
    /// The value is longer than the longest allowed one.
    TooLong {
        /// Bytes of the value.
        need: Bytes,
        /// Most bytes of a value.
        limit: Bytes,
    },
    /// Memory is in use up to the limit, and no item may be evicted for this write.
    Full,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { need, limit } => {
                write!(
                    f,
                    "the item needs {need}, more than the limit of {limit}: raise 'maxmemory' or \
                     the tenant's max, or split the value"
                )
            }
            Self::TooLong { need, limit } => {
                write!(
                    f,
                    "the value has {need}, more than the limit of {limit} (proto-max-bulk-len)"
                )
            }
            Self::Full => {
                f.write_str("memory is full and no item may be evicted: raise 'maxmemory'")
            }
        }
    }
}

impl std::error::Error for Error {}
