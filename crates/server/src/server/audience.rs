//! Keyspace notifications: messages about keys on certain channels.
//!
//! ```text
//!   __keyspace@0__:user:7   set          what happened to a key
//!   __keyevent@0__:expired  user:7       which key something happened to
//! ```
//!
//! `notify-keyspace-events` names the classes of events that are sent. Without classes an event
//! costs one test. Evictions and expirations are sent when the store notes them
//! (`removal_events.rs`).
//!
//! A notification about a key goes only to clients that can reach the key.

use super::server::Server;
use super::view::View;
use crate::facts::event_classes::{KEYEVENT, KEYSPACE};
use base::TenantId;

/// The key that an event is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRef<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) db: u8,
    pub(crate) key: &'a [u8],
}

/// Sends an event if the settings include its class.
pub(crate) fn tell(server: &Server, view: &View, class: u32, event: &str, place: KeyRef<'_>) {
    let classes = view.settings.notify;
    if classes & class == 0 {
        return;
    }
    let KeyRef { tenant, db, key } = place;
    // If some clients have keys of their own, only clients of that tenant may learn about them.
    let is_told_apart =
        view.settings.tenants.iter().any(crate::settings::config::TenantConfig::is_private);
    let of = is_told_apart.then_some(tenant);
    if classes & KEYSPACE != 0 {
        let channel = [format!("__keyspace@{db}__:").as_bytes(), key].concat();
        server.pubsub.publish(&server.mailboxes, &channel, event.as_bytes(), false, of);
    }
    if classes & KEYEVENT != 0 {
        let channel = format!("__keyevent@{db}__:{event}");
        server.pubsub.publish(&server.mailboxes, channel.as_bytes(), key, false, of);
    }
}
