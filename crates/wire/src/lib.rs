//! Bytes to commands and back, without sockets.
//!
//! A codec neither reads nor writes: it takes a command off the front of bytes that somebody else
//! has read, or puts a reply at the end of bytes that somebody else will write. So it serves the
//! server and the load client alike, and is tested by splitting every input at every byte.
#![forbid(unsafe_code)]

pub mod address;
pub mod memcached;
pub mod resp;
pub mod slots;
