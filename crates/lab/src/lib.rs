//! Everything offline, and the load client.
#![forbid(unsafe_code)]
