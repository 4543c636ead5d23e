//! Why a write was refused.

use base::Bytes;
use std::fmt;

/// Why a write was refused. What the key held before is left as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The item can never fit.
    TooLarge {
        /// Bytes it would be charged.
        need: Bytes,
        /// Bytes a single item may be charged.
        limit: Bytes,
    },
    /// The value is longer than any may be.
    TooLong {
        /// Bytes it would have.
        need: Bytes,
        /// Bytes a value may have.
        limit: Bytes,
    },
    /// Memory is in use up to the limit and nothing may be evicted for this write.
    Full,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { need, limit } => {
                write!(f, "the item needs {need} and may have {limit}: raise 'maxmemory' or the ")?;
                f.write_str("tenant's max, or split the value")
            }
            Self::TooLong { need, limit } => {
                write!(f, "the value has {need} and may have {limit} (proto-max-bulk-len)")
            }
            Self::Full => {
                f.write_str("memory is full and nothing may be evicted: raise 'maxmemory'")
            }
        }
    }
}

impl std::error::Error for Error {}
