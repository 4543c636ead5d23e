//! The state that all threads share, how its settings change, and the clients that must hear of a
//! key.

pub(crate) mod audience;
mod clients;
mod logs;
mod memcached_state;
mod observed;
mod process;
mod reconfigure;
pub(crate) mod removal_events;
mod saved;
mod server;
mod turns;
mod view;
pub(crate) mod watch_lines;

pub(crate) use audience::Audience;
pub(crate) use clients::Clients;
pub(crate) use logs::Logs;
pub(crate) use memcached_state::MemcachedState;
pub(crate) use process::{Opened, ProcessInfo};
pub(crate) use server::Server;
pub(crate) use turns::Turns;
pub(crate) use view::{View, Views};
