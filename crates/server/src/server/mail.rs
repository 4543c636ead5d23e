//! Messages to clients, sent with the parts of the server that the sender needs.

use super::server::Server;
use crate::services::idle_time::IdleTimes;
use crate::services::mail::Mail;
use store::Now;

impl Server {
    /// The means to send a message to a client.
    pub(crate) fn mail(&self) -> Mail<'_> {
        Mail { clients: &self.clients, mailboxes: &self.mailboxes }
    }

    /// Sends the pending invalidations to clients that broadcast.
    pub(crate) fn tell_pending(&self) {
        self.tracking.tell_pending(self.mail(), |name| self.view().settings.user(name).cloned());
    }

    /// The idle times of items at this moment.
    pub(crate) fn idle_times(&self, now: Now) -> IdleTimes {
        IdleTimes::at(&self.idle_clock, &self.counters(), self.shards, now)
    }
}
