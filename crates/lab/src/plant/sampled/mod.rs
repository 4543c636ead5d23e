//! A cache in virtual time with the live store's rules, without its memory.
//!
//! The plant does what the live store does, in few lines. Memory is shared as long as some is free.
//! When none is free, the pool that is furthest above its budget evicts: it samples its items and
//! asks a rank of the `policy` crate. A tenant at its minimum is no victim of another; a tenant at
//! its maximum makes its own room.

mod disk;
mod gittins;
mod item;
mod penalty_table;
mod plant;
mod pool;
mod room;
mod steer;
mod watching;

pub use plant::SampledPlant;

#[cfg(test)]
mod tests;
