//! What clients send: read where it is ready, taken in batches across connections, carried out.

use super::driver::{Bytes, Place};
use super::{End, Worker, lookahead};
use crate::connection::{Connection, give_back};
use std::io;
use std::sync::atomic::Ordering;

/// Connections that are taken together: what they ask for fits the first cache.
const BATCH: usize = 16;
/// Bytes that a client may send beyond what it waits for, before nothing more is received from it.
const AHEAD_MAX: usize = 64 << 10;

/// What a client has sent.
pub(super) struct Arrival {
    pub(super) place: Place,
    pub(super) bytes: Bytes,
}

/// Makes room for a command of `wanted` bytes, but never for much more than has arrived: what is
/// announced costs the client nothing.
fn make_room(input: &mut Vec<u8>, wanted: usize) {
    let missing = wanted.saturating_sub(input.len());
    input.reserve(missing.min(input.len().max(1 << 20)));
}

impl Worker {
    /// A client has sent bytes: they are carried out with those of others.
    pub(super) fn arrived(&mut self, place: Place, bytes: Bytes) {
        self.work.batch.push_back(Arrival { place, bytes });
        if self.work.batch.len() >= BATCH {
            self.carry_out();
        }
    }

    /// Carries out what has arrived.
    pub(super) fn carry_out(&mut self) {
        if self.work.batch.len() > 1 {
            self.look_ahead();
        }
        let mut is_any = false;
        while let Some(Arrival { place, bytes }) = self.work.batch.pop_front() {
            is_any = true;
            self.with(place, |worker, at, connection| {
                worker.take(at, connection, &bytes, bytes.is_full())
            });
            self.driver().give_back(bytes);
        }
        if is_any {
            self.flush_if_many();
        }
    }

    /// Asks memory for what the first command of each connection is about.
    fn look_ahead(&mut self) {
        let mut keys = lookahead::Keys::default();
        for Arrival { place, bytes } in &self.work.batch {
            let Some(Some(connection)) = self.work.connections.get_mut(place.at) else { continue };
            if connection.input.is_empty() {
                connection.session.follow(&self.view);
                keys.add(&self.shared.store, connection, bytes);
            }
        }
        keys.prefetch(&self.shared.store);
    }

    /// Takes what a client has sent; `is_more` if there may be more to read.
    fn take(
        &mut self,
        at: usize,
        connection: &mut Connection,
        bytes: &[u8],
        is_more: bool,
    ) -> Result<(), End> {
        connection.replied = 0;
        if !connection.session.goes_on() {
            // It comes behind what waits already.
            connection.input.extend_from_slice(bytes);
            if connection.input.len() > AHEAD_MAX {
                let id = connection.session.client.id;
                self.driver().pause(Place { at, id });
            }
            return Ok(());
        }
        self.received(at, connection, bytes)?;
        if !connection.session.goes_on() {
            return Self::stays(connection);
        }
        if is_more || connection.read_closed {
            self.work.again.push_back(at);
        }
        Ok(())
    }

    /// A connection is ready, or has more to do.
    pub(super) fn ready(&mut self, at: usize, is_writable: bool, read_closed: bool) {
        self.with_whoever(at, |worker, at, connection| {
            worker.serve(at, connection, is_writable, read_closed)
        });
        if self.work.batch.len() >= BATCH {
            self.carry_out();
        }
    }

    /// Sees to everything that a connection is ready for.
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
        if connection.session.is_held_back() && connection.waiting() == 0 {
            connection.session.waits_until_ms = 0;
            self.received(at, connection, &[])?;
        }
        if !connection.session.goes_on() {
            return Self::stays(connection);
        }
        let place = Place { at, id: connection.session.client.id };
        if self.driver().pushes(&connection.stream) {
            if connection.read_closed {
                return self.sends_no_more(at, connection);
            }
            return Ok(self.driver().resume(&connection.stream, place)?);
        }
        let read = self.driver().read(&mut connection.stream);
        match read {
            Ok(bytes) if bytes.is_empty() => {
                self.driver().give_back(bytes);
                self.sends_no_more(at, connection)
            }
            Ok(bytes) => {
                // Others may be carried out first, and this one is looked for where it stands.
                self.work.batch.push_back(Arrival { place, bytes });
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.work.again.push_back(at);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A client sends no more, but may still be reading.
    pub(super) fn sends_no_more(
        &mut self,
        at: usize,
        connection: &mut Connection,
    ) -> Result<(), End> {
        connection.read_closed = true;
        if !connection.session.goes_on() {
            return Self::stays(connection);
        }
        if connection.waiting() == 0 && !connection.is_gathered {
            return Err(End::Gone);
        }
        connection.session.closing = true;
        self.ends(at, connection)
    }

    /// Nothing is received from a client any more: again, if it can go on.
    pub(super) fn receives_no_more(
        &mut self,
        at: usize,
        connection: &mut Connection,
    ) -> Result<(), End> {
        if connection.session.goes_on() {
            let place = Place { at, id: connection.session.client.id };
            self.driver().resume(&connection.stream, place)?;
        }
        Ok(())
    }

    /// Carries out what `bytes` complete, behind what the connection has kept.
    pub(super) fn received(
        &mut self,
        at: usize,
        connection: &mut Connection,
        bytes: &[u8],
    ) -> Result<(), End> {
        let now = self.shared.clock.now();
        self.now_ms = now.micros.0 / 1_000;
        let counters = &self.shared.stats.workers[self.number];
        counters.reads.add(1);
        counters.net_in.add(bytes.len() as u64);
        connection.session.client.net_in.add(bytes.len() as u64);
        connection.session.follow(&self.view);

        // What arrived is used where it lies, unless it continues an unfinished command.
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
        let client = &connection.session.client;
        if connection.session.is_paused() {
            self.work.paused.push((at, client.id));
        }
        self.note_blocked(at, connection);
        let client = &connection.session.client;
        client.last_ms.store(self.now_ms, Ordering::Relaxed);
        client.input.store(connection.input.len() as u64, Ordering::Relaxed);
        if connection.session.closing {
            self.ends(at, connection)?;
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

    /// A connection that is closing ends once its replies are gone.
    fn ends(&mut self, at: usize, connection: &Connection) -> Result<(), End> {
        if connection.waiting() > 0 {
            return Ok(());
        }
        if !connection.is_gathered {
            return Err(End::Closed);
        }
        self.work.ending.push(Place { at, id: connection.session.client.id });
        Ok(())
    }

    /// Ends the connections whose last replies were gathered, and are sent.
    pub(super) fn end_sent(&mut self) {
        let mut ending = std::mem::take(&mut self.work.ending);
        ending.retain(|place| {
            let mut stays = false;
            self.with(*place, |_, _, connection| {
                stays = connection.is_gathered;
                let is_over = connection.waiting() == 0 && !stays;
                if is_over { Err(End::Closed) } else { Ok(()) }
            });
            stays
        });
        self.work.ending.append(&mut ending);
    }
}
