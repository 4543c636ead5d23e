//! The time since an item's last access.
//!
//! An item knows the number of accesses to its shard since its own last access, but not the time.
//! So each second the total number of accesses is noted. The idle time of an item is the time since
//! the total was as low as at its last access. This is an estimate: it assumes that accesses are
//! spread evenly over the shards.

use std::sync::{Mutex, PoisonError};
use store::{Counters, Now};

/// The largest number of notes. Beyond it every second note of the older half is dropped, because a
/// moment long ago need not be known to the second.
const NOTES_MAX: usize = 1_024;

/// A second since the start of the server, and the total number of accesses until then.
type Note = (u64, u64);

/// The notes of past accesses.
#[derive(Debug, Default)]
pub(crate) struct IdleClock(Mutex<Vec<Note>>);

/// The accesses that a shard counts: a read that misses is none.
const fn accesses(counters: &Counters) -> u64 {
    counters.hits + counters.sets + counters.touched
}

impl IdleClock {
    /// Notes the total number of accesses until now.
    pub(crate) fn note(&self, counters: &Counters, now_ms: u64) {
        let total = accesses(counters);
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        push(&mut notes, (now_ms / 1_000, total));
    }
}

/// Keeps a note, unless the total is the same as in the last one.
fn push(notes: &mut Vec<Note>, note: Note) {
    if notes.last().is_some_and(|last| last.1 == note.1) {
        return;
    }
    if notes.len() == NOTES_MAX {
        let mut at = 0;
        notes.retain(|_| {
            at += 1;
            at > NOTES_MAX / 2 || at % 2 == 0
        });
    }
    notes.push(note);
}

/// The idle times of items at one moment.
pub(crate) struct IdleTimes {
    notes: Vec<Note>,
    now: Note,
    /// The number of shards, over which accesses are spread.
    shards: u64,
}

impl IdleTimes {
    /// The idle times of items in a store of this many shards.
    pub(crate) fn at(clock: &IdleClock, counters: &Counters, shards: usize, now: Now) -> Self {
        let notes = clock.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let now = (now.micros.0 / 1_000_000, accesses(counters));
        Self { notes, now, shards: shards as u64 }
    }

    /// Seconds since the last access to an item with this `idle` count of accesses.
    pub(crate) fn of(&self, idle: u32) -> u64 {
        let then = self.now.1.saturating_sub(u64::from(idle) * self.shards);
        let at = self.notes.partition_point(|note| note.1 < then);
        self.notes.get(at).map_or(0, |note| self.now.0.saturating_sub(note.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_times_count() {
        // Ten accesses in each of the first five seconds, then none until second 100.
        let mut notes = vec![];
        for second in 1..100 {
            push(&mut notes, (second, second.min(5) * 10));
        }
        assert_eq!(notes.len(), 5);
        let ages = IdleTimes { notes, now: (100, 50), shards: 2 };
        assert_eq!([0, 1, 5, 20].map(|idle| ages.of(idle)), [95, 95, 96, 99]);
        let ages = IdleTimes { now: (100, 60), ..ages };
        assert_eq!(ages.of(0), 0, "just now");
    }

    #[test]
    fn notes_are_bounded() {
        let mut notes = vec![];
        for second in 0..100_000 {
            push(&mut notes, (second, second + 1));
        }
        assert!(notes.len() <= NOTES_MAX && notes.is_sorted());
        assert_eq!(notes.last(), Some(&(99_999, 100_000)));
    }
}
