//! The bounds of a step: the elements or fields, and the bytes, after which a command releases the
//! lock.

pub(crate) const STEP_ELEMENTS: usize = 128;
pub(crate) const STEP_BYTES: usize = 64 << 10;
