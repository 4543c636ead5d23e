//! Blocked connections: they try again when woken, and wait at most until their timeout.

use super::connection::Connection;
use super::worker::{End, Worker};
use crate::call::Call;
use crate::execute::request::Origin;
use crate::execute::{cluster, nested, slow};
use crate::services::blocked_clients::WaitKey;
use crate::services::pubsub::Kind;
use crate::session::Mute;
use crate::settings::cluster::Cluster;
use std::sync::atomic::Ordering;
use store::Entered;
use wire::resp::{Decoder, Encoder, Limits};
use wire::slots::slot;

/// The time until a client that may not try now tries again, in milliseconds.
pub(super) const LATER_MS: u64 = 10;

const UNBLOCKED: &[u8] = b"UNBLOCKED client unblocked via CLIENT UNBLOCK";

impl Worker {
    /// Repeats the blocked command of a connection, and lets the connection continue if the command
    /// has its reply.
    pub(super) fn attempt(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        let session = &mut connection.session;
        if session.flow.blocked().is_none() {
            return Ok(());
        }
        let now = self.server.clock.now();
        self.now_ms = now.micros.0 / 1_000;
        if self.enter() == Entered::Not {
            self.work.schedule.add_timer(self.now_ms + LATER_MS, connection.token(at));
            return Ok(());
        }
        // The worker that ran alone until now may have begun the pause.
        let pause = &self.server.turns.pause;
        if pause.until(self.now_ms).is_some() && pause.holds(true) {
            self.server.turns.gate.leave(self.number);
            self.work.schedule.add_paused(connection.token(at));
            return Ok(());
        }
        let bound = self.bound(connection);
        let session = &mut connection.session;
        let (server, view) = (&*self.server, &*self.view);
        let Some(wait) = session.flow.blocked_mut() else {
            return Ok(());
        };
        server.turns.blocked.tries(&wait.keys, session.client.id);
        let command = std::mem::take(&mut wait.command);
        session.follow(view);
        let (mut decoder, limits) =
            (Decoder::default(), Limits { bulk_max: u64::MAX, stranger: false });
        if let Ok(Some(args)) = decoder.decode(&command, &limits) {
            let out = Encoder::new(&mut self.output, session.protocol).bounded(bound);
            let now = server.clock.now();
            let mut call = Call { args, out, session, server, view, now };
            let _ = nested::run(&mut call, Origin::Retry);
            if let Some(wait) = session.flow.blocked_mut() {
                wait.took_us += server.clock.micros().0 - now.micros.0;
            }
        }
        server.turns.gate.leave(self.number);
        if self.output.len() > bound {
            session.overflow();
        }
        if let Some(wait) = session.flow.blocked_mut() {
            wait.command = command;
        }
        self.unblock_if_served(at, connection)
    }

    /// Lets a connection continue if it has its reply. Otherwise it stays blocked.
    fn unblock_if_served(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        if self.output.is_empty() {
            return Ok(());
        }
        self.note_waited(connection);
        let is_muted = self.end_wait(at, connection);
        if connection.session.overflows {
            return Err(self.overflows(connection));
        }
        if is_muted || connection.session.mute == Mute::Always {
            self.output.clear();
        }
        self.server.tell_pending();
        // The reply is written first. Then the commands behind it run.
        self.reply(at, connection)?;
        self.go_on(at, connection)
    }

    /// Logs a blocked command that took long or has a large reply.
    fn note_waited(&mut self, connection: &mut Connection) {
        let (server, view, reply) = (&*self.server, &*self.view, self.output.len());
        let session = &mut connection.session;
        let Some(wait) = session.flow.blocked() else { return };
        let is_large = reply as u64 >= view.settings.large_from();
        let took_us = wait.took_us;
        if !view.settings.is_slow(took_us) && !is_large {
            return;
        }
        let (mut decoder, limits) =
            (Decoder::default(), Limits { bulk_max: u64::MAX, stranger: false });
        let command = wait.command.clone();
        let Ok(Some(args)) = decoder.decode(&command, &limits) else {
            return;
        };
        let words: Vec<&[u8]> = args.iter_from(0).collect();
        slow::note_slow(&server.logs, view, &session.client, &words, took_us, 1);
        if is_large {
            let out = Encoder::new(&mut self.output, session.protocol);
            let now = server.clock.now();
            slow::note_large(&Call { args, out, session, server, view, now }, 0, reply);
        }
    }

    /// Ends a connection's wait, and wakes the next client of each of its keys. Returns whether the
    /// client wants no reply.
    pub(super) fn end_wait(&mut self, at: usize, connection: &mut Connection) -> bool {
        let Some(wait) = connection.session.unblock() else {
            return false;
        };
        let id = connection.session.client.id;
        self.work.schedule.remove_timer(wait.until_ms, connection.token(at));
        let (server, mailboxes) = (&*self.server, self.server.clients.mailboxes());
        let now = server.clock.now();
        server.turns.end_wait(mailboxes, &server.store, &wait.keys, id, now);
        wait.is_muted
    }

    /// Ends a client's wait because of its timeout or CLIENT UNBLOCK.
    pub(super) fn unblock(
        &mut self,
        at: usize,
        connection: &mut Connection,
        is_error: bool,
    ) -> Result<(), End> {
        if connection.session.flow.blocked().is_none() {
            return Ok(());
        }
        let mut out = Encoder::new(&mut self.output, connection.session.protocol);
        if is_error {
            out.error(UNBLOCKED);
            self.count_failed(connection, UNBLOCKED);
        } else {
            out.null_array();
        }
        self.unblock_if_served(at, connection)
    }

    /// After a change of slots, redirects the clients that wait for keys of moved slots, and ends
    /// subscriptions to shard channels of these slots.
    pub(super) fn leave_slots(&mut self) {
        let Some(cluster) = self.view.cluster.clone() else {
            return;
        };
        for at in 0..self.work.connections.len() {
            self.with_whoever(at, |worker, at, connection| {
                worker.send_on(at, connection, &cluster)
            });
            self.leave_channels(at, &cluster);
        }
    }

    /// Redirects a blocked client if its keys have moved.
    fn send_on(
        &mut self,
        at: usize,
        connection: &mut Connection,
        cluster: &Cluster,
    ) -> Result<(), End> {
        let session = &connection.session;
        let Some(wait) = session.flow.blocked() else { return Ok(()) };
        let Err(elsewhere) = cluster.check(wait.keys.iter().map(WaitKey::bytes)) else {
            return Ok(());
        };
        let failure = cluster::redirect(&self.view, &session.client, elsewhere);
        self.count_failed(connection, failure.text());
        Encoder::new(&mut self.output, session.protocol).error(failure.text());
        self.unblock_if_served(at, connection)
    }

    /// Counts a failure of a client's blocked command.
    fn count_failed(&self, connection: &Connection, text: &[u8]) {
        let number = connection.session.client.command.load(Ordering::Relaxed);
        self.counters().commands[usize::from(number)].failed.add(1);
        self.server.stats.error(text);
    }

    fn leave_channels(&mut self, at: usize, cluster: &Cluster) {
        let Some(connection) = &mut self.work.connections[at] else {
            return;
        };
        let session = &mut connection.session;
        let Some(all) = &mut session.subscriptions else {
            return;
        };
        let is_gone = |name: &&Vec<u8>| !cluster.is_mine(slot(name));
        let gone: Vec<_> = all.sharded.iter().filter(is_gone).cloned().collect();
        let mut out = Encoder::new(&mut self.output, session.protocol);
        let before = all.sharded.len();
        all.sharded.retain(|name| cluster.is_mine(slot(name)));
        for (name, at) in gone.iter().zip(1..) {
            self.server.audience.pubsub.unsubscribe(Kind::Sharded, name, session.client.id);
            out.push(3);
            out.bulk(b"sunsubscribe");
            out.bulk(name);
            out.integer((before - at) as i64);
        }
        session.client.sharded.store(all.sharded.len() as u64, Ordering::Relaxed);
        if all.is_empty() {
            session.subscriptions = None;
        }
        if !gone.is_empty() {
            self.push(at);
        }
    }
}
