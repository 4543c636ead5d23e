//! Bounds: what could be reached by who knows the future, or has memory without end.
//!
//! The first two need [`crate::Access::next`], which whoever feeds the accesses finds out in a pass
//! of its own over the trace.

pub mod belady;
pub mod belady_size;
pub mod unbounded;
