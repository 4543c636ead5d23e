//! Text, numbers and files: patterns, decimals, lengths in front of bytes, lines of the log.

pub(crate) mod buffers;
pub(crate) mod decimal;
pub(crate) mod glob;
pub(crate) mod log_throttle;
pub(crate) mod os;
pub(crate) mod percent;
pub(crate) mod varint;
