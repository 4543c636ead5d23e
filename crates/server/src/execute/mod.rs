//! The way of a command: admission, observers, the run itself, and commands within a command.

mod admit;
pub(crate) mod cluster;
mod command;
mod hot_keys;
mod http_guard;
mod missing_keys;
mod monitor;
pub(crate) mod nested;
pub(crate) mod observers;
pub(crate) mod permission;
mod queue;
mod refused;
pub(crate) mod request;
pub(crate) mod run;
mod script;
pub(crate) mod slow;
mod tracking;
