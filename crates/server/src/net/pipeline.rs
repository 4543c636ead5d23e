//! Bytes from clients: read when a socket is ready, collected across connections, and run in
//! batches.

use super::connection::Connection;
use super::driver::{Bytes, Token};
use super::lookahead;
use super::worker::{End, Worker};
use crate::session::Flow;
use crate::text::buffers::give_back;
use std::io;
use std::sync::atomic::Ordering;

/// The largest number of connections in a batch: the memory that they need fits the first-level
/// cache.
const BATCH: usize = 16;
/// The bytes that a client may send ahead while it waits, before nothing more is received from it.
const AHEAD_MAX: usize = 64 << 10;

/// Bytes that a client has sent.
pub(super) struct Arrival {
    pub(super) token: Token,
    pub(super) bytes: Bytes,
}

/// Makes room for a command of `wanted` bytes, but not for much more than has arrived: an announced
/// length costs the client nothing.
fn make_room(input: &mut Vec<u8>, wanted: usize) {
    let missing = wanted.saturating_sub(input.len());
    input.reserve(missing.min(input.len().max(1 << 20)));
}

impl Worker {
    /// Adds bytes from a client to the batch, and runs the batch if it is full.
    pub(super) fn arrived(&mut self, token: Token, bytes: Bytes) {
        self.work.batch.push_back(Arrival { token, bytes });
        if self.work.batch.len() >= BATCH {
            self.carry_out();
        }
    }

    /// Runs the commands of the batch.
    pub(super) fn carry_out(&mut self) {
        if self.work.batch.len() > 1 {
            self.look_ahead();
        }
        let mut is_any = false;
        while let Some(Arrival { token, bytes }) = self.work.batch.pop_front() {
            is_any = true;
            self.with(token, |worker, at, connection| {
                worker.take(at, connection, &bytes, bytes.is_full())
            });
            self.driver().give_back(bytes);
        }
        if is_any {
            self.flush_if_many();
        }
    }

    /// Prefetches the key of each connection's first command.
    fn look_ahead(&mut self) {
        let mut keys = lookahead::Keys::default();
        for Arrival { token, bytes } in &self.work.batch {
            let Some(Some(connection)) = self.work.connections.get_mut(token.at) else {
                continue;
            };
            if connection.input.is_empty() {
                connection.session.follow(&self.view);
                keys.add(&self.server.store, connection, bytes);
            }
        }
        keys.prefetch(&self.server.store);
    }

    /// Runs the commands in a client's bytes; `is_more` if there may be more to read.
    fn take(
        &mut self,
        at: usize,
        connection: &mut Connection,
        bytes: &[u8],
        is_more: bool,
    ) -> Result<(), End> {
        connection.replied = 0;
        if !connection.session.is_running() {
            // The bytes come behind those that wait already.
            connection.input.extend_from_slice(bytes);
            if connection.input.len() > AHEAD_MAX {
                self.driver().pause(connection.token(at));
            }
            return Ok(());
        }
        self.received(at, connection, bytes)?;
        if !connection.session.is_running() {
            return Self::stays(connection);
        }
        if is_more || connection.read_closed {
            self.work.schedule.add_ready(connection.token(at));
        }
        Ok(())
    }

    /// Handles a connection that is ready or has more to do.
    pub(super) fn ready(&mut self, at: usize, is_writable: bool, read_closed: bool) {
        self.with_whoever(at, |worker, at, connection| {
            worker.serve(at, connection, is_writable, read_closed)
        });
        if self.work.batch.len() >= BATCH {
            self.carry_out();
        }
    }

    /// Does everything that a connection is ready for.
    fn serve(
        &mut self,
        at: usize,
        connection: &mut Connection,
        is_writable: bool,
        read_closed: bool,
    ) -> Result<(), End> {
        connection.read_closed |= read_closed;
        connection.replied = 0;
        if is_writable && connection.waiting() > 0 {
            self.flush(at, connection)?;
        }
        if connection.session.closing {
            return self.ends(at, connection);
        }
        if matches!(connection.session.flow, Flow::Throttled) && connection.waiting() == 0 {
            connection.session.resume();
            self.received(at, connection, &[])?;
        }
        if !connection.session.is_running() {
            return Self::stays(connection);
        }
        let token = connection.token(at);
        if self.driver().pushes(&connection.stream) {
            if connection.read_closed {
                return self.sends_no_more(at, connection);
            }
            return Ok(self.driver().resume(&connection.stream, token)?);
        }
        let read = self.driver().read(&mut connection.stream);
        match read {
            Ok(bytes) if bytes.is_empty() => {
                self.driver().give_back(bytes);
                self.sends_no_more(at, connection)
            }
            Ok(bytes) => {
                // Other connections may run first, and this one is found again by its place.
                self.work.batch.push_back(Arrival { token, bytes });
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.work.schedule.add_ready(token);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Handles the end of a client's input. The client may still read.
    pub(super) fn sends_no_more(
        &mut self,
        at: usize,
        connection: &mut Connection,
    ) -> Result<(), End> {
        connection.read_closed = true;
        if !connection.session.is_running() {
            return Self::stays(connection);
        }
        if connection.waiting() == 0 && !connection.is_gathered {
            return Err(End::Gone);
        }
        connection.session.closing = true;
        self.ends(at, connection)
    }

    /// Handles a pause of the input from a client: receives again if the client can continue.
    pub(super) fn receives_no_more(
        &mut self,
        at: usize,
        connection: &mut Connection,
    ) -> Result<(), End> {
        if connection.session.is_running() {
            let token = connection.token(at);
            self.driver().resume(&connection.stream, token)?;
        }
        Ok(())
    }

    /// Runs the commands that `bytes` complete, together with the bytes that the connection has
    /// kept.
    pub(super) fn received(
        &mut self,
        at: usize,
        connection: &mut Connection,
        bytes: &[u8],
    ) -> Result<(), End> {
        let now = self.server.clock.now();
        self.now_ms = now.micros.0 / 1_000;
        let counters = &self.server.stats.workers[self.number];
        counters.reads.add(1);
        counters.net_in.add(bytes.len() as u64);
        connection.session.client.net_in.add(bytes.len() as u64);
        connection.session.follow(&self.view);

        // The bytes are used in place, unless they continue an unfinished command.
        let mut decoder = std::mem::take(&mut connection.decoder);
        let mut kept = std::mem::take(&mut connection.input);
        let result = if kept.is_empty() {
            let result = self.execute(at, connection, &mut decoder, bytes, now);
            if let Ok(consumed) = result {
                let rest = &bytes[consumed..];
                if !rest.is_empty() {
                    kept.extend_from_slice(rest);
                    make_room(&mut kept, decoder.wanted());
                }
            }
            result
        } else {
            kept.extend_from_slice(bytes);
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
        connection.decoder = decoder;
        connection.input = kept;
        result?;

        self.reply(at, connection)?;
        match &connection.session.flow {
            Flow::Paused => self.work.schedule.add_paused(connection.token(at)),
            Flow::Blocked(wait) if wait.until_ms < u64::MAX => {
                self.work.schedule.add_timer(wait.until_ms, connection.token(at));
            }
            _ => {}
        }
        let client = &connection.session.client;
        client.last_ms.store(self.now_ms, Ordering::Relaxed);
        client.input.store(connection.input.len() as u64, Ordering::Relaxed);
        if connection.session.closing {
            self.ends(at, connection)?;
        }
        let limit = self.view.settings.client_query_buffer_limit;
        if limit.0 > 0 && connection.input.len() as u64 > limit.0 {
            self.server.stats.query_limit_closed.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                "client {} closed: its unfinished command is above client-query-buffer-limit",
                client.address
            );
            return Err(End::Closed);
        }
        Ok(())
    }

    /// Ends a closing connection after its replies are sent.
    fn ends(&mut self, at: usize, connection: &Connection) -> Result<(), End> {
        if connection.waiting() > 0 {
            return Ok(());
        }
        if !connection.is_gathered {
            return Err(End::Closed);
        }
        self.work.schedule.add_ready(connection.token(at));
        Ok(())
    }
}
