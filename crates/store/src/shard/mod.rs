//! One shard: the data that a lock guards, and each step of a request with one key.

pub(crate) mod admission;
pub(crate) mod collections;
pub(crate) mod copies;
pub(crate) mod counts;
pub(crate) mod edit;
pub(crate) mod ghosts;
pub(crate) mod read;
pub(crate) mod restoring;
pub(crate) mod shard;
pub(crate) mod take_out;
pub(crate) mod write;
