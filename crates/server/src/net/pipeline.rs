//! Bytes from clients: the events of one wait are handled in small batches across connections.

use super::connection::Connection;
use super::driver::Event;
use super::lookahead;
use super::worker::{AHEAD_MAX, End, Worker};
use crate::session::Flow;
use crate::text::buffers::give_back;
use std::sync::atomic::Ordering;

/// The largest number of connections whose keys are prefetched together: the memory that they need
/// fits the first-level cache.
const BATCH: usize = 16;

/// Makes room for a command of `wanted` bytes, but not for much more than has arrived: an announced
/// length costs the client nothing.
fn make_room(input: &mut Vec<u8>, wanted: usize) {
    let missing = wanted.saturating_sub(input.len());
    input.reserve(missing.min(input.len().max(1 << 20)));
}

impl Worker {
    /// Takes the next event. Before the first of a batch of events that bring bytes, prefetches the
    /// keys of their first commands.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        if self.work.ahead == 0 && self.work.events.len() > 1 {
            self.work.ahead = self.look_ahead();
        }
        self.work.ahead = self.work.ahead.saturating_sub(1);
        self.work.events.pop_front()
    }

    /// Prefetches the key of each connection's first command in a batch. Returns the size of the
    /// batch.
    fn look_ahead(&mut self) -> usize {
        let (mut keys, mut size) = (lookahead::Keys::default(), 0);
        for event in self.work.events.iter().take(BATCH) {
            let Event::Received(token, bytes) = event else { break };
            size += 1;
            let Some(Some(connection)) = self.work.connections.get_mut(token.at) else {
                continue;
            };
            if connection.input.is_empty() {
                connection.session.follow(&self.view);
                keys.add(&self.server.store, connection, bytes);
            }
        }
        keys.prefetch(&self.server.store);
        size
    }

    /// Runs the commands in a client's bytes, or keeps the bytes while the client waits.
    pub(super) fn take(
        &mut self,
        at: usize,
        connection: &mut Connection,
        bytes: &[u8],
    ) -> Result<(), End> {
        connection.replied = 0;
        if connection.session.is_running() {
            return self.received(at, connection, bytes);
        }
        // The bytes come behind those that wait already.
        connection.input.extend_from_slice(bytes);
        if connection.input.len() > AHEAD_MAX {
            self.driver().set_reading(connection.token(at), false);
        }
        Ok(())
    }

    /// Handles the end of a client's input. The client may still read.
    pub(super) fn hung_up(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        match connection.session.flow {
            Flow::Blocked(_) => Err(End::Gone),
            _ if connection.session.is_running() => {
                connection.session.closing = true;
                self.end(at, connection)
            }
            // The driver reports it again when the connection goes on.
            _ => Ok(()),
        }
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
            self.end(at, connection)?;
        }
        let limit = self.view.settings.client_query_buffer_limit;
        if limit.0 > 0 && connection.input.len() as u64 > limit.0 {
            self.server.stats.query_limit_closed.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                "closed client {}: its unfinished command is larger than client-query-buffer-limit",
                client.address
            );
            return Err(End::Closed);
        }
        Ok(())
    }

    /// Ends a closing connection as soon as its replies are sent.
    fn end(&mut self, at: usize, connection: &Connection) -> Result<(), End> {
        let token = connection.token(at);
        let unsent = self.driver().unsent(token);
        if unsent.waiting > 0 {
            return Ok(());
        }
        if unsent.gathered == 0 {
            return Err(End::Closed);
        }
        self.work.schedule.add_ready(token);
        Ok(())
    }
}
