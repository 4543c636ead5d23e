//! The subscriptions of a client.

use crate::services::pubsub::{Kind, PubSub, Publication};
use std::collections::BTreeSet;

/// The channels and patterns to which a client is subscribed.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    pub(crate) channels: BTreeSet<Vec<u8>>,
    pub(crate) patterns: BTreeSet<Vec<u8>>,
    pub(crate) sharded: BTreeSet<Vec<u8>>,
}

impl Subscriptions {
    pub(crate) fn of(&mut self, kind: Kind) -> &mut BTreeSet<Vec<u8>> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Sharded => &mut self.sharded,
        }
    }

    /// Whether a published message is for one of these subscriptions.
    pub(crate) fn has(&self, publication: &Publication) -> bool {
        let channel = &publication.channel[..];
        match &publication.pattern {
            Some(pattern) => self.patterns.contains(&pattern[..]),
            None if publication.sharded => self.sharded.contains(channel),
            None => self.channels.contains(channel),
        }
    }

    /// The count in the reply of SUBSCRIBE.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Sharded => self.sharded.len(),
            _ => self.channels.len() + self.patterns.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.sharded.is_empty()
    }

    /// Ends all subscriptions of the client with this id.
    pub(super) fn end(&mut self, pubsub: &PubSub, client: u64) {
        for kind in [Kind::Channel, Kind::Pattern, Kind::Sharded] {
            for name in std::mem::take(self.of(kind)) {
                pubsub.unsubscribe(kind, &name, client);
            }
        }
    }
}
