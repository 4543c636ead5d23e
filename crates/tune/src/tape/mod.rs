//! A tape of the requests to sampled keys, which can be played again. All statements about other
//! sizes and other policies rest on it.
//!
//! ```text
//!   past: one entry a key ─┐                       ┌ the present policy at eight sizes
//!   window: every access ──┴▶ play, from the start ┤ the other policies at the present size
//!                              of the tape         └ ▶ held, reads, misses, waiting by tenant
//! ```
//!
//! Where a recipe gives each tenant a budget, two plays are enough: the division in force, and one
//! LRU pool of the same memory.
//!
//! A miniature cache that runs beside the store for hours diverges from it, and two miniatures
//! differ by requests of long ago. Here every miniature plays the same record from its start to its
//! end. So two miniatures differ only by their size and policy. Writes, removals, times to live and
//! overwritten sizes are on the record. Each item has the size that the store charges.
//!
//! The tape samples keys, not requests. So a cache with the share R of the memory and the share R
//! of the keys stands for the whole cache. A tape with too many keys forgets half of them.

mod play;
mod record;
#[cfg(test)]
mod tests;

pub use curve::GROUPS;
pub use play::{Fared, Played, Scene, ScenePool, ratio_of};
pub use record::Tape;
