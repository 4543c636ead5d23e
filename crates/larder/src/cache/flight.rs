//! Single flight: threads that miss the same key at the same moment wait for one fetch.
//!
//! The first thread that misses a key becomes the *leader* of a flight: it runs the caller's
//! function, with no lock held, inserts the value and hands it to the waiting threads. A fetch that
//! fails or panics ends the flight without a value, and one of the waiting threads leads the next
//! flight.
//!
//! ```text
//!   get ─miss─▶ join ─┬─ no flight ─▶ lead: look again ─▶ fetch ─▶ land: insert and wake
//!                     └─ a flight ──▶ wait ─┬─ landed: the value
//!                                           └─ given up: join again
//! ```
//!
//! The leader looks again because the previous flight may have landed between its miss and its
//! joining; that flight inserts the value before it leaves the map.
//!
//! A key that is inserted or removed during its fetch makes the fetched value out of date. The
//! flight is then *detached*: taken from the map. Waiting threads get its value, because they asked
//! before the change. The value is not inserted, and later readers start a flight of their own.

use base::TenantId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Number of maps that share the flights by hash, so that threads seldom wait for the lock of a
/// map.
const SLOTS: usize = 16;

type Name = (TenantId, Box<[u8]>);
type Map = HashMap<Name, Arc<Flight>>;

/// The flights of a cache, in maps by hash.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    slots: [Slot; SLOTS],
}

/// A map and its count, on two cache lines, which processors fetch together: a change of one count
/// slows no other slot.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    /// Flights in the map. Inserts and removals read this count first and seldom need the lock.
    count: AtomicUsize,
    flights: Mutex<Map>,
}

#[derive(Debug)]
struct Flight {
    leader: ThreadId,
    state: Mutex<FlightState>,
    ends: Condvar,
}

#[derive(Debug)]
enum FlightState {
    UnderWay,
    Landed(Vec<u8>),
    GivenUp,
}

/// The result of joining a flight.
pub(crate) enum Joined<'a> {
    /// The thread waited, and this is the value.
    Landed(Vec<u8>),
    /// The thread must fetch.
    Leads(Lead<'a>),
}

/// A flight under way. A lead that is dropped before it lands gives the flight up.
pub(crate) struct Lead<'a> {
    slot: &'a Slot,
    name: Name,
    flight: Arc<Flight>,
}

/// Locks a mutex, also after a panic: a thread that panics with one of these locks leaves nothing
/// half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Flights {
    fn slot(&self, hash: u64) -> &Slot {
        &self.slots[hash as usize % SLOTS]
    }

    /// Waits for the flight of a key, or starts one if there is none.
    ///
    /// # Panics
    /// If this thread already fetches that key: it would wait for itself.
    pub(crate) fn join(&self, part: TenantId, hash: u64, key: &[u8]) -> Joined<'_> {
        let slot = self.slot(hash);
        loop {
            let name: Name = (part, key.into());
            let other = slot.change(|flights| match flights.entry(name.clone()) {
                Entry::Occupied(entry) => Ok(Arc::clone(entry.get())),
                Entry::Vacant(entry) => Err(Arc::clone(entry.insert(Flight::begin()))),
            });
            match other {
                Err(flight) => return Joined::Leads(Lead { slot, name, flight }),
                Ok(other) => {
                    if let Some(value) = other.wait() {
                        return Joined::Landed(value);
                    }
                }
            }
        }
    }

    /// Detaches the flight of a key that is about to change.
    ///
    /// A count that is read too early cannot hide a flight that matters. A flight whose fetch saw
    /// the old value was counted before that fetch began.
    #[inline]
    pub(crate) fn detach(&self, part: TenantId, hash: u64, key: &[u8]) {
        let slot = self.slot(hash);
        if slot.count.load(Relaxed) > 0 {
            slot.change(|flights| _ = flights.remove(&(part, key.into())));
        }
    }

    /// Detaches all flights of a part that is about to be cleared.
    pub(crate) fn detach_all(&self, part: TenantId) {
        for slot in &self.slots {
            slot.change(|flights| flights.retain(|name, _| name.0 != part));
        }
    }

    /// Counts the waiting threads. The map and the leader hold a reference to each flight as well.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        let waiting = |slot: &Slot| -> usize {
            lock(&slot.flights).values().map(|flight| Arc::strong_count(flight) - 2).sum()
        };
        self.slots.iter().map(waiting).sum()
    }
}

impl Slot {
    /// Changes the map, and stores its new length as the count.
    fn change<R>(&self, change: impl FnOnce(&mut Map) -> R) -> R {
        let mut flights = lock(&self.flights);
        let result = change(&mut flights);
        self.count.store(flights.len(), Relaxed);
        result
    }
}

impl Flight {
    fn begin() -> Arc<Self> {
        let (leader, state) = (thread::current().id(), Mutex::new(FlightState::UnderWay));
        Arc::new(Self { leader, state, ends: Condvar::new() })
    }

    /// Waits for the end of the flight; returns the value, if there is one.
    fn wait(&self) -> Option<Vec<u8>> {
        assert!(
            self.leader != thread::current().id(),
            "the fetch of a key requests the same key, and would wait for itself: use `get` in the \
             fetch"
        );
        let is_under_way = |state: &mut FlightState| matches!(state, FlightState::UnderWay);
        let state = self.ends.wait_while(lock(&self.state), is_under_way);
        match &*state.unwrap_or_else(PoisonError::into_inner) {
            FlightState::Landed(value) => Some(value.clone()),
            FlightState::UnderWay | FlightState::GivenUp => None,
        }
    }

    fn end(&self, state: FlightState) {
        *lock(&self.state) = state;
        self.ends.notify_all();
    }
}

impl Lead<'_> {
    /// Ends the flight with a value, and calls `insert` unless the flight was detached.
    pub(crate) fn land(self, value: &[u8], insert: impl FnOnce()) {
        // Under the lock of the map: a thread that changes the key meanwhile waits, and its value
        // wins.
        self.leave(insert);
        // A waiting thread holds the flight; no further thread can join it.
        if Arc::strong_count(&self.flight) > 1 {
            self.flight.end(FlightState::Landed(value.to_vec()));
        }
    }

    /// Calls `last` if the flight is still in the map, then takes the flight out.
    fn leave(&self, last: impl FnOnce()) {
        self.slot.change(|flights| {
            if flights.get(&self.name).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
                last();
                flights.remove(&self.name);
            }
        });
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.leave(|| ());
        let mut state = lock(&self.flight.state);
        if matches!(*state, FlightState::UnderWay) {
            *state = FlightState::GivenUp;
            self.flight.ends.notify_all();
        }
    }
}
