//! Facts about commands and events, without the code that carries them out.

pub(crate) mod access;
mod accesses;
mod command_doc;
pub(crate) mod event_classes;
mod facts;
pub(crate) mod flag;
mod keys;
pub(crate) mod memcached_events;
mod speaks;
pub(crate) mod table;
pub(crate) mod unsupported;
mod version;

pub(crate) use accesses::{Access, Accesses, Channels, Databases};
pub use command_doc::CommandDoc;
pub(crate) use facts::Facts;
pub(crate) use keys::{ALL_KEYS, COUNTED_KEYS, KEY_VALUES, Keys, NO_KEY, ONE_KEY, Places};
pub(crate) use speaks::Speaks;
pub(crate) use version::{HTTP_PORT_DEFAULT, REDIS_VERSION};
