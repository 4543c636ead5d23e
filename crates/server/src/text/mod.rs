//! Text and numbers: patterns, decimals, lengths in front of bytes, and lines of the log.

pub(crate) mod buffers;
pub(crate) mod decimal;
pub(crate) mod glob;
pub(crate) mod log_throttle;
pub(crate) mod os;
pub(crate) mod percent;
pub(crate) mod varint;
