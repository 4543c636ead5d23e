//! Code around a command: observers, commands within a command, requests of another protocol.

pub(crate) mod http_guard;
pub(crate) mod nested;
pub(crate) mod observers;
