//! Facts about commands and events, without the code that carries them out.

pub(crate) mod command_doc;
pub(crate) mod memcached_events;
