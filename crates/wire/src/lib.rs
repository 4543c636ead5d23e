//! Bytes to commands and back: RESP without sockets.
#![forbid(unsafe_code)]
