//! Dump and load: a tenant with a periodic load gives its memory to others in between, and gets it
//! back before the load returns [1].
//!
//! ```text
//!   requests ──▶ counted ──▶ tune::PeriodicLoad ──┬─▶ valley: items ▶ blocks of a file ▶ leave
//!   LARDER DUMP, LARDER LOAD ─────────────────────┴─▶ peak: blocks ▶ items, warmest first
//! ```
//!
//! One thread does all the work, one block at a time and at most `dump-rate` bytes a second. A
//! request waits for it at most while a few items are copied under their shard's lock. The store
//! decides which copies may return (`store::Store::load`): a copy is invalid as soon as a client
//! has overwritten or deleted its item.
//!
//! In a valley the coldest items are written first. The colder half leaves memory as soon as its
//! block is on the disk. The warmer half is only copied; its items stay until others need their
//! memory. Before the peak the last block returns first. So the warmest items return first, even if
//! memory or time does not suffice for all.
//!
//! The files have no names (`file.rs`). Whatever happens to the server, no other one finds them, so
//! no item returns that was deleted while no server was running.
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

mod dump;
mod file;
mod keeper;
mod load;

pub(crate) use keeper::run;
