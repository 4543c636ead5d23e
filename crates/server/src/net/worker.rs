//! A worker: one thread with one event loop, and the connections that it was handed.
//!
//! The loop waits by a [`Driver`], which owns the sockets. The input of one wait is handled in
//! small batches across connections. First the worker prefetches the key of each connection's first
//! command. Then it runs each connection's complete commands in order, and replies. With epoll a
//! reply is written at once. With io_uring the replies of all connections are sent together when
//! the next wait begins. A single request waits for no other.
//!
//! Only the rest of an unfinished command is copied to its connection. A client that sends more
//! than a buffer holds is read again after the others have had their turn.
//!
//! A client that reads more slowly than it sends requests has waiting replies. Above
//! [`REPLIES_MAX`](super::replies::REPLIES_MAX) it is not served until they are sent. So the server
//! holds at most that and one more reply for it, and only a little more of its commands. A client
//! that reads as fast as it sends gives way to others after the same number of bytes. The
//! clock is read once for each read.

use super::acceptor::Acceptor;
use super::connection::Connection;
use super::driver;
use super::driver::{Driver, Event, Token};
use super::schedule::Schedule;
use crate::facts::Speaks;
use crate::server::watch_lines;
use crate::server::{Server, View};
use crate::services::clients::{Client, Peer};
use crate::services::mail::Message;
use crate::services::pubsub;
use crate::services::stats;
use crate::services::stream::Stream;
use crate::session::Session;
use mio::Poll;
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::Entered;

/// The interval between two looks for idle clients, in milliseconds.
pub(super) const TICK_MS: u64 = 1_000;
/// The bytes that a client may send ahead while it waits, before nothing more is received from it.
pub(super) const AHEAD_MAX: usize = 64 << 10;
/// The initial room for the replies to one read, in bytes.
pub(super) const OUTPUT: usize = 64 << 10;

/// The reason why a connection ends.
pub(super) enum End {
    /// The client disconnected, or its socket failed.
    Gone,
    /// The server closes it.
    Closed,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The connections of a worker, and the work to do for them.
#[derive(Default)]
pub(super) struct Work {
    pub(super) connections: Vec<Option<Box<Connection>>>,
    vacant: Vec<usize>,
    /// Events that are not handled yet.
    pub(super) events: VecDeque<Event>,
    /// The number of them whose keys are prefetched.
    pub(super) ahead: usize,
    pub(super) schedule: Schedule,
    /// Messages that are not handled yet.
    pub(super) mail: VecDeque<Message>,
    /// Messages about the connection for which a script runs, kept until the script has ended.
    pub(super) postponed_mail: Vec<Message>,
    /// The connection for which a script runs, if it is not read until the script has ended.
    pub(super) unread: Option<Token>,
    /// The acceptor of new connections, if no other thread has it.
    pub(super) acceptor: Option<Acceptor>,
}

/// The event loop of one thread.
pub(crate) struct Worker {
    pub(super) number: usize,
    pub(super) driver: Rc<RefCell<dyn Driver>>,
    pub(super) server: Arc<Server>,
    pub(super) view: Arc<View>,
    pub(super) work: Work,
    /// The replies to the commands that are running.
    pub(super) output: Vec<u8>,
    pub(super) now_ms: u64,
    pub(super) ticked_ms: u64,
    /// The number of batches of commands in this second.
    pub(super) batches: u64,
    /// The place of the client for which a script runs in this thread, if this worker stands in
    /// meanwhile.
    pub(super) stands_in_for: Option<usize>,
}

/// A worker that fails must not keep others waiting at the gate.
impl Drop for Worker {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Worker {
    /// A worker for the calling thread.
    pub(crate) fn new(number: usize, poll: Poll, server: Arc<Server>) -> Self {
        let driver = driver::choose(poll, number, server.view.now().settings.io_uring);
        server.process.note_driver(driver.borrow().name());
        Self {
            number,
            driver,
            view: server.view.now(),
            server,
            work: Work::default(),
            output: Vec::with_capacity(OUTPUT),
            now_ms: 0,
            ticked_ms: 0,
            batches: 0,
            stands_in_for: None,
        }
    }

    /// Serves until the server ends, and accepts connections if it gets the acceptor. The count of
    /// instructions begins and ends with this function, so it keeps its name.
    #[inline(never)]
    pub(crate) fn run(mut self, acceptor: Option<Acceptor>) {
        self.work.acceptor = acceptor;
        while !self.server.process.is_stopping() {
            if let Err(error) = self.turn() {
                tracing::error!(%error, "worker {} cannot wait for events and ends", self.number);
                return;
            }
        }
        for at in 0..self.work.connections.len() {
            self.close(at);
        }
    }

    /// Waits for events once, and handles all of them.
    pub(super) fn turn(&mut self) -> io::Result<()> {
        let is_idle = !self.work.schedule.is_any_ready() && self.work.events.is_empty();
        let wait = if is_idle { self.wait_ms() } else { 0 };
        self.wait(Duration::from_millis(wait))?;
        self.counters().polls.add(1);
        if let Some(view) = self.server.view.newer(&self.view) {
            let before = std::mem::replace(&mut self.view, view);
            if before.cluster != self.view.cluster {
                self.leave_slots();
            }
        }
        let is_quiet = self.work.events.is_empty();
        // Events that arrive meanwhile are for the next turn.
        for _ in 0..self.work.events.len() {
            let Some(event) = self.next_event() else {
                break;
            };
            self.event(event);
        }
        self.continue_ready();
        if is_quiet {
            self.accept_again();
        }
        if is_quiet || self.work.schedule.awaits_time() {
            self.now_ms = self.server.clock.micros().0 / 1_000;
        }
        self.wake();
        self.tick();
        Ok(())
    }

    /// Sends the gathered replies, and waits for the events of the next turn.
    pub(super) fn wait(&mut self, most: Duration) -> io::Result<()> {
        self.driver.borrow_mut().wait(most, &mut self.work.events)?;
        self.work.schedule.begin_turn();
        Ok(())
    }

    pub(super) fn driver(&self) -> RefMut<'_, dyn Driver> {
        self.driver.borrow_mut()
    }

    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Received(token, bytes) => {
                self.with(token, |worker, at, connection| worker.take(at, connection, &bytes));
                self.driver().recycle(bytes);
            }
            Event::Sent(token) => self.with(token, Self::note_sent),
            Event::HungUp(token) => self.with(token, Self::hung_up),
            Event::Failed(token) => self.with(token, |_, _, _| Err(End::Gone)),
            Event::Mail => self.mail(),
            Event::Connections => self.accept(),
        }
    }

    /// Continues the connections that are ready in this turn. A script may run for one of them: the
    /// others stay where its stand-in finds them.
    pub(super) fn continue_ready(&mut self) {
        while let Some(token) = self.work.schedule.next_ready() {
            self.with(token, Self::continue_one);
        }
    }

    pub(super) fn counters(&self) -> &stats::Worker {
        &self.server.stats.workers[self.number]
    }

    /// Handles the messages in the mailbox.
    pub(super) fn mail(&mut self) {
        self.work.mail.append(&mut self.server.clients.mailboxes()[self.number].take());
        while let Some(message) = self.work.mail.pop_front() {
            if message.at().is_some() && message.at() == self.stands_in_for {
                // This connection is busy and gets the message later.
                self.work.postponed_mail.push(message);
                continue;
            }
            match message {
                Message::Connect(stream, peer) => self.connect(stream, peer),
                Message::Kill(at, id) => {
                    if self.is(at, id) {
                        self.close(at);
                    }
                }
                Message::Ready(at, id) => self.with(Token { at, id }, Self::attempt),
                Message::Unblock(at, id, is_error) => {
                    self.with(Token { at, id }, |worker, at, connection| {
                        worker.unblock(at, connection, is_error)
                    });
                }
                Message::Users => self.check_users(),
                Message::Publish(at, id, publication) => {
                    if self.is(at, id) {
                        self.publish(at, &publication);
                    }
                }
                Message::Line(at, id, line) => {
                    if self.is(at, id) {
                        self.watched(at, &line);
                    }
                }
                Message::Told(at, id, bytes) => {
                    if self.is(at, id) {
                        self.output.extend_from_slice(&bytes);
                        self.push(at);
                    }
                }
            }
        }
    }

    /// Closes the clients whose user is gone, or that may not keep their subscriptions.
    fn check_users(&mut self) {
        for at in 0..self.work.connections.len() {
            let Some(connection) = &mut self.work.connections[at] else {
                continue;
            };
            let session = &mut connection.session;
            session.follow(&self.view);
            if !session.may_stay(&self.view) {
                self.close(at);
            }
        }
    }

    /// Whether the client with this id is still at this place.
    pub(super) fn is(&self, at: usize, id: u64) -> bool {
        let found = self.work.connections.get(at).and_then(Option::as_ref);
        found.is_some_and(|connection| connection.session.client.id == id)
    }

    /// Calls `f` with a connection, if it is still there. Closes the connection if `f` returns an
    /// error.
    pub(super) fn with(
        &mut self,
        token: Token,
        f: impl FnOnce(&mut Self, usize, &mut Connection) -> Result<(), End>,
    ) {
        let found = self.work.connections.get_mut(token.at).and_then(Option::as_mut);
        if found.is_some_and(|connection| connection.session.client.id == token.id) {
            self.with_whoever(token.at, f);
        }
    }

    /// [`Self::with`] for any connection at this place.
    pub(super) fn with_whoever(
        &mut self,
        at: usize,
        f: impl FnOnce(&mut Self, usize, &mut Connection) -> Result<(), End>,
    ) {
        let Some(mut connection) = self.work.connections.get_mut(at).and_then(Option::take) else {
            return;
        };
        let result = f(self, at, &mut connection);
        self.work.connections[at] = Some(connection);
        if result.is_err() {
            // The rest of its replies must not reach the next client.
            self.output.clear();
            self.close(at);
        }
    }

    pub(super) fn connect(&mut self, mut stream: Stream, peer: Peer) {
        let now_ms = self.server.clock.micros().0 / 1_000;
        let max = self.view.settings.maxclients;
        let at = self.work.vacant.last().copied().unwrap_or(self.work.connections.len());
        let (place, speaks) = (pubsub::Subscriber { worker: self.number, at }, peer.speaks);
        let Some(client) = self.server.clients.connect(peer, place, now_ms, max) else {
            self.server.stats.rejected_connections.fetch_add(1, Ordering::Relaxed);
            let _ = stream.write(match speaks {
                // Clients know the first line by heart; the second is for people who read on.
                Speaks::Redis => b"-ERR max number of clients reached\r\n\
                    -ERR maxclients is the setting\r\n"
                    .as_slice(),
                Speaks::Memcached => b"ERROR Too many open connections (maxclients)\r\n",
            });
            return;
        };
        self.server.stats.connections.fetch_add(1, Ordering::Relaxed);
        if self.work.vacant.pop().is_none() {
            self.work.connections.push(None);
        }
        let needs_token = speaks == Speaks::Memcached && !self.view.tokens.is_empty();
        let session = Session::new(client, &self.view, needs_token);
        self.show_connection(&session.client, None);
        let connection = Connection::new(session);
        let added = self.driver().add(connection.token(at), stream);
        self.work.connections[at] = Some(Box::new(connection));
        if let Err(error) = added {
            tracing::warn!(%error, "cannot watch a connection for events; closed it");
            self.close(at);
        }
    }

    /// Shows watchers that a client has connected, or that it has disconnected and why.
    fn show_connection(&self, client: &Client, left: Option<&str>) {
        let server = &self.server;
        let (monitors, mailboxes) = (&server.audience.monitors, server.clients.mailboxes());
        watch_lines::connection(monitors, mailboxes, client, left);
    }

    pub(super) fn close(&mut self, at: usize) {
        let Some(mut connection) = self.work.connections[at].take() else {
            return;
        };
        let ending = connection.session.ending;
        self.show_connection(&connection.session.client, Some(ending));
        self.end_wait(at, &mut connection);
        let id = connection.session.client.id;
        connection.session.unsubscribe_all(&self.server.audience.pubsub);
        self.server.audience.monitors.leave(id);
        self.server.audience.tracking.leave(id);
        self.driver().remove(Token { at, id });
        self.server.clients.disconnect(id);
        self.work.vacant.push(at);
    }

    /// Closes idle clients and frees memory, once a second.
    fn tick(&mut self) {
        let now_ms = self.now_ms;
        if now_ms < self.ticked_ms + TICK_MS {
            return;
        }
        self.ticked_ms = now_ms;
        self.batches = 0;
        self.accept_again();
        if self.number == 0 {
            if self.enter() != Entered::Not {
                self.server.flush_due();
                self.leave();
            }
            self.server.observed.idle_clock.note(&self.server.counters(), now_ms);
        }
        let timeout_ms = self.view.settings.timeout * 1_000;
        for at in 0..self.work.connections.len() {
            let Some(mut connection) = self.work.connections[at].take() else {
                continue;
            };
            connection.shrink();
            let idle_ms =
                now_ms.saturating_sub(connection.session.client.last_ms.load(Ordering::Relaxed));
            let idle = timeout_ms > 0 && idle_ms > timeout_ms && !connection.session.listens();
            let idle = idle && connection.session.flow.blocked().is_none();
            let slow = connection.waiting > 0 && self.check_output(&mut connection).is_err();
            if idle {
                let address = &connection.session.client.address;
                tracing::debug!("closed client {address}: it was idle for longer than timeout");
                connection.session.ending = "idle_timeout";
                self.server.stats.idle_closed.fetch_add(1, Ordering::Relaxed);
            }
            self.work.connections[at] = Some(connection);
            if idle || slow {
                self.close(at);
            }
        }
    }
}
