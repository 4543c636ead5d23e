//! Larder.
#![forbid(unsafe_code)]
