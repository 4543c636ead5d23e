//! Connections that are blocked: they try anew when they are told to, and wait no longer than they
//! said.

use super::{End, Worker};
use crate::commands::{self, Call};
use crate::connection::Connection;
use crate::session::Mute;
use store::Entered;
use wire::resp::{Decoder, Encoder, Limits};

/// How long a client that may not try now waits until it may, in milliseconds.
pub(super) const LATER_MS: u64 = 10;

impl Worker {
    /// A command of the connection waits from here on, if one does: not for ever, perhaps.
    pub(super) fn note_blocked(&mut self, at: usize, connection: &Connection) {
        if let Some(wait) = &connection.session.blocked
            && wait.until_ms < u64::MAX
        {
            self.work.timeouts.insert((wait.until_ms, at, connection.session.client.id));
        }
    }

    /// Whether the connection is over though it is blocked.
    pub(super) fn stays(connection: &Connection) -> Result<(), End> {
        let is_over = connection.session.blocked.is_some() && connection.read_closed;
        if is_over { Err(End::Gone) } else { Ok(()) }
    }

    /// A client was told that a key it waits for is ready: it tries.
    pub(super) fn attempts(&mut self, at: usize, id: u64) {
        if !self.is(at, id) {
            return;
        }
        let Some(mut connection) = self.work.connections[at].take() else { return };
        self.attempt(at, &mut connection);
        self.keep_unless_served(at, connection);
    }

    /// Carries out anew what a connection waits for; the reply, if there is one, is in the output.
    fn attempt(&mut self, at: usize, connection: &mut Connection) {
        let session = &mut connection.session;
        let Some(mut wait) = session.blocked.take() else { return };
        let now = self.shared.clock.now();
        self.now_ms = now.micros.0 / 1_000;
        let pause = &self.shared.pause;
        let is_paused = pause.until(self.now_ms).is_some() && pause.holds(true);
        if is_paused || self.enter() == Entered::Not {
            self.work.postponed.push((at, session.client.id));
            session.blocked = Some(wait);
            return;
        }
        let bound = self.bound(connection);
        let session = &mut connection.session;
        let (shared, view) = (&*self.shared, &*self.view);
        shared.blocked.tries(&wait.keys, session.client.id);
        let command = std::mem::take(&mut wait.command);
        session.blocked = Some(wait);
        session.follow(view);
        let (mut decoder, limits) =
            (Decoder::default(), Limits { bulk_max: u64::MAX, stranger: false });
        if let Ok(Some(args)) = decoder.decode(&command, &limits) {
            let out = Encoder::new(&mut self.output, session.protocol).bounded(bound);
            let now = shared.clock.now();
            commands::run_again(&mut Call { args, out, session, shared, view, now });
        }
        shared.gate.leave(self.number);
        if self.output.len() > bound {
            session.overflow();
        }
        if let Some(wait) = &mut session.blocked {
            wait.command = command;
        }
    }

    /// A connection that has its reply goes on; one that has none stays as it is.
    fn keep_unless_served(&mut self, at: usize, mut connection: Box<Connection>) {
        if self.output.is_empty() || connection.session.blocked.is_none() {
            self.work.connections[at] = Some(connection);
            return;
        }
        let overflows = connection.session.overflows();
        let is_muted = self.end_wait(at, &mut connection);
        if overflows {
            self.overflows(&connection);
            self.keep(at, connection, true);
            return;
        }
        if is_muted || connection.session.mute == Mute::Always {
            self.output.clear();
        }
        self.shared.tracking.tell_pending(&self.shared);
        // The reply is written, then the commands are carried out that came behind.
        let result = self.reply(at, &mut connection);
        let result = result.and_then(|()| self.received(at, &mut connection, &[]));
        self.keep(at, connection, result.is_err());
    }

    /// A connection waits no longer, and the next of those who wait for its keys may try. Whether
    /// its client wants no reply.
    pub(super) fn end_wait(&mut self, at: usize, connection: &mut Connection) -> bool {
        let Some(wait) = connection.session.unblock() else { return false };
        let id = connection.session.client.id;
        self.work.timeouts.remove(&(wait.until_ms, at, id));
        self.shared.end_wait(&wait.keys, id, self.shared.clock.now());
        wait.is_muted
    }

    /// A client waits no longer: its time is over, or somebody says so.
    pub(super) fn unblock(&mut self, at: usize, id: u64, is_error: bool) {
        if !self.is(at, id) {
            return;
        }
        let Some(connection) = self.work.connections[at].take() else { return };
        if connection.session.blocked.is_some() {
            let mut out = Encoder::new(&mut self.output, connection.session.protocol);
            if is_error {
                out.error(b"UNBLOCKED client unblocked via CLIENT UNBLOCK");
            } else {
                out.null_array();
            }
        }
        self.keep_unless_served(at, connection);
    }

    /// Lets those try that could not when they were told to, and ends the waits that are over.
    pub(super) fn wake_blocked(&mut self) {
        for (at, id) in std::mem::take(&mut self.work.postponed) {
            self.attempts(at, id);
        }
        while let Some(&(until_ms, at, id)) = self.work.timeouts.first()
            && until_ms <= self.now_ms
        {
            self.work.timeouts.pop_first();
            self.unblock(at, id, false);
        }
    }
}
