//! Channels: the subscribers of all workers.
//!
//! A published message goes into the mailboxes of the workers with subscribers, and each worker
//! writes it to its own clients. Messages are not kept for later subscribers.

use super::mail::{Mailbox, Message};
use crate::text::glob;
use base::TenantId;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The worker of a client, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subscriber {
    pub(crate) worker: usize,
    pub(crate) at: usize,
}

/// A message on its way to one client.
#[derive(Clone, Debug)]
pub(crate) struct Publication {
    /// The pattern that matched, if the client subscribed to a pattern.
    pub(crate) pattern: Option<Arc<[u8]>>,
    pub(crate) channel: Arc<[u8]>,
    pub(crate) message: Arc<[u8]>,
    /// Whether it is a message of a shard channel (`smessage`).
    pub(crate) sharded: bool,
    /// The tenant of the key that the message is about, if only some clients may get it.
    pub(crate) of: Option<TenantId>,
}

type Listeners = HashMap<u64, Subscriber>;

#[derive(Debug, Default)]
struct Tables {
    channels: BTreeMap<Vec<u8>, Listeners>,
    patterns: BTreeMap<Vec<u8>, Listeners>,
    sharded: BTreeMap<Vec<u8>, Listeners>,
}

/// The kind of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Channel,
    Pattern,
    Sharded,
}

/// The subscribers by channel and pattern.
#[derive(Debug, Default)]
pub(crate) struct PubSub(Mutex<Tables>);

impl Tables {
    fn of(&mut self, kind: Kind) -> &mut BTreeMap<Vec<u8>, Listeners> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Sharded => &mut self.sharded,
        }
    }
}

impl PubSub {
    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn subscribe(&self, kind: Kind, name: &[u8], client: u64, place: Subscriber) {
        self.lock().of(kind).entry(name.to_vec()).or_default().insert(client, place);
    }

    pub(crate) fn unsubscribe(&self, kind: Kind, name: &[u8], client: u64) {
        let mut tables = self.lock();
        let table = tables.of(kind);
        if let Some(listeners) = table.get_mut(name) {
            listeners.remove(&client);
            if listeners.is_empty() {
                table.remove(name);
            }
        }
    }

    /// Sends `message` to the subscribers of `channel`. With `of`, only clients that can reach keys
    /// of that tenant get it. Returns the number of subscribers.
    pub(crate) fn publish(
        &self,
        mailboxes: &[Mailbox],
        channel: &[u8],
        message: &[u8],
        sharded: bool,
        of: Option<TenantId>,
    ) -> usize {
        let tables = self.lock();
        let exact = if sharded { &tables.sharded } else { &tables.channels };
        let (to, text): (Arc<[u8]>, Arc<[u8]>) = (channel.into(), message.into());
        let send = |listeners: &Listeners, pattern: Option<Arc<[u8]>>| {
            for (&client, &place) in listeners {
                let publication = Publication {
                    pattern: pattern.clone(),
                    channel: to.clone(),
                    message: text.clone(),
                    sharded,
                    of,
                };
                mailboxes[place.worker].send(Message::Publish(place.at, client, publication));
            }
            listeners.len()
        };
        let mut receivers = exact.get(channel).map_or(0, |listeners| send(listeners, None));
        if !sharded {
            for (pattern, listeners) in &tables.patterns {
                if glob::matches(pattern, channel) {
                    receivers += send(listeners, Some(pattern.as_slice().into()));
                }
            }
        }
        receivers
    }

    /// The channels with subscribers that match the pattern.
    pub(crate) fn channels(&self, kind: Kind, pattern: Option<&[u8]>) -> Vec<Vec<u8>> {
        let mut tables = self.lock();
        let names = tables.of(kind).keys();
        let fits = |name: &&Vec<u8>| pattern.is_none_or(|pattern| glob::matches(pattern, name));
        names.filter(fits).cloned().collect()
    }

    /// The number of subscribers of a channel.
    pub(crate) fn listeners(&self, kind: Kind, name: &[u8]) -> usize {
        self.lock().of(kind).get(name).map_or(0, HashMap::len)
    }

    /// The number of patterns with subscribers.
    pub(crate) fn patterns(&self) -> usize {
        self.lock().patterns.len()
    }
}
