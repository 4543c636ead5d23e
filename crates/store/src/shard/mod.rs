//! One shard: the data that a lock guards, and the order of a write.

pub(crate) mod collections;
pub(crate) mod edit;
pub(crate) mod shard;
pub(crate) mod write;
