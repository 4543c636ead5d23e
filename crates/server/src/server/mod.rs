//! The state that all threads share, how its settings change, and the clients that must hear of a
//! key.

pub(crate) mod audience;
pub(crate) mod field_expiry;
mod mail;
mod reconfigure;
pub(crate) mod removal_events;
mod server;
mod turns;
mod view;
pub(crate) mod watch_lines;

pub(crate) use server::Server;
pub(crate) use view::View;
