//! Places for connections. A silent connection cannot keep its place.
//!
//! Each connection has a place. Its silence begins when it is accepted, and anew with each answer.
//! Half a head counts as silence, and so does an answer that the client does not read. After ten
//! seconds of silence the connection is closed. When all places are taken, the connection with the
//! longest silence makes room for the next. So a probe, which sends its head as it connects, is
//! answered even when all other connections are silent. A connection that waits for its answer (a
//! wrong password delays it) is the last to make room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// The longest silence of a connection before it is closed.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    places: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    /// Whether the connection is being answered, and when the answer or its silence began. The
    /// least of these makes room first.
    state: (bool, Instant),
    task: Option<AbortHandle>,
}

/// The place of a connection. It is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    id: u64,
    places: Arc<Places>,
}

/// A connection that is being answered. Its silence begins when this is dropped.
pub(super) struct Busy<'a>(&'a Place);

impl Places {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a new connection, one of at most `max`.
    pub(super) fn take(self: &Arc<Self>, max: usize, now: Instant) -> Place {
        let mut taken = self.lock();
        while taken.places.len() >= max {
            let Some((&id, _)) = taken.places.iter().min_by_key(|(_, found)| found.state) else {
                break;
            };
            taken.close(id);
            tracing::debug!(
                "closed an HTTP connection to make room for another: http-maxclients is {max}"
            );
        }
        taken.next += 1;
        let id = taken.next;
        taken.places.insert(id, Connection { state: (false, now), task: None });
        Place { id, places: self.clone() }
    }

    /// Records the task that serves the connection at a place, if the connection is still open.
    pub(super) fn hold(&self, id: u64, task: AbortHandle) {
        if let Some(connection) = self.lock().places.get_mut(&id) {
            connection.task = Some(task);
        }
    }

    /// Closes connections that have been silent for longer than `SILENCE_MAX`.
    pub(super) fn close_silent(&self, now: Instant) {
        let mut taken = self.lock();
        let is_over = |(busy, since): (bool, Instant)| !busy && now - since > SILENCE_MAX;
        let over: Vec<_> = taken.places.iter().filter(|(_, found)| is_over(found.state)).collect();
        for id in over.into_iter().map(|(&id, _)| id).collect::<Vec<_>>() {
            taken.close(id);
        }
    }
}

impl Taken {
    fn close(&mut self, id: u64) {
        let connection = self.places.remove(&id);
        if let Some(task) = connection.and_then(|connection| connection.task) {
            task.abort();
        }
    }
}

impl Place {
    /// The number of the place, never used twice.
    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    /// Marks the connection as being answered.
    pub(super) fn answer(&self) -> Busy<'_> {
        self.set(true);
        Busy(self)
    }

    /// Begins the silence anew: the client took the last event.
    pub(super) fn speaks(&self) {
        self.set(false);
    }

    fn set(&self, busy: bool) {
        if let Some(connection) = self.places.lock().places.get_mut(&self.id) {
            connection.state = (busy, Instant::now());
        }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().places.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(places: &Places) -> Vec<u64> {
        places.lock().places.keys().copied().collect()
    }

    #[test]
    fn the_longest_silence_makes_room() {
        let (places, now) = (Arc::new(Places::default()), Instant::now());
        let [first, second, _third] = [0; 3].map(|_| places.take(3, now));
        let busy = first.answer();
        let _fourth = places.take(3, now + Duration::from_secs(1));
        assert_eq!(ids(&places), [1, 3, 4], "the first is being answered");
        drop(second);
        assert_eq!(ids(&places), [1, 3, 4], "its place was taken already");
        places.close_silent(now + SILENCE_MAX + Duration::from_millis(1));
        assert_eq!(ids(&places), [1, 4]);
        drop(busy);
        places.close_silent(Instant::now() + SILENCE_MAX + Duration::from_secs(2));
        assert_eq!(ids(&places), [0; 0]);
    }
}
