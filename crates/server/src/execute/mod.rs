//! The way of a command: admission, observers, the run itself, and commands within a command.

pub(crate) mod admit;
pub(crate) mod cluster;
pub(crate) mod hot_keys;
pub(crate) mod http_guard;
pub(crate) mod missing_keys;
pub(crate) mod monitor;
pub(crate) mod nested;
pub(crate) mod observers;
pub(crate) mod permission;
pub(crate) mod queue;
pub(crate) mod run;
pub(crate) mod slow;
pub(crate) mod tracking;
