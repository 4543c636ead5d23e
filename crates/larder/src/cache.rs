//! The cache itself: a handle to a store, a clock that is read only where a call needs the time,
//! and the loop that tunes.
//!
//! An entry's time to live and the samples of the loop need the time of each call. A cache that has
//! neither does not read the clock, which saves a tenth of a read. `is_timed` is raised before the
//! first such entry is written and is never lowered. A read that does not see the flag yet runs
//! beside that write, and an entry that it meets has only just begun to live.
//!
//! A call may remove entries, its own or others. The listener hears of them at the end of the call,
//! when the call holds no lock (`removal.rs`).

mod clock;
mod error;
mod fetch;
mod flight;
mod iter;
mod removal;
mod report;

pub(crate) use clock::Clock;
pub use error::Error;
pub use iter::Iter;
pub use removal::Removal;
pub(crate) use removal::{Callback, Removals};

use crate::builder::{Builder, micros};
use crate::plant::Loop;
use base::TenantId;
use flight::Flights;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{Key, Now, Scope, Store};

/// The most buckets that one call of [`Cache::maintain`] sweeps.
const SWEEP: usize = 4096;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A cache of byte strings, or a part of one. Clones are handles to the same cache, and threads
/// share them.
#[derive(Clone, Debug)]
pub struct Cache {
    shared: Arc<Shared>,
    part: TenantId,
}

/// The store and its companions, which all handles of a cache share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    /// The names of the parts, in the order of their tenant ids.
    pub(crate) names: Vec<String>,
    pub(crate) clock: Clock,
    pub(crate) is_timed: AtomicBool,
    pub(crate) cost: Option<Cost>,
    pub(crate) removals: Option<Removals>,
    pub(crate) flights: Box<Flights>,
    pub(crate) looping: Mutex<Option<Loop>>,
}

type CostOf = dyn Fn(&[u8], &[u8]) -> Duration + Send + Sync;

/// The caller's function that states the cost of a miss of an entry.
pub(crate) struct Cost(pub(crate) Box<CostOf>);

impl fmt::Debug for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cost")
    }
}

impl Shared {
    pub(crate) fn maintain(&self) {
        self.store.sweep(self.clock.now(), SWEEP);
        if let Some(looping) = &mut *self.looping() {
            looping.tick(self);
        }
        self.tell();
    }

    fn looping(&self) -> MutexGuard<'_, Option<Loop>> {
        self.looping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn now(&self) -> Now {
        if self.is_timed.load(Relaxed) { self.clock.now() } else { Now::default() }
    }

    /// Tells the listener, if there is one, of the entries that this thread has removed.
    #[inline]
    fn tell(&self) {
        if let Some(removals) = &self.removals {
            removals.tell(&self.names);
        }
    }
}

impl Cache {
    /// Makes a cache of `capacity` bytes, for entries and all that holds them; 0 for no bound.
    ///
    /// ```
    /// let cache = larder::Cache::new(64 << 20);
    /// assert!(cache.is_empty());
    /// ```
    pub fn new(capacity: u64) -> Self {
        Self::builder(capacity).build().expect("the defaults make a cache")
    }

    /// Begins a cache of `capacity` bytes that takes further settings.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// let cache = larder::Cache::builder(64 << 20).candidates(8).maintained().build()?;
    /// # assert!(cache.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(capacity: u64) -> Builder {
        Builder::new(capacity)
    }

    pub(crate) const fn of(shared: Arc<Shared>, part: TenantId) -> Self {
        Self { shared, part }
    }

    /// Returns the part of this name, if [`Builder::parts`] named it.
    pub fn part(&self, name: &str) -> Option<Self> {
        let at = self.shared.names.iter().position(|known| known == name)?;
        Some(Self::of(Arc::clone(&self.shared), at as TenantId))
    }

    #[inline]
    fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        self.shared.store.key(self.part, 0, bytes)
    }

    /// Returns a copy of the value.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// let cache = larder::Cache::new(1 << 20);
    /// cache.insert("user:1", "Ada")?;
    /// assert_eq!(cache.get("user:1").as_deref(), Some(&b"Ada"[..]));
    /// assert_eq!(cache.get("user:2"), None);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.get_with(key, <[u8]>::to_vec)
    }

    /// Shows the value in place, without a copy. The shard stays locked against writes meanwhile,
    /// so `read` should be short, and must not call the cache.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// let cache = larder::Cache::new(1 << 20);
    /// cache.insert("visits", 7u64.to_le_bytes())?;
    /// let read = |value: &[u8]| u64::from_le_bytes(value.try_into().unwrap());
    /// assert_eq!(cache.get_with("visits", read), Some(7));
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn get_with<R>(&self, key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let (key, shared) = (self.key(key.as_ref()), &*self.shared);
        let result = shared.store.get(&key, shared.now(), |item| read(item.value));
        shared.tell();
        result
    }

    /// Shows the value in place. The read counts neither as a use of the entry nor as a hit or a
    /// miss.
    fn peek<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let shared = &*self.shared;
        let result = shared.store.peek(&self.key(key), shared.now(), |item| read(item.value));
        shared.tell();
        result
    }

    /// Whether there is an entry. The call does not count as a use of the entry.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.peek(key.as_ref(), |_| ()).is_some()
    }

    /// Inserts an entry, or replaces its value.
    ///
    /// # Errors
    /// If the entry can never fit. The old value of the key then stays.
    #[inline]
    pub fn insert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), Error> {
        self.put(key.as_ref(), value.as_ref(), None, None)
    }

    /// Inserts an entry that lives for `ttl` at most.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// use std::time::Duration;
    ///
    /// let cache = larder::Cache::builder(1 << 20).virtual_time().build()?;
    /// cache.insert_for("session:9", "token", Duration::from_secs(60))?;
    /// cache.advance(Duration::from_secs(61));
    /// assert_eq!(cache.get("session:9"), None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Cache::insert`].
    pub fn insert_for(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> Result<(), Error> {
        self.put(key.as_ref(), value.as_ref(), Some(ttl), None)
    }

    /// Inserts an entry whose miss costs `cost`; the entry lives for `ttl` if given.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// use std::time::Duration;
    ///
    /// let cache = larder::Cache::new(1 << 20);
    /// cache.insert_priced("report:7", "took a while", None, Duration::from_millis(800))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Cache::insert`].
    pub fn insert_priced(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Option<Duration>,
        cost: Duration,
    ) -> Result<(), Error> {
        self.put(key.as_ref(), value.as_ref(), ttl, Some(cost))
    }

    /// Writes an entry for the caller: it detaches a fetch of the key and tells the listener.
    #[inline]
    fn put(
        &self,
        key: &[u8],
        value: &[u8],
        ttl: Option<Duration>,
        cost: Option<Duration>,
    ) -> Result<(), Error> {
        let shared = &*self.shared;
        let cost = cost.or_else(|| shared.cost.as_ref().map(|cost| cost.0(key, value)));
        let key = self.key(key);
        shared.flights.detach(self.part, key.hash, key.bytes);
        let done = self.write(&key, value, ttl, cost);
        shared.tell();
        done
    }

    #[inline]
    fn write(
        &self,
        key: &Key,
        value: &[u8],
        ttl: Option<Duration>,
        cost: Option<Duration>,
    ) -> Result<(), Error> {
        let shared = &*self.shared;
        if ttl.is_some() {
            shared.is_timed.store(true, Relaxed);
        }
        let now = shared.now();
        let expires = ttl
            .map(|ttl| now.unix_ms.saturating_add(ttl.as_millis().try_into().unwrap_or(u64::MAX)));
        let done = match cost {
            None => shared.store.set(key, value, expires, now),
            Some(cost) => shared.store.set_priced(key, value, expires, micros(cost), now),
        };
        done.map_err(Error::Refused)
    }

    /// Removes an entry; returns whether there was one.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// let cache = larder::Cache::new(1 << 20);
    /// cache.insert("user:1", "Ada")?;
    /// assert!(cache.remove("user:1"));
    /// assert!(!cache.remove("user:1"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove(&self, key: impl AsRef<[u8]>) -> bool {
        let (key, shared) = (self.key(key.as_ref()), &*self.shared);
        shared.flights.detach(self.part, key.hash, key.bytes);
        let was_there = shared.store.delete(&key, shared.now());
        shared.tell();
        was_there
    }

    /// Removes all entries of this part. Entries that other threads insert meanwhile may stay.
    pub fn clear(&self) {
        self.shared.flights.detach_all(self.part);
        if self.shared.removals.is_none() {
            self.shared.store.flush(Scope::tenant(self.part));
        } else {
            // One by one, so that the listener hears of each and copies do not pile up.
            self.iter().for_each(|(key, _)| _ = self.remove(key));
        }
    }

    /// Walks the entries of this part, in no particular order, and copies them.
    ///
    /// The walk is no snapshot of one instant, because other threads may write meanwhile. It
    /// follows the store's scan, a few entries at a time, and holds no lock between two batches, so
    /// the loop may call the cache. An entry that is there from beginning to end is shown exactly
    /// once. An entry that is inserted or removed meanwhile is shown once or not at all. An entry
    /// that is replaced is shown with either value. A key that is removed and inserted again may be
    /// shown twice. Expired entries are not shown. The walk does not use an entry: it counts no
    /// hit, and does not change when the entry is evicted.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// let cache = larder::Cache::new(1 << 20);
    /// cache.insert("user:1", "Ada")?;
    /// cache.insert("user:2", "Grace")?;
    /// cache.insert("page:/", "<h1>")?;
    /// for (key, _value) in &cache {
    ///     if key.starts_with(b"user:") {
    ///         cache.remove(key);
    ///     }
    /// }
    /// assert_eq!(cache.iter().collect::<Vec<_>>(), [(b"page:/".to_vec(), b"<h1>".to_vec())]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn iter(&self) -> Iter {
        Iter::new(self.clone())
    }

    /// Does the background work: removes expired entries, shrinks towards a lowered capacity, and
    /// lets the recipe observe and act. One call does a bounded amount of work. Call it a few times
    /// a second where entries expire or a recipe is at work.
    pub fn maintain(&self) {
        self.shared.maintain();
    }

    /// Advances [virtual time](Builder::virtual_time); a real clock ignores the call.
    pub fn advance(&self, time: Duration) {
        self.shared.clock.advance(time);
    }
}

#[cfg(test)]
mod tests;
