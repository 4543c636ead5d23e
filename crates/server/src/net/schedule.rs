//! The schedule of a worker: the connections that continue without an event at their sockets.

use super::driver::Token;
use std::collections::{BTreeSet, VecDeque};

/// Connections that continue in the next turn, at a time, or after CLIENT PAUSE. A connection that
/// has gone meanwhile stays here until its turn: its token is of nobody then.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// The turns in which connections were added, with the connection.
    ready: VecDeque<(u64, Token)>,
    turn: u64,
    /// The times, in milliseconds of the server's clock, with the connection that continues.
    timers: BTreeSet<(u64, Token)>,
    paused: Vec<Token>,
}

impl Schedule {
    /// Lets a connection continue in the next turn.
    pub(super) fn add_ready(&mut self, token: Token) {
        self.ready.push_back((self.turn, token));
    }

    /// Begins the next turn.
    pub(super) const fn begin_turn(&mut self) {
        self.turn += 1;
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

    /// Whether any connection continues in the next turn.
    pub(super) fn is_any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes the next connection that continues in this turn.
    pub(super) fn next_ready(&mut self) -> Option<Token> {
        let (turn, token) = *self.ready.front()?;
        if turn == self.turn {
            return None;
        }
        self.ready.pop_front();
        Some(token)
    }

    /// Takes the connections at a place out of those that continue in this turn or the next one.
    pub(super) fn take_ready_at(&mut self, at: Option<usize>) -> Vec<Token> {
        let mut taken = vec![];
        self.ready.retain(|(_, token)| {
            let is_there = Some(token.at) == at;
            if is_there {
                taken.push(*token);
            }
            !is_there
        });
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
        assert_eq!(schedule.next_ready(), None, "the next turn has not begun");
        schedule.begin_turn();
        schedule.add_ready(token(4));
        assert_eq!([(); 3].map(|()| schedule.next_ready()), [Some(token(2)), Some(token(3)), None]);
        assert!(schedule.is_any_ready());
        assert!(schedule.take_ready_at(None).is_empty());
    }
}
