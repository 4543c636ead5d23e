//! The part of one tenant in one shard: its table, pages, trees and counters.

pub(crate) mod penalty_classes;
pub(crate) mod size_counts;
pub(crate) mod tenant;
