//! The daemon: sockets, commands, configuration.
#![forbid(unsafe_code)]
