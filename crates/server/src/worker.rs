//! A worker: one thread, one event loop, the connections it was handed.
//!
//! A readable socket is read once into a buffer of the worker, every whole command in it is
//! carried out, and the replies are written at once: at depth 1 that is one wait, one read and one
//! write for a request, and nothing is registered anew. Only what is left of an unfinished command
//! is copied to the connection. Events are edge-triggered, so a socket is read again only if it
//! filled the buffer, and after some rounds the other connections have their turn first.
//!
//! A client whose replies wait, for it reads more slowly than it asks, is neither read nor served
//! until they are gone: what it may make the server hold is [`REPLIES_MAX`] and one reply more, and
//! the rest of its commands stays in its own buffers. One that reads as fast as it asks gives way
//! to others after as many bytes.
//!
//! The clock is read once for the commands of one read.

mod blocked;
mod group;
mod hooks;
mod lookahead;
mod mail;
mod waiting;

pub(crate) use mail::{Mailbox, Message};

use crate::clients::Peer;
use crate::commands::{self, Call};
use crate::connection::{Codec, Connection, Stream, give_back};
use crate::listen::Speaks;
use crate::memcached::{self, Ask};
use crate::pubsub::{Place, Publication};
use crate::session::Session;
use crate::shared::{Shared, View};
use crate::stats;
use group::Group;
use hooks::Hooks;
use lookahead::Lookahead;
use mio::{Events, Poll, Token};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::{Entered, Now};
use wire::resp::{Decoder, Encoder, Limits, Malformed, Protocol};

/// Bytes read at once.
const READ_MAX: usize = 64 << 10;
/// Reads from one connection before others have their turn.
const ROUNDS_MAX: usize = 16;
/// Replies are written early once there are so many bytes of them.
const WRITE_EARLY: usize = 256 << 10;
/// Bytes of replies that wait, or that were written in one turn, after which a client's next
/// command is held back.
const REPLIES_MAX: usize = 1 << 20;
/// Lines that may wait for a client that watches by memcached's protocol, in bytes, as there.
const WATCHER_MAX: usize = 256 << 10;
/// The token of the mailbox.
const MAIL: Token = Token(usize::MAX);
/// How often idle clients are looked for.
const TICK_MS: u64 = 1_000;

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

/// Shows to others how much waits for a client.
fn note_output(connection: &Connection) {
    connection.session.client.output.store(connection.waiting() as u64, Ordering::Relaxed);
}

/// One thread's event loop.
pub(crate) struct Worker {
    number: usize,
    poll: Poll,
    shared: Arc<Shared>,
    view: Arc<View>,
    connections: Vec<Option<Box<Connection>>>,
    vacant: Vec<usize>,
    input: Box<[u8]>,
    output: Vec<u8>,
    /// Connections that had more to read when their turn ended.
    again: Vec<usize>,
    /// Connections that tried a wrong password: when they go on, where they are, their ids.
    backing_off: Vec<(u64, usize, u64)>,
    /// Connections whose next command waits for the end of a pause: where they are, their ids.
    paused: Vec<(usize, u64)>,
    /// When the waits of blocked connections end, where they are, their ids.
    timeouts: BTreeSet<(u64, usize, u64)>,
    /// Blocked connections that try a little later: where they are, their ids.
    postponed: Vec<(usize, u64)>,
    now_ms: u64,
    ticked_ms: u64,
    /// Batches of commands in this second.
    batches: u64,
}

/// Makes room for a command of `wanted` bytes, but never for much more than has arrived: what is
/// announced costs the client nothing.
fn make_room(input: &mut Vec<u8>, wanted: usize) {
    let missing = wanted.saturating_sub(input.len());
    input.reserve(missing.min(input.len().max(1 << 20)));
}

/// A worker that fails keeps no other waiting at the gate.
impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.gate.leave(self.number);
    }
}

impl Worker {
    pub(crate) fn new(number: usize, poll: Poll, shared: Arc<Shared>) -> Self {
        Self {
            number,
            poll,
            view: shared.view(),
            shared,
            connections: vec![],
            vacant: vec![],
            input: vec![0; READ_MAX].into(),
            output: Vec::with_capacity(READ_MAX),
            again: vec![],
            backing_off: vec![],
            paused: vec![],
            timeouts: BTreeSet::new(),
            postponed: vec![],
            now_ms: 0,
            ticked_ms: 0,
            batches: 0,
        }
    }

    /// Serves until the server ends.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(1_024);
        while !self.shared.is_stopping() {
            let wait = if self.again.is_empty() { self.wait_ms() } else { 0 };
            if let Err(error) = self.poll.poll(&mut events, Some(Duration::from_millis(wait)))
                && error.kind() != io::ErrorKind::Interrupted
            {
                tracing::error!(%error, "worker {} cannot wait for events and ends", self.number);
                return;
            }
            self.counters().polls.add(1);
            if let Some(view) = self.shared.newer(&self.view) {
                self.view = view;
            }
            for event in &events {
                match event.token() {
                    MAIL => self.mail(),
                    Token(at) => self.event(at, event.is_writable(), event.is_read_closed()),
                }
            }
            for at in std::mem::take(&mut self.again) {
                self.event(at, false, false);
            }
            if events.is_empty() || self.looks_at_time() {
                self.now_ms = self.shared.clock.micros().0 / 1_000;
            }
            self.wake_backed_off();
            self.wake_paused();
            self.wake_blocked();
            self.tick();
        }
        for at in 0..self.connections.len() {
            self.close(at);
        }
    }

    fn counters(&self) -> &stats::Worker {
        &self.shared.stats.workers[self.number]
    }

    /// Takes what the mailbox holds.
    fn mail(&mut self) {
        for message in self.shared.mailboxes[self.number].take() {
            match message {
                Message::Connect(stream, peer) => self.connect(stream, peer),
                Message::Kill(at, id) => {
                    if self.is(at, id) {
                        self.close(at);
                    }
                }
                Message::Ready(at, id) => self.ready(at, id),
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
            }
        }
    }

    /// Closes the clients whose user is no more, or that listen where they may not.
    fn check_users(&mut self) {
        for at in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[at] else { continue };
            let session = &mut connection.session;
            session.follow(&self.view);
            if !session.may_stay(&self.view, &self.shared) {
                self.close(at);
            }
        }
    }

    /// Whether the client with this id is still at this place.
    fn is(&self, at: usize, id: u64) -> bool {
        let found = self.connections.get(at).and_then(Option::as_ref);
        found.is_some_and(|connection| connection.session.client.id == id)
    }

    fn connect(&mut self, mut stream: Stream, peer: Peer) {
        let now_ms = self.shared.clock.micros().0 / 1_000;
        let max = self.view.settings.maxclients;
        let at = self.vacant.last().copied().unwrap_or(self.connections.len());
        let (place, speaks) = (Place { worker: self.number, at }, peer.speaks);
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
        if self.vacant.pop().is_none() {
            self.connections.push(None);
        }
        let needs_token = speaks == Speaks::Memcached && !self.shared.tokens.is_empty();
        let session = Session::new(client, &self.view, needs_token);
        memcached::show_connection(&self.shared, &session.client, None);
        let mut connection = Connection::new(stream, session);
        let registered = connection.register(self.poll.registry(), Token(at));
        self.connections[at] = Some(Box::new(connection));
        if let Err(error) = registered {
            tracing::warn!(%error, "a connection cannot be watched and is closed");
            self.close(at);
        }
    }

    fn close(&mut self, at: usize) {
        let Some(mut connection) = self.connections[at].take() else { return };
        let ending = connection.session.ending;
        memcached::show_connection(&self.shared, &connection.session.client, Some(ending));
        self.end_wait(at, &mut connection);
        connection.session.unsubscribe_all(&self.shared);
        self.shared.monitors.leave(connection.session.client.id);
        self.shared.tracking.leave(connection.session.client.id);
        connection.deregister(self.poll.registry());
        self.shared.clients.disconnect(connection.session.client.id);
        self.vacant.push(at);
    }

    fn event(&mut self, at: usize, writable: bool, read_closed: bool) {
        let Some(mut connection) = self.connections.get_mut(at).and_then(Option::take) else {
            return;
        };
        let result = self.serve(at, &mut connection, writable, read_closed);
        self.connections[at] = Some(connection);
        if result.is_err() {
            // What is left of its replies must not reach the next client.
            self.output.clear();
            self.close(at);
        }
    }

    /// Everything a connection is ready for.
    fn serve(
        &mut self,
        at: usize,
        connection: &mut Connection,
        writable: bool,
        read_closed: bool,
    ) -> Result<(), End> {
        connection.read_closed |= read_closed;
        connection.replied = 0;
        if writable && connection.waiting() > 0 {
            let sent = connection.flush(self.poll.registry(), Token(at))?;
            self.counters().net_out.add(sent as u64);
            self.counters().writes.add(1);
            note_output(connection);
            if sent > 0 {
                // A client that reads what it asked for is not idle.
                let now_ms = self.shared.clock.micros().0 / 1_000;
                connection.session.client.last_ms.store(now_ms, Ordering::Relaxed);
            }
            if connection.waiting() == 0 && connection.session.closing {
                return Err(End::Closed);
            }
        }
        if connection.session.is_held_back() && connection.waiting() == 0 {
            connection.session.waits_until_ms = 0;
            self.received(at, connection, 0)?;
        }
        if !connection.session.goes_on() {
            return Self::stays(connection);
        }
        for _ in 0..ROUNDS_MAX {
            let read = match connection.stream.read(&mut self.input) {
                Ok(0) if connection.waiting() > 0 => {
                    // It sends no more, but may still be reading.
                    connection.session.closing = true;
                    return Ok(());
                }
                Ok(0) => return Err(End::Gone),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            self.received(at, connection, read)?;
            let is_read = read < self.input.len() && !connection.read_closed;
            if is_read || !connection.session.goes_on() {
                return Self::stays(connection);
            }
        }
        self.again.push(at);
        Ok(())
    }

    /// Carries out what the first `read` bytes of the buffer complete.
    fn received(&mut self, at: usize, connection: &mut Connection, read: usize) -> Result<(), End> {
        let now = self.shared.clock.now();
        self.now_ms = now.micros.0 / 1_000;
        let counters = &self.shared.stats.workers[self.number];
        counters.reads.add(1);
        counters.net_in.add(read as u64);
        connection.session.client.net_in.add(read as u64);
        connection.session.follow(&self.view);

        // What arrived is used where it lies, unless it continues an unfinished command.
        let mut decoder = std::mem::take(&mut connection.decoder);
        let mut kept = std::mem::take(&mut connection.input);
        let input = std::mem::take(&mut self.input);
        let result = if kept.is_empty() {
            let result = self.execute(at, connection, &mut decoder, &input[..read], now);
            if let Ok(consumed) = result {
                let rest = &input[consumed..read];
                if !rest.is_empty() {
                    kept.extend_from_slice(rest);
                    make_room(&mut kept, decoder.wanted());
                }
            }
            result
        } else {
            kept.extend_from_slice(&input[..read]);
            let result = self.execute(at, connection, &mut decoder, &kept, now);
            if let Ok(consumed) = result {
                kept.drain(..consumed);
                if kept.is_empty() {
                    give_back(&mut kept);
                } else {
                    make_room(&mut kept, decoder.wanted());
                }
            }
            result
        };
        self.input = input;
        connection.decoder = decoder;
        connection.input = kept;
        result?;

        self.reply(at, connection)?;
        let client = &connection.session.client;
        if connection.session.is_paused() {
            self.paused.push((at, client.id));
        }
        self.note_blocked(at, connection);
        let client = &connection.session.client;
        client.last_ms.store(self.now_ms, Ordering::Relaxed);
        client.input.store(connection.input.len() as u64, Ordering::Relaxed);
        if connection.session.closing && connection.waiting() == 0 {
            return Err(End::Closed);
        }
        let limit = self.view.settings.client_query_buffer_limit;
        if limit.0 > 0 && connection.input.len() as u64 > limit.0 {
            self.shared.stats.query_limit_closed.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                "client {} closed: its unfinished command is above client-query-buffer-limit",
                client.address
            );
            return Err(End::Closed);
        }
        Ok(())
    }

    /// Carries out the whole commands at the front of `bytes`; how many bytes those were. Their
    /// replies are left in `self.output`.
    fn execute(
        &mut self,
        at: usize,
        connection: &mut Connection,
        codec: &mut Codec,
        bytes: &[u8],
        now: Now,
    ) -> Result<usize, End> {
        let mut consumed = 0;
        loop {
            let rest = &bytes[consumed..];
            let entered = self.shared.enter(&self.view, self.number);
            let is_busy = entered == Entered::Not;
            let now = if entered == Entered::AtOnce { now } else { self.shared.clock.now() };
            let result = match codec {
                Codec::Redis(decoder) => {
                    self.execute_redis(at, connection, decoder, rest, now, is_busy)
                }
                Codec::Memcached(decoder) => {
                    self.execute_memcached(at, connection, decoder, rest, now, is_busy)
                }
            };
            self.shared.gate.leave(self.number);
            consumed += result?;
            if !connection.session.looks_again() {
                return Ok(consumed);
            }
        }
    }

    fn execute_memcached(
        &mut self,
        at: usize,
        connection: &mut Connection,
        decoder: &mut wire::memcached::Decoder,
        bytes: &[u8],
        now: Now,
        is_busy: bool,
    ) -> Result<usize, End> {
        let mut consumed = 0;
        self.batches += 1;
        let is_timed = stats::weight(self.batches) > 0;
        let (tracked, now_ms) = (self.shared.tracking.is_active(), self.now_ms);
        let paused = self.shared.pause.until(now_ms).is_some();
        while connection.session.goes_on() {
            let session = &mut connection.session;
            let limits = wire::memcached::Limits {
                data_max: self.view.settings.memcached_item_max.0,
                stranger: session.user.is_none(),
            };
            match decoder.decode(&bytes[consumed..], &limits) {
                Ok(None) => break,
                Ok(Some(request)) => {
                    consumed += request.consumed;
                    if !request.is_empty() {
                        let (shared, view) = (&*self.shared, &*self.view);
                        let (out, worker) = (&mut self.output, self.number);
                        let len = request.consumed;
                        let mut ask = Ask { request, out, session, shared, view, now, worker };
                        if paused && shared.pause.holds(memcached::writes(&ask)) {
                            ask.session.pause();
                            consumed -= len;
                            break;
                        }
                        memcached::execute(&mut ask, is_busy);
                        if is_timed {
                            memcached::note_keys(&ask);
                        }
                        if tracked {
                            memcached::tell_trackers(&ask);
                        }
                    }
                }
                Err(malformed) => {
                    memcached::refuse(&self.shared, session, &mut self.output, malformed);
                }
            }
            if self.output.len() > WRITE_EARLY {
                self.reply_early(at, connection)?;
            }
            if self.shared.gate.is_closed() && consumed < bytes.len() {
                connection.session.turn_away();
            }
        }
        if tracked {
            self.shared.tracking.tell_pending(&self.shared);
        } else {
            self.shared.tracking.forget_all(&self.shared, None);
        }
        Ok(consumed)
    }

    fn execute_redis(
        &mut self,
        at: usize,
        connection: &mut Connection,
        decoder: &mut Decoder,
        bytes: &[u8],
        now: Now,
        is_busy: bool,
    ) -> Result<usize, End> {
        self.batches += 1;
        let weight = stats::weight(self.batches);
        let hooks = Hooks::of(&self.shared, &self.view, weight, self.now_ms, is_busy);
        let is_paid = hooks.is_paid();
        let mut group = Group::begin(now.micros.0, 0);
        let mut consumed = 0;
        let mut ahead = Lookahead::ALONE;
        let (mut commands, large_from) = (0, self.view.settings.large_from());
        while connection.session.goes_on() {
            let session = &mut connection.session;
            ahead.next(&self.shared.store, session, &bytes[consumed..]);
            let limits = Limits {
                bulk_max: self.view.settings.proto_max_bulk_len.0,
                stranger: session.user.is_none(),
            };
            match decoder.decode(&bytes[consumed..], &limits) {
                Ok(None) => break,
                Ok(Some(command)) => {
                    consumed += command.consumed;
                    if command.is_empty() {
                        continue;
                    }
                    commands += 1;
                    let mark = self.output.len();
                    let out = Encoder::new(&mut self.output, session.protocol);
                    let (shared, view) = (&*self.shared, &*self.view);
                    let counters = &shared.stats.workers[self.number];
                    let len = command.consumed;
                    let mut call = Call { args: command, out, session, shared, view, now };
                    if is_paid {
                        if !hooks.execute(&mut call, counters, len) {
                            call.session.pause();
                            consumed -= len;
                            break;
                        }
                    } else {
                        commands::execute(&mut call, counters);
                    }
                    let reply = call.out.mark().saturating_sub(mark);
                    if len.max(reply) as u64 >= large_from {
                        commands::note_large(&call, len, reply);
                    }
                    group.add(len + reply, consumed - len);
                    let is_muted = session.mute.is_muted();
                    if !std::mem::take(&mut session.pushed) && is_muted {
                        if let Some(wait) = &mut session.blocked {
                            wait.is_muted = true;
                        }
                        self.output.truncate(mark);
                    }
                }
                Err(malformed) => {
                    let text = match malformed {
                        Malformed::Length => {
                            format!("ERR {malformed} (proto-max-bulk-len {})", limits.bulk_max)
                        }
                        _ => format!("ERR {malformed}"),
                    };
                    self.shared.stats.error(text.as_bytes());
                    // The byte it names is sent back as it came, not as text.
                    let text: Vec<u8> = text.chars().map(|c| c as u8).collect();
                    Encoder::new(&mut self.output, Protocol::Resp2).error(&text);
                    session.closing = true;
                }
            }
            if group.is_full() {
                self.end_group(connection, bytes, &mut group, consumed);
                if self.shared.gate.is_closed() && consumed < bytes.len() {
                    connection.session.turn_away();
                }
            }
            if self.output.len() > WRITE_EARLY {
                self.end_group(connection, bytes, &mut group, consumed);
                self.reply_early(at, connection)?;
                group = Group::begin(self.shared.clock.micros().0, consumed);
            }
        }
        self.end_group(connection, bytes, &mut group, consumed);
        connection.session.client.commands.add(commands);
        self.shared.tracking.tell_pending(&self.shared);
        // Whoever began to track meanwhile may have read what was overwritten here. If it was this
        // client, it has read nothing yet.
        if !hooks.tracked {
            let session = &connection.session;
            let began = session.is_looking_again().then_some(session.client.id);
            self.shared.tracking.forget_all(&self.shared, began);
        }
        Ok(consumed)
    }

    /// Writes the replies.
    fn reply(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        if self.output.is_empty() {
            return Ok(());
        }
        if connection.session.backs_off() {
            connection.held.append(&mut self.output);
            let (until, id) = (connection.session.waits_until_ms, connection.session.client.id);
            self.backing_off.push((until, at, id));
            return Ok(());
        }
        let sent = connection.send(&self.output, self.poll.registry(), Token(at))?;
        let counters = self.counters();
        counters.writes.add(1);
        counters.net_out.add(sent as u64);
        connection.session.client.net_out.add(sent as u64);
        self.output.clear();
        if self.output.capacity() > 4 * WRITE_EARLY {
            self.output = Vec::with_capacity(READ_MAX);
        }
        if connection.waiting() > 0 {
            note_output(connection);
            self.check_output(connection)?;
        }
        Ok(())
    }

    /// Writes the replies so far, and holds back the commands that follow if there were many bytes
    /// of them.
    fn reply_early(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        connection.replied += self.output.len();
        self.reply(at, connection)?;
        let waiting = connection.waiting();
        if waiting.max(connection.replied) > REPLIES_MAX {
            connection.session.hold_back();
            if waiting == 0 {
                self.again.push(at);
            }
        }
        Ok(())
    }

    /// Ends a connection that reads its replies too slowly.
    fn check_output(&self, connection: &mut Connection) -> Result<(), End> {
        let settings = &self.view.settings;
        let listens = connection.session.listens();
        let limit = if listens { settings.output_pubsub } else { settings.output_normal };
        let (waiting, now_ms) = (connection.waiting() as u64, self.shared.clock.micros().0 / 1_000);
        let mut over = limit.hard.0 > 0 && waiting > limit.hard.0;
        if limit.soft.0 > 0 && waiting > limit.soft.0 {
            let since = *connection.over_soft_since_ms.get_or_insert(now_ms);
            over |= now_ms - since >= limit.seconds * 1_000;
        } else {
            connection.over_soft_since_ms = None;
        }
        if !over {
            return Ok(());
        }
        self.shared.stats.output_limit_closed.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            "client {} closed: {waiting} bytes of replies wait for it, above \
             client-output-buffer-limit",
            connection.session.client.address
        );
        Err(End::Closed)
    }

    fn publish(&mut self, at: usize, publication: &Publication) {
        let Some(connection) = &self.connections[at] else { return };
        let hears = |tenant| connection.session.reachable(&self.view).contains(&tenant);
        if !publication.of.is_none_or(hears) {
            return;
        }
        let mut out = Encoder::new(&mut self.output, connection.session.protocol);
        if let Some(pattern) = &publication.pattern {
            out.push(4);
            out.bulk(b"pmessage");
            out.bulk(pattern);
        } else {
            out.push(3);
            out.bulk(if publication.sharded { b"smessage" } else { b"message" });
        }
        out.bulk(&publication.channel);
        out.bulk(&publication.message);
        self.push(at);
    }

    /// Shows a line to a client that watches. By memcached's protocol one that reads too slowly
    /// is told later how many it has missed.
    fn watched(&mut self, at: usize, line: &[u8]) {
        let Some(connection) = &mut self.connections[at] else { return };
        let waiting = connection.waiting();
        let session = &mut connection.session;
        if session.client.speaks == Speaks::Memcached {
            if waiting > WATCHER_MAX {
                session.skipped += 1;
                return;
            }
            let skipped = std::mem::take(&mut session.skipped);
            if skipped > 0 {
                self.output.extend_from_slice(format!("skipped={skipped}\n").as_bytes());
            }
        }
        self.output.extend_from_slice(line);
        self.push(at);
    }

    /// Writes what is in `self.output` to a client that did not ask for it just now.
    fn push(&mut self, at: usize) {
        let Some(mut connection) = self.connections[at].take() else { return };
        let result = self.reply(at, &mut connection);
        self.connections[at] = Some(connection);
        if result.is_err() {
            self.output.clear();
            self.close(at);
        }
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
            if self.shared.enter(&self.view, self.number) != Entered::Not {
                self.shared.flush_due();
                self.shared.gate.leave(self.number);
            }
            self.shared.accesses.note(&self.shared, now_ms);
        }
        let timeout_ms = self.view.settings.timeout * 1_000;
        for at in 0..self.connections.len() {
            let Some(mut connection) = self.connections[at].take() else { continue };
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
            self.connections[at] = Some(connection);
            if idle || slow {
                self.close(at);
            }
        }
    }
}
