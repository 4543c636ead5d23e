//! The state that all threads share, how its settings change, and the clients that must hear of a
//! key.

pub(crate) mod audience;
mod clients;
mod logs;
mod observed;
mod process;
mod reconfigure;
pub(crate) mod removal_events;
mod saved;
mod server;
mod turns;
mod view;
mod views;
pub(crate) mod watch_lines;

pub(crate) use process::Opened;
pub(crate) use server::Server;
pub(crate) use view::View;
