//! Bytes to commands and back, without sockets.
//!
//! A codec does no I/O. It takes a command off the front of bytes that its caller has read, or
//! appends a reply to bytes that its caller will write. So it serves the server and the load client
//! alike, and tests split every input at every byte.
#![forbid(unsafe_code)]

pub mod address;
pub mod memcached;
pub mod resp;
pub mod slots;
