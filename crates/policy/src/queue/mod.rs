//! Policies whose order is their state: each keeps lists of slots and cannot be had as a rank.

pub mod lru;
