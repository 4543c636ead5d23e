//! The connected clients, the mailboxes of the workers that serve them, and refused connections.

use crate::services::clients::{Client, ClientTable, Peer};
use crate::services::login_backoff::LoginBackoff;
use crate::services::mail::{Mail, Mailbox, Message};
use crate::services::pubsub::Subscriber;
use crate::text::log_throttle::LogThrottle;
use std::sync::Arc;

/// The connected clients.
#[derive(Debug)]
pub(crate) struct Clients {
    table: ClientTable,
    mailboxes: Vec<Mailbox>,
    /// Addresses that sent wrong passwords.
    backoff: LoginBackoff,
    /// Connections that the system refused.
    unaccepted: LogThrottle,
}

impl Clients {
    /// No clients yet, and a mailbox for each worker.
    pub(super) fn new(mailboxes: Vec<Mailbox>) -> Self {
        let (table, backoff) = (ClientTable::default(), LoginBackoff::default());
        Self { table, mailboxes, backoff, unaccepted: LogThrottle::default() }
    }

    /// The means to send a message to a client.
    pub(crate) fn mail(&self) -> Mail<'_> {
        Mail { clients: &self.table, mailboxes: &self.mailboxes }
    }

    /// The mailboxes of the workers, by number.
    pub(crate) fn mailboxes(&self) -> &[Mailbox] {
        &self.mailboxes
    }

    /// Sends a message to a worker.
    pub(crate) fn send(&self, worker: usize, message: Message) {
        self.mailboxes[worker].send(message);
    }

    /// Wakes all workers.
    pub(crate) fn wake_workers(&self) {
        self.mailboxes.iter().for_each(Mailbox::wake);
    }

    /// The delays of clients that sent wrong passwords.
    pub(crate) fn backoff(&self) -> &LoginBackoff {
        &self.backoff
    }

    /// Logs, at most once a minute, that the system refused a connection.
    pub(crate) fn note_unaccepted(&self, error: &std::io::Error, now_ms: u64) {
        if let Some((since, all)) = self.unaccepted.count(now_ms) {
            tracing::warn!(
                "cannot accept a connection: {error}: raise ulimit -n, or lower maxclients; \
                 {since} failures since the last such line, {all} in all"
            );
        }
    }

    /// Registers a client, unless `max` are connected.
    pub(crate) fn connect(
        &self,
        peer: Peer,
        place: Subscriber,
        now_ms: u64,
        max: usize,
    ) -> Option<Arc<Client>> {
        self.table.connect(peer, place, now_ms, max)
    }

    pub(crate) fn disconnect(&self, id: u64) {
        self.table.disconnect(id);
    }

    /// The client with this id.
    pub(crate) fn get(&self, id: u64) -> Option<Arc<Client>> {
        self.table.get(id)
    }

    /// Whether the client with this id is connected.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.table.has(id)
    }

    /// All clients, the longest connected first.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.table.all()
    }
}
