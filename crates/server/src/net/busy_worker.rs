//! Standing in: while a script runs, its worker's other clients are told that the server is busy.
//!
//! A script occupies its thread, and so everything that the thread's event loop would serve. Before
//! a command that may run a script, the work of the loop is handed to a second [`Worker`], which
//! stands by. A script that runs for longer than `busy-reply-threshold` calls [`serve_meanwhile`]
//! from time to time. Then the stand-in takes the arrived requests and replies to them, outside of
//! any batch, as the workers of other threads do: BUSY, except to commands that may end the script.
//! It puts aside everything about the script's own client. When the script ends, the work goes
//! back, and the loop continues.

use super::driver::Event;
use super::worker::{AHEAD_MAX, Work, Worker};
use crate::services::running_script::set_meanwhile;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use store::Entered;

thread_local! {
    /// The worker that stands in for that of this thread.
    static STANDBY: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// Serves the clients of this thread, if a script has kept them waiting for too long.
fn serve_meanwhile() {
    let Some(mut worker) = STANDBY.take() else {
        return;
    };
    if worker.server.turns.is_busy(&worker.view.settings, &worker.server.clock) {
        worker.stand_in();
    }
    STANDBY.set(Some(worker));
}

/// The work that the stand-in gives back.
pub(super) fn take_back_work() -> Work {
    let Some(mut worker) = STANDBY.take() else {
        return Work::default();
    };
    for message in std::mem::take(&mut worker.work.postponed_mail) {
        worker.server.clients.send(worker.number, message);
    }
    if let Some(token) = worker.work.unread.take() {
        worker.driver().set_reading(token, true);
    }
    std::mem::take(&mut worker.work)
}

impl Worker {
    /// Hands the work over. From here on another worker may stand in, while a command runs for the
    /// client at this place.
    pub(super) fn lend_work(&mut self, at: usize) {
        set_meanwhile(serve_meanwhile);
        STANDBY.set(Some(Self {
            number: self.number,
            driver: Rc::clone(&self.driver),
            server: Arc::clone(&self.server),
            view: Arc::clone(&self.view),
            work: std::mem::take(&mut self.work),
            output: vec![],
            now_ms: self.now_ms,
            ticked_ms: self.ticked_ms,
            batches: self.batches,
            stands_in_for: Some(at),
        }));
    }

    /// Begins a batch of commands. A worker that stands in gets none.
    pub(super) fn enter(&self) -> Entered {
        if self.stands_in_for.is_some() {
            return Entered::Not;
        }
        let (server, settings) = (&self.server, &self.view.settings);
        server.turns.enter(self.number, settings, &server.clock)
    }

    /// Ends a batch of commands.
    pub(super) fn leave(&self) {
        if self.stands_in_for.is_none() {
            self.server.turns.gate.leave(self.number);
        }
    }

    /// Replies to the arrived requests, without waiting.
    fn stand_in(&mut self) {
        if self.wait(Duration::ZERO).is_err() {
            // The loop itself will end for the same reason, later.
            return;
        }
        // Everything about the script's client stays as it is, in its order.
        let away = self.stands_in_for;
        let ready = self.work.schedule.take_ready_at(away);
        let (mut events, mut bytes) = (VecDeque::new(), 0);
        // A message may have started the script, and others wait behind it.
        self.mail();
        while let Some(event) = self.next_event() {
            if event.at().is_none() || event.at() != away {
                self.event(event);
                continue;
            }
            if let Event::Received(token, more) = &event {
                bytes += more.len();
                if bytes > AHEAD_MAX {
                    self.driver().set_reading(*token, false);
                    self.work.unread = Some(*token);
                }
            }
            events.push_back(event);
        }
        self.continue_ready();
        // Sends the replies. If that fails, the loop itself will end for the same reason, later.
        let _ = self.wait(Duration::ZERO);
        events.append(&mut self.work.events);
        self.work.events = events;
        for token in ready {
            self.work.schedule.add_ready(token);
        }
    }
}
