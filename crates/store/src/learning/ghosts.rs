//! The memory of evicted keys.

use policy::rank::gittins::Memory;

/// A shard's memory of evicted keys.
#[derive(Debug, Default)]
pub(crate) struct GhostTable {
    pub(crate) memory: Memory,
    /// Bytes charged for it.
    pub(crate) bytes: u64,
}
