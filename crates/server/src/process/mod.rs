//! The server as a process: start, background, signals, reload, `larder config check` and
//! `larder ping`.

pub(crate) mod check;
pub(crate) mod daemonize;
pub(crate) mod ping;
pub(crate) mod reload;
pub(crate) mod serve;
