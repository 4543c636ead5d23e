//! Bounds: the results of a cache that knows the future, or has unlimited memory.
//!
//! The first two need [`crate::Access::next`]. The caller computes it in a pass of its own over the
//! trace.

pub mod belady;
pub mod belady_size;
pub mod unbounded;
