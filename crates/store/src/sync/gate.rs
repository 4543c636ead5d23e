//! A gate: among threads that work in parallel, one may run alone.
//!
//! A thread works in *batches*, each from [`Gate::enter`] to [`Gate::leave`]. Batches of different
//! threads run at the same time. A thread that must be alone closes the gate and waits until every
//! other thread is between two batches. Its work then is an *exclusive section*, and no other
//! thread sees half of it.
//!
//! ```text
//!   a batch                             an exclusive section
//!   busy[own] = true                    closed = own number, if the gate was open
//!   fence                               fence
//!   closed? busy[own] = false,          wait until no other is busy
//!     wait, begin again                 …
//!   …                                   closed = no number
//!   busy[own] = false
//! ```
//!
//! This is Dekker's algorithm [1]: each side announces itself, and then looks at the other. A
//! processor may run a load before an earlier store to another line, which is still in its store
//! buffer. The *store-load fence* between the two prevents that on either side. So at least one
//! side sees the other: the thread does not begin its batch, or the closing thread waits for it.
//! Epochs of reclamation are announced in the same way [2]. The fence is nearly the whole cost of a
//! batch. Its flag has a cache line of its own, and the line of `closed` is in every cache while no
//! thread closes the gate.
//!
//! A thread may close the gate within its batch. While it waits for another thread that has closed
//! it, it is not busy, so two threads that both want to be alone do not wait for each other. The
//! rest of its batch follows later. A thread that is already alone closes nothing.
//!
//! No thread is notified that the gate is open or that a batch is over: both are plain stores. A
//! waiting thread polls, then yields, then sleeps, longer the longer it has waited. A thread that
//! has begun to sleep has priority: others do not close the gate before it. So a thread with one
//! section after another keeps no other thread out.
//!
//! A single thread is always alone, and costs only the branch that finds this out.
//!
//! [1] Dijkstra. Cooperating Sequential Processes. 1965, which attributes it to Dekker.
//! [2] Fraser. Practical Lock-Freedom. 2004, section 5.2.3.

use crate::sync::shim::{AtomicBool, AtomicUsize, Padded, Patience, fence};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// Value of `closed` while the gate is open. Otherwise it is the closing thread's number plus one.
const OPEN: usize = 0;

/// Lets one of several threads be alone.
#[derive(Debug)]
pub struct Gate {
    closed: Padded<AtomicUsize>,
    /// Number of threads that sleep at the gate.
    asleep: Padded<AtomicUsize>,
    /// Whether each thread is in a batch; empty if there is only one thread.
    busy: Box<[Padded<AtomicBool>]>,
}

/// The outcome of entering the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// The gate was open.
    AtOnce,
    /// The thread entered after others had been alone.
    Late,
    /// The thread gave up waiting, and is not in a batch.
    Not,
}

/// An exclusive section, which ends when this value is dropped.
#[derive(Debug)]
pub struct Alone<'a> {
    /// `None` if the thread was already alone.
    closed: Option<&'a Gate>,
    late: bool,
}

/// A thread that waits at the gate.
struct Waiter<'a> {
    gate: &'a Gate,
    patience: Patience,
    sleeps: bool,
}

impl Gate {
    /// Creates a gate for threads with numbers below `threads`.
    pub fn new(threads: usize) -> Self {
        let busy = if threads > 1 { threads } else { 0 };
        Self {
            closed: Padded(AtomicUsize::new(OPEN)),
            asleep: Padded(AtomicUsize::new(0)),
            busy: (0..busy).map(|_| Padded(AtomicBool::new(false))).collect(),
        }
    }

    /// Begins a batch as soon as no other thread is alone. While the thread waits, `gives_up` is
    /// asked whether it stops waiting.
    #[inline]
    pub fn enter(&self, thread: usize, gives_up: impl Fn() -> bool) -> Entered {
        match self.busy.get(thread) {
            Some(busy) if !self.announce(&busy.0) => self.enter_late(&busy.0, &gives_up),
            _ => Entered::AtOnce,
        }
    }

    /// Ends a batch, if the thread is in one.
    #[inline]
    pub fn leave(&self, thread: usize) {
        if let Some(busy) = self.busy.get(thread) {
            busy.0.store(false, Release);
        }
    }

    /// Whether a thread is alone, or is about to be. A thread with a long batch should end it then.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.0.load(Relaxed) != OPEN
    }

    /// Waits until the thread, which is in a batch, is alone. `None` if it gave up; its batch is
    /// over then.
    #[inline]
    pub fn close(&self, thread: usize, gives_up: impl Fn() -> bool) -> Option<Alone<'_>> {
        match self.busy.get(thread) {
            Some(busy) if self.closed.0.load(Relaxed) != thread + 1 => {
                self.close_for(thread, &busy.0, &gives_up)
            }
            _ => Some(Alone { closed: None, late: false }),
        }
    }

    /// Announces that the thread is in a batch, and returns whether it is: the gate must be open.
    #[inline]
    fn announce(&self, busy: &AtomicBool) -> bool {
        busy.store(true, Relaxed);
        fence(SeqCst);
        let is_open = self.closed.0.load(Acquire) == OPEN;
        if !is_open {
            busy.store(false, Release);
        }
        is_open
    }

    #[cold]
    fn enter_late(&self, busy: &AtomicBool, gives_up: &dyn Fn() -> bool) -> Entered {
        let mut waiter = Waiter::new(self);
        while self.is_closed() || !self.announce(busy) {
            if !waiter.wait(gives_up) {
                return Entered::Not;
            }
        }
        Entered::Late
    }

    fn close_for(
        &self,
        thread: usize,
        busy: &AtomicBool,
        gives_up: &dyn Fn() -> bool,
    ) -> Option<Alone<'_>> {
        let (mut waiter, mut late) = (Waiter::new(self), false);
        while !waiter.try_close(thread) {
            busy.store(false, Release);
            late = true;
            if !waiter.wait(gives_up) {
                return None;
            }
        }
        drop(waiter);
        let alone = Alone { closed: Some(self), late };
        // The batch continues after the section. The next thread that closes the gate sees this
        // store through the one that opens the gate.
        busy.store(true, Relaxed);
        fence(SeqCst);
        let others = self.busy.iter().enumerate().filter(|(at, _)| *at != thread);
        for (_, other) in others {
            let mut patience = Patience::default();
            while other.0.load(Acquire) {
                patience.wait();
            }
        }
        Some(alone)
    }
}

impl Alone<'_> {
    /// Whether other threads were alone while this one waited: then the time is later, and data may
    /// have changed.
    pub const fn is_late(&self) -> bool {
        self.late
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.closed {
            gate.closed.0.store(OPEN, Release);
        }
    }
}

impl<'a> Waiter<'a> {
    fn new(gate: &'a Gate) -> Self {
        Self { gate, patience: Patience::default(), sleeps: false }
    }

    /// Closes the gate if it is open, and no other thread has waited for longer.
    fn try_close(&self, thread: usize) -> bool {
        let closed = &self.gate.closed.0;
        (self.sleeps || self.gate.asleep.0.load(Relaxed) == 0)
            && closed.load(Relaxed) == OPEN
            && closed.compare_exchange(OPEN, thread + 1, AcqRel, Relaxed).is_ok()
    }

    /// Waits a moment. Returns false if the thread gives up, which is asked before it yields: on a
    /// busy machine other threads then keep the processor for milliseconds.
    fn wait(&mut self, gives_up: &dyn Fn() -> bool) -> bool {
        if gives_up() {
            return false;
        }
        if self.patience.is_over() && !self.sleeps {
            self.sleeps = true;
            self.gate.asleep.0.fetch_add(1, Relaxed);
        }
        self.patience.wait();
        true
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if self.sleeps {
            self.gate.asleep.0.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;
    use std::thread;

    const PATIENT: fn() -> bool = || false;

    /// A thread that gives up at once never waits, however many batches it begins.
    #[test]
    fn who_gives_up_does_not_wait_first() {
        let gate = Gate::new(2);
        gate.enter(0, PATIENT);
        let alone = gate.close(0, PATIENT).unwrap();
        let gives_up = || {
            assert_eq!(gate.asleep.0.load(Relaxed), 0, "it has slept");
            true
        };
        assert_eq!(gate.enter(1, gives_up), Entered::Not);
        drop(alone);
        assert_eq!(gate.enter(1, gives_up), Entered::AtOnce);
    }

    #[test]
    fn one_thread_is_always_alone() {
        let gate = Gate::new(1);
        assert_eq!(gate.enter(0, PATIENT), Entered::AtOnce);
        let alone = gate.close(0, PATIENT).unwrap();
        assert!(!gate.is_closed() && !alone.is_late());
        gate.leave(0);
    }

    #[test]
    fn who_is_alone_may_ask_to_be() {
        let gate = Gate::new(2);
        gate.enter(0, PATIENT);
        let outer = gate.close(0, PATIENT).unwrap();
        drop(gate.close(0, PATIENT));
        assert!(gate.is_closed(), "the outer section goes on");
        drop(outer);
        assert!(!gate.is_closed());
    }

    #[test]
    fn who_gives_up_is_in_no_batch() {
        let gate = Gate::new(3);
        gate.enter(0, PATIENT);
        let alone = gate.close(0, PATIENT).unwrap();
        assert_eq!(gate.enter(1, || true), Entered::Not);
        drop(alone);
        gate.enter(1, PATIENT);
        gate.leave(0);
        let alone = gate.close(1, PATIENT).unwrap();
        assert!(gate.close(2, || true).is_none());
        drop(alone);
        assert_eq!(gate.asleep.0.load(Ordering::Relaxed), 0);
    }

    /// Two counters that are only ever changed together.
    #[test]
    fn nobody_sees_half_of_a_section() {
        const ROUNDS: usize = 2_000;
        let (gate, pair) = (Gate::new(4), [AtomicUsize::new(0), AtomicUsize::new(0)]);
        thread::scope(|scope| {
            for number in 0..4 {
                let (gate, pair) = (&gate, &pair);
                scope.spawn(move || {
                    for _ in 0..ROUNDS {
                        gate.enter(number, PATIENT);
                        let seen = pair.each_ref().map(|count| count.load(Relaxed));
                        assert_eq!(seen[0], seen[1]);
                        if number < 2 {
                            let _alone = gate.close(number, PATIENT);
                            // A separate load and store: two threads at once would lose an
                            // increment.
                            let seen = pair.each_ref().map(|count| count.load(Relaxed));
                            pair.iter().zip(seen).for_each(|(count, seen)| {
                                count.store(seen + 1, Relaxed);
                            });
                        }
                        gate.leave(number);
                    }
                });
            }
        });
        assert_eq!(pair.map(AtomicUsize::into_inner), [2 * ROUNDS; 2]);
    }
}
