//! Connections that wait, after a wrong password or for the end of a pause.

use super::blocked::LATER_MS;
use super::connection::Connection;
use super::worker::{TICK_MS, Worker};

impl Worker {
    /// Whether any connection waits for a point in time.
    pub(super) fn looks_at_time(&self) -> bool {
        let clients = self.work.backing_off.len() + self.work.paused.len();
        clients + self.work.timeouts.len() + self.work.postponed.len() > 0
    }

    /// The longest wait for events, in milliseconds.
    pub(super) fn wait_ms(&self) -> u64 {
        if !self.looks_at_time() {
            return TICK_MS;
        }
        let now_ms = self.server.clock.micros().0 / 1_000;
        let first = self.work.backing_off.iter().map(|(until, ..)| *until).min();
        let paused = (!self.work.paused.is_empty()).then(|| self.server.pause.until(now_ms));
        let paused = paused.map(|until| until.unwrap_or(now_ms));
        let blocked = self.work.timeouts.first().map(|(until, ..)| *until);
        let later = (!self.work.postponed.is_empty()).then_some(now_ms + LATER_MS);
        let first = first.into_iter().chain(paused).chain(blocked).chain(later).min();
        first.map_or(TICK_MS, |until| until.saturating_sub(now_ms).clamp(1, TICK_MS))
    }

    /// Lets connections continue after the end of a pause.
    pub(super) fn wake_paused(&mut self) {
        if self.work.paused.is_empty() || self.server.pause.until(self.now_ms).is_some() {
            return;
        }
        for (at, id) in std::mem::take(&mut self.work.paused) {
            if !self.is(at, id) {
                continue;
            }
            let Some(mut connection) = self.work.connections[at].take() else {
                continue;
            };
            connection.session.resume();
            let result = self.received(at, &mut connection, &[]);
            self.keep(at, connection, result.is_err());
        }
    }

    /// Puts back a connection, to be read again, or closes it.
    pub(super) fn keep(&mut self, at: usize, connection: Box<Connection>, is_over: bool) {
        self.work.connections[at] = Some(connection);
        if is_over {
            self.output.clear();
            self.close(at);
        } else {
            self.work.again.push_back(at);
        }
    }

    /// Lets connections continue when their delay after a wrong password is over: they get their
    /// answer, and their later input is read.
    pub(super) fn wake_backed_off(&mut self) {
        if self.work.backing_off.is_empty() {
            return;
        }
        let now_ms = self.now_ms;
        let over: Vec<_> =
            self.work.backing_off.extract_if(.., |(until, ..)| *until <= now_ms).collect();
        for (_, at, id) in over {
            if !self.is(at, id) {
                continue;
            }
            let Some(mut connection) = self.work.connections[at].take() else {
                continue;
            };
            connection.session.resume();
            self.output.append(&mut connection.held);
            // The reply is written first. Then the commands run that came with the password.
            let result = self.reply(at, &mut connection);
            let result = result.and_then(|()| self.received(at, &mut connection, &[]));
            self.keep(at, connection, result.is_err());
        }
    }
}
