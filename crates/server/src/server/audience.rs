//! Clients that must hear of a key: subscribers, clients with caches, and monitors.
//!
//! Keyspace notifications are messages about keys on certain channels:
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

use crate::facts::event_classes::{KEYEVENT, KEYSPACE};
use crate::services::mail::{Mail, Mailbox};
use crate::services::monitors::Monitors;
use crate::services::pubsub::PubSub;
use crate::services::tracking::Tracking;
use crate::settings::config::{Settings, TenantConfig};
use crate::values::hash::View as Hash;
use base::TenantId;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Item, Key, Now, Store};

/// The key that an event is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRef<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) db: u8,
    pub(crate) key: &'a [u8],
}

/// Clients that must hear of a key.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    /// Subscribers of channels.
    pub(crate) pubsub: PubSub,
    /// Clients that cache what they read.
    pub(crate) tracking: Tracking,
    /// Clients that watch other clients.
    pub(crate) monitors: Monitors,
    /// Whether the store notes evictions and expirations.
    notes_removals: AtomicBool,
}

impl Audience {
    /// Notes whether the store notes evictions and expirations. Returns whether it did so before.
    pub(super) fn set_notes_removals(&self, notes: bool) -> bool {
        self.notes_removals.swap(notes, Ordering::Relaxed)
    }

    /// Sends an event if the settings include its class.
    pub(crate) fn notify(
        &self,
        mailboxes: &[Mailbox],
        settings: &Settings,
        class: u32,
        event: &str,
        place: KeyRef<'_>,
    ) {
        let classes = settings.notify;
        if classes & class == 0 {
            return;
        }
        let KeyRef { tenant, db, key } = place;
        // If some clients have keys of their own, only clients of that tenant may learn about them.
        let is_told_apart = settings.tenants.iter().any(TenantConfig::is_private);
        let of = is_told_apart.then_some(tenant);
        if classes & KEYSPACE != 0 {
            let channel = [format!("__keyspace@{db}__:").as_bytes(), key].concat();
            self.pubsub.publish(mailboxes, &channel, event.as_bytes(), false, of);
        }
        if classes & KEYEVENT != 0 {
            let channel = format!("__keyevent@{db}__:{event}");
            self.pubsub.publish(mailboxes, channel.as_bytes(), key, false, of);
        }
    }

    /// Notes the next expiry of a field of this key, if it is a hash with such fields, for clients
    /// that must hear of it. At most `max` keys are noted.
    pub(crate) fn note_death(
        &self,
        mail: Mail<'_>,
        store: &Store,
        max: usize,
        key: &Key<'_>,
        now: Now,
    ) {
        let next = |item: &Item<'_>| Hash::of(item)?.next_death(now.unix_ms);
        if let Some(at) = store.peek(key, now, next).flatten() {
            self.tracking.dies(mail, max, at, key);
        }
    }
}
