//! Connections that wait for a point in time: after a wrong password, blocked, or for the end of a
//! pause.

use super::connection::Connection;
use super::worker::{End, TICK_MS, Worker};
use crate::session::Flow;
use std::time::Duration;

impl Worker {
    /// The longest wait for events, in milliseconds.
    pub(super) fn wait_ms(&self) -> u64 {
        let schedule = &self.work.schedule;
        let most = self.retry().map_or(TICK_MS, |pause| pause.as_millis() as u64);
        if !schedule.awaits_time() {
            return most;
        }
        let now_ms = self.server.clock.micros().0 / 1_000;
        let paused = schedule.is_any_paused().then(|| self.server.turns.pause.until(now_ms));
        let paused = paused.map(|until| until.unwrap_or(now_ms));
        let first = schedule.first_timer().into_iter().chain(paused).min();
        first.map_or(most, |until| until.saturating_sub(now_ms).clamp(1, most))
    }

    /// The time after which refused connections are due again, if this worker accepts them.
    fn retry(&self) -> Option<Duration> {
        self.work.acceptor.as_ref()?.pause()
    }

    /// Accepts connections that were refused, if there are any.
    pub(super) fn accept_again(&mut self) {
        if self.retry().is_some() {
            self.accept();
        }
    }

    /// Takes new connections over, if this worker accepts them.
    pub(super) fn accept(&mut self) {
        let accepted = self.work.acceptor.as_mut().map(|one| one.accept(Some(Duration::ZERO)));
        if matches!(accepted, Some(Err(_))) {
            self.work.acceptor = None;
        }
        self.mail();
    }

    /// Lets connections continue whose time has come, or whose pause is over.
    pub(super) fn wake(&mut self) {
        while let Some(token) = self.work.schedule.next_due(self.now_ms) {
            self.with(token, Self::wake_one);
        }
        if !self.work.schedule.is_any_paused()
            || self.server.turns.pause.until(self.now_ms).is_some()
        {
            return;
        }
        for token in self.work.schedule.take_paused() {
            self.with(token, Self::wake_paused);
        }
    }

    fn wake_paused(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        match connection.session.flow {
            Flow::Paused => self.go_on(at, connection),
            Flow::Blocked(_) => self.attempt(at, connection),
            _ => Ok(()),
        }
    }

    fn wake_one(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        match &connection.session.flow {
            Flow::BackingOff { until_ms } if *until_ms <= self.now_ms => {
                connection.session.resume();
                self.output.append(&mut connection.held);
                // The reply is written first. Then the commands run that came with the password.
                self.reply(at, connection)?;
                self.go_on(at, connection)
            }
            Flow::Blocked(wait) if wait.until_ms <= self.now_ms => {
                self.unblock(at, connection, false)
            }
            Flow::Blocked(_) => self.attempt(at, connection),
            _ => Ok(()),
        }
    }

    /// Runs the commands that waited, and lets the connection be read again.
    pub(super) fn go_on(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        connection.session.resume();
        connection.replied = 0;
        self.driver().set_reading(connection.token(at), true);
        self.received(at, connection, &[])
    }

    /// Continues a connection in a new turn: its gathered replies are sent.
    pub(super) fn continue_one(
        &mut self,
        at: usize,
        connection: &mut Connection,
    ) -> Result<(), End> {
        match connection.session.flow {
            // It continues when its socket has accepted the replies.
            _ if connection.waiting > 0 => Ok(()),
            _ if connection.session.closing => Err(End::Closed),
            Flow::Throttled => self.go_on(at, connection),
            _ => Ok(()),
        }
    }
}
