//! The server as a process: start, signals, and the limits of the system.

pub(crate) mod daemonize;
pub(crate) mod ping;
pub(crate) mod reload;
pub(crate) mod serve;
