//! The schedule of a worker: the connections that continue without an event at their sockets.

use super::driver::Token;
use std::collections::{BTreeSet, VecDeque};

/// Connections that continue in the next turn, at a time, or after CLIENT PAUSE. A connection that
/// has gone meanwhile stays here until its turn: its token is of nobody then.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    ready: VecDeque<Token>,
    /// The times, in milliseconds of the server's clock, with the connection that continues.
    timers: BTreeSet<(u64, Token)>,
    paused: Vec<Token>,
}

impl Schedule {
    /// Lets a connection continue in the next turn.
    pub(super) fn add_ready(&mut self, token: Token) {
        self.ready.push_back(token);
    }

    /// Lets a connection continue at a time.
    pub(super) fn add_timer(&mut self, at_ms: u64, token: Token) {
        self.timers.insert((at_ms, token));
    }

    /// Lets a connection continue after the end of the pause.
    pub(super) fn add_paused(&mut self, token: Token) {
        self.paused.push(token);
    }

    pub(super) fn remove_timer(&mut self, at_ms: u64, token: Token) {
        self.timers.remove(&(at_ms, token));
    }

    /// The number of connections that continue in the next turn.
    pub(super) fn ready_len(&self) -> usize {
        self.ready.len()
    }

    /// Takes the next connection that continues in this turn.
    pub(super) fn next_ready(&mut self) -> Option<Token> {
        self.ready.pop_front()
    }

    /// Takes the connections at a place out of those that continue in this turn.
    pub(super) fn take_ready_at(&mut self, at: Option<usize>) -> VecDeque<Token> {
        let all = std::mem::take(&mut self.ready).into_iter();
        let (taken, others) = all.partition(|token| Some(token.at) == at);
        self.ready = others;
        taken
    }

    /// Takes the next connection whose time has come.
    pub(super) fn next_due(&mut self, now_ms: u64) -> Option<Token> {
        let (at_ms, token) = *self.timers.first()?;
        if at_ms > now_ms {
            return None;
        }
        self.timers.pop_first();
        Some(token)
    }

    /// Whether any connection waits for the end of a pause.
    pub(super) fn is_any_paused(&self) -> bool {
        !self.paused.is_empty()
    }

    /// Takes the connections that wait for the end of a pause.
    pub(super) fn take_paused(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.paused)
    }

    /// Whether any connection waits for a point in time.
    pub(super) fn awaits_time(&self) -> bool {
        !self.timers.is_empty() || !self.paused.is_empty()
    }

    /// The time of the first timer, in milliseconds of the server's clock.
    pub(super) fn first_timer(&self) -> Option<u64> {
        self.timers.first().map(|(at_ms, _)| *at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn token(at: usize) -> Token {
        Token { at, id: 10 + at as u64 }
    }

    #[test]
    fn timers_fire_in_their_order_and_not_early() {
        let mut schedule = Schedule::default();
        for (at_ms, at) in [(30, 1), (10, 2), (20, 3), (20, 0)] {
            schedule.add_timer(at_ms, token(at));
        }
        assert_eq!(schedule.first_timer(), Some(10));
        assert_eq!(schedule.next_due(9), None);
        schedule.remove_timer(20, token(3));
        let due: Vec<_> = std::iter::from_fn(|| schedule.next_due(25)).collect();
        assert_eq!(due, [token(2), token(0)]);
        assert!(schedule.awaits_time() && schedule.next_due(30) == Some(token(1)));
        assert!(!schedule.awaits_time());
    }

    #[test]
    fn the_client_of_a_script_is_kept_apart() {
        let mut schedule = Schedule::default();
        for at in [1, 2, 1, 3] {
            schedule.add_ready(token(at));
        }
        assert_eq!(schedule.take_ready_at(Some(1)), [token(1), token(1)]);
        assert_eq!(schedule.ready_len(), 2);
        assert_eq!(schedule.next_ready(), Some(token(2)));
        assert!(schedule.take_ready_at(None).is_empty());
    }
}
