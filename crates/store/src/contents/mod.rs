//! Items of tenants in one shard, with the counters that follow every item in and out.

pub(crate) mod changed_keys;
pub(crate) mod dump_index;
pub(crate) mod exit;
pub(crate) mod penalty_classes;
pub(crate) mod size_counts;
pub(crate) mod tenant;
