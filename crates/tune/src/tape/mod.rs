//! A tape of the requests to sampled keys, to be played again: the ground of all that is said of
//! other sizes and other policies.
//!
//! ```text
//!   past: one entry a key ─┐                       ┌ the present policy at eight sizes
//!   window: every access ──┴▶ play, from the start ┤ the other policies at the present size
//!                              of the tape         └ ▶ held, reads, misses, waiting by tenant
//! ```
//!
//! A miniature cache that runs beside the store for hours is a cache of its own: it goes its way,
//! and two of them differ by what they saw long ago. Here every miniature begins with the same
//! record and ends with it, so that two differ by what they are asked to be, and by nothing else.
//! Writes, removals, times to live and overwritten sizes are on the record; each item has the size
//! that the store charges.
//!
//! Keys, and not requests, are sampled, so a cache of the share R of the memory stands for all of
//! it. A tape that has too many keys forgets half of them.

mod play;
mod record;
#[cfg(test)]
mod tests;

pub use curve::GROUPS;
pub use play::{Fared, Played, Scene, ratio_of};
pub use record::Tape;
