//! A worker: one thread, one event loop, the connections it was handed.
//!
//! The loop waits by a [`Driver`]. What one wait brought is taken in small batches, across
//! connections: first memory is asked for what the first command of each is about, then each
//! connection's whole commands are carried out and answered, in order. By epoll a reply is written
//! at once; by io_uring the replies of all connections are sent together, when the next wait
//! begins. A request that comes alone waits for nobody.
//!
//! Only what is left of an unfinished command is copied to the connection. A client that sends more
//! than fits a buffer is read again after the others have had their turn.
//!
//! A client whose replies wait, for it reads more slowly than it asks, is neither read nor served
//! until they are gone: what it may make the server hold is [`REPLIES_MAX`](replies::REPLIES_MAX)
//! and one reply more, and the rest of its commands stays in its own buffers. One that reads as
//! fast as it asks gives way to others after as many bytes.
//!
//! The clock is read once for the commands of one read.

mod arrivals;
mod blocked;
mod driver;
mod execute;
mod group;
mod hooks;
mod lookahead;
mod mail;
mod replies;
mod standby;
mod waiting;

pub(crate) use mail::{Mailbox, Message};
pub(crate) use standby::serve_meanwhile;

use crate::clients::Peer;
use crate::connection::{Connection, Stream};
use crate::listen::Speaks;
use crate::memcached;
use crate::pubsub;
use crate::session::Session;
use crate::shared::{Shared, View};
use crate::stats;
use arrivals::Arrival;
use driver::{Driver, Event, Place};
use mio::Poll;
use std::cell::{RefCell, RefMut};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::Entered;

/// How often idle clients are looked for.
const TICK_MS: u64 = 1_000;
/// Room for the replies to one read.
const OUTPUT: usize = 64 << 10;

/// Why a connection ends.
enum End {
    /// The client left, or its socket failed.
    Gone,
    /// The server closes it.
    Closed,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The connections of a worker, and what there is to do for them.
#[derive(Default)]
struct Work {
    connections: Vec<Option<Box<Connection>>>,
    vacant: Vec<usize>,
    /// What has happened and is not seen to yet.
    events: VecDeque<Event>,
    /// What clients have sent and is not carried out yet.
    batch: VecDeque<Arrival>,
    /// Connections whose replies are gathered.
    gathered: Vec<usize>,
    /// Connections that are closed once their gathered replies are sent.
    ending: Vec<Place>,
    /// Connections that had more to read when their turn ended.
    again: VecDeque<usize>,
    /// Connections that tried a wrong password: when they go on, where they are, their ids.
    backing_off: Vec<(u64, usize, u64)>,
    /// Connections whose next command waits for the end of a pause: where they are, their ids.
    paused: Vec<(usize, u64)>,
    /// When the waits of blocked connections end, where they are, their ids.
    timeouts: BTreeSet<(u64, usize, u64)>,
    /// Blocked connections that try a little later: where they are, their ids.
    postponed: Vec<(usize, u64)>,
    /// Messages about the connection that a script runs for, to be read once it is over.
    postponed_mail: Vec<Message>,
}

/// One thread's event loop.
pub(crate) struct Worker {
    number: usize,
    driver: Rc<RefCell<dyn Driver>>,
    shared: Arc<Shared>,
    view: Arc<View>,
    work: Work,
    /// Replies to the commands that are carried out.
    output: Vec<u8>,
    now_ms: u64,
    ticked_ms: u64,
    /// Batches of commands in this second.
    batches: u64,
    /// It stands in while a script runs in its thread, whose client is at this place.
    stands_in_for: Option<usize>,
}

/// A worker that fails keeps no other waiting at the gate.
impl Drop for Worker {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Worker {
    /// A worker of the thread that calls.
    pub(crate) fn new(number: usize, poll: Poll, shared: Arc<Shared>) -> Self {
        let driver = driver::choose(poll, number, &shared);
        if number == 0 {
            shared.note_driver(driver.borrow().name());
        }
        Self {
            number,
            driver,
            view: shared.view(),
            shared,
            work: Work::default(),
            output: Vec::with_capacity(OUTPUT),
            now_ms: 0,
            ticked_ms: 0,
            batches: 0,
            stands_in_for: None,
        }
    }

    /// Serves until the server ends.
    pub(crate) fn run(mut self) {
        while !self.shared.is_stopping() {
            if let Err(error) = self.turn() {
                tracing::error!(%error, "worker {} cannot wait for events and ends", self.number);
                return;
            }
        }
        for at in 0..self.work.connections.len() {
            self.close(at);
        }
    }

    /// Waits for events once, and sees to all that there are.
    fn turn(&mut self) -> io::Result<()> {
        let is_idle = self.work.again.is_empty() && self.work.events.is_empty();
        // A connection that closes does so once its last replies are sent, which is now.
        let is_idle = is_idle && self.work.ending.is_empty();
        let wait = if is_idle { self.wait_ms() } else { 0 };
        self.gather();
        self.wait(Duration::from_millis(wait))?;
        self.counters().polls.add(1);
        if let Some(view) = self.shared.newer(&self.view) {
            let before = std::mem::replace(&mut self.view, view);
            if before.cluster != self.view.cluster {
                self.leave_slots();
            }
        }
        let is_quiet = self.work.events.is_empty();
        // What comes meanwhile is for the next turn.
        for _ in 0..self.work.events.len() {
            let Some(event) = self.work.events.pop_front() else { break };
            self.event(event);
        }
        // A script may run for one of them: the others stay where its stand-in finds them.
        for _ in 0..self.work.again.len() {
            let Some(at) = self.work.again.pop_front() else { break };
            self.ready(at, false, false);
        }
        self.carry_out();
        self.end_sent();
        if is_quiet || self.looks_at_time() {
            self.now_ms = self.shared.clock.micros().0 / 1_000;
        }
        self.wake_backed_off();
        self.wake_paused();
        self.wake_blocked();
        self.tick();
        Ok(())
    }

    /// Sends what is gathered, and waits for events.
    fn wait(&mut self, most: Duration) -> io::Result<()> {
        let mut driver = self.driver.borrow_mut();
        driver.wait(most, &mut self.work.events)?;
        drop(driver);
        self.keep_unsent();
        Ok(())
    }

    fn driver(&self) -> RefMut<'_, dyn Driver> {
        self.driver.borrow_mut()
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Received(place, bytes) => return self.arrived(place, bytes),
            Event::Ready(at, is_writable, is_closed) => {
                return self.ready(at, is_writable, is_closed);
            }
            _ => {}
        }
        // What a client has sent before comes before its end.
        self.carry_out();
        match event {
            Event::Mail => self.mail(),
            Event::Closed(place) => self.with(place, Self::sends_no_more),
            Event::Failed(place) => self.with(place, |_, _, _| Err(End::Gone)),
            Event::Paused(place) => self.with(place, Self::receives_no_more),
            Event::Received(..) | Event::Ready(..) => {}
        }
    }

    fn counters(&self) -> &stats::Worker {
        &self.shared.stats.workers[self.number]
    }

    /// Takes what the mailbox holds.
    fn mail(&mut self) {
        for message in self.shared.mailboxes[self.number].take() {
            if message.at().is_some() && message.at() == self.stands_in_for {
                // It is busy, and hears of it later.
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
                Message::Ready(at, id) => self.attempts(at, id),
                Message::Unblock(at, id, is_error) => self.unblock(at, id, is_error),
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

    /// Closes the clients whose user is no more, or that listen where they may not.
    fn check_users(&mut self) {
        for at in 0..self.work.connections.len() {
            let Some(connection) = &mut self.work.connections[at] else { continue };
            let session = &mut connection.session;
            session.follow(&self.view);
            if !session.may_stay(&self.view) {
                self.close(at);
            }
        }
    }

    /// Whether the client with this id is still at this place.
    fn is(&self, at: usize, id: u64) -> bool {
        let found = self.work.connections.get(at).and_then(Option::as_ref);
        found.is_some_and(|connection| connection.session.client.id == id)
    }

    /// Does something with the connection of a place, if it is still there, and closes it if that
    /// is its end.
    fn with(
        &mut self,
        place: Place,
        f: impl FnOnce(&mut Self, usize, &mut Connection) -> Result<(), End>,
    ) {
        let found = self.work.connections.get_mut(place.at).and_then(Option::as_mut);
        if !found.is_some_and(|connection| place.is_of(connection.session.client.id)) {
            return;
        }
        self.with_whoever(place.at, f);
    }

    /// The same for whoever is there.
    fn with_whoever(
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
            // What is left of its replies must not reach the next client.
            self.output.clear();
            self.close(at);
        }
    }

    fn connect(&mut self, mut stream: Stream, peer: Peer) {
        let now_ms = self.shared.clock.micros().0 / 1_000;
        let max = self.view.settings.maxclients;
        let at = self.work.vacant.last().copied().unwrap_or(self.work.connections.len());
        let (place, speaks) = (pubsub::Place { worker: self.number, at }, peer.speaks);
        let Some(client) = self.shared.clients.connect(peer, place, now_ms, max) else {
            self.shared.stats.rejected_connections.fetch_add(1, Ordering::Relaxed);
            let _ = stream.write(match speaks {
                // Clients know the first line to the letter; the second is for who reads on.
                Speaks::Redis => b"-ERR max number of clients reached\r\n\
                    -ERR maxclients is the setting\r\n"
                    .as_slice(),
                Speaks::Memcached => b"ERROR Too many open connections (maxclients)\r\n",
            });
            return;
        };
        self.shared.stats.connections.fetch_add(1, Ordering::Relaxed);
        if self.work.vacant.pop().is_none() {
            self.work.connections.push(None);
        }
        let needs_token = speaks == Speaks::Memcached && !self.view.tokens.is_empty();
        let session = Session::new(client, &self.view, needs_token);
        memcached::show_connection(&self.shared, &session.client, None);
        let mut connection = Connection::new(stream, session);
        let place = Place { at, id: connection.session.client.id };
        let joined = self.driver().join(&mut connection.stream, place);
        self.work.connections[at] = Some(Box::new(connection));
        if let Err(error) = joined {
            tracing::warn!(%error, "a connection cannot be watched and is closed");
            self.close(at);
        }
    }

    fn close(&mut self, at: usize) {
        let Some(mut connection) = self.work.connections[at].take() else { return };
        let ending = connection.session.ending;
        memcached::show_connection(&self.shared, &connection.session.client, Some(ending));
        self.end_wait(at, &mut connection);
        let id = connection.session.client.id;
        connection.session.unsubscribe_all(&self.shared);
        self.shared.monitors.leave(id);
        self.shared.tracking.leave(id);
        connection.end();
        self.driver().leave(&mut connection.stream, Place { at, id });
        self.shared.clients.disconnect(id);
        self.work.vacant.push(at);
    }

    /// Once a second: closes the silent, gives memory back.
    fn tick(&mut self) {
        let now_ms = self.now_ms;
        if now_ms < self.ticked_ms + TICK_MS {
            return;
        }
        self.ticked_ms = now_ms;
        self.batches = 0;
        if self.number == 0 {
            if self.enter() != Entered::Not {
                self.shared.flush_due();
                self.leave();
            }
            self.shared.accesses.note(&self.shared, now_ms);
        }
        let timeout_ms = self.view.settings.timeout * 1_000;
        for at in 0..self.work.connections.len() {
            let Some(mut connection) = self.work.connections[at].take() else { continue };
            connection.shrink();
            let idle_ms =
                now_ms.saturating_sub(connection.session.client.last_ms.load(Ordering::Relaxed));
            let idle = timeout_ms > 0 && idle_ms > timeout_ms && !connection.session.listens();
            let idle = idle && connection.session.blocked.is_none();
            let slow = connection.waiting() > 0 && self.check_output(&mut connection).is_err();
            if idle {
                let address = &connection.session.client.address;
                tracing::debug!("client {address} is closed: idle for longer, above timeout");
                connection.session.ending = "idle_timeout";
                self.shared.stats.idle_closed.fetch_add(1, Ordering::Relaxed);
            }
            self.work.connections[at] = Some(connection);
            if idle || slow {
                self.close(at);
            }
        }
    }
}
