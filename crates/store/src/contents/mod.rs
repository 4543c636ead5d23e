//! Items of tenants in one shard, with the counters that follow every item in and out.
//!
//! `contents.rs` finds items, `need.rs` says what a write needs, `put.rs` writes into reserved
//! room, and `take_out.rs` is the only way out of a table.

pub(crate) mod collections;
pub(crate) mod contents;
pub(crate) mod copies;
pub(crate) mod counts;
pub(crate) mod draw;
pub(crate) mod expiries;
pub(crate) mod ghosts;
pub(crate) mod need;
pub(crate) mod plain;
pub(crate) mod put;
pub(crate) mod restoring;
pub(crate) mod shared_reads;
pub(crate) mod take_out;
pub(crate) mod written;
