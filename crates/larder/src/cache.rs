//! The cache itself: a handle to a store, a clock that is read only where somebody needs the time,
//! and the loop.
//!
//! An entry's time to live and the loop's samples need the time of each call; a cache that has
//! neither does not ask for it, which is worth a tenth of a read. `is_timed` is raised before the
//! first such entry is written and never lowered: a read that does not see it yet runs beside that
//! write, and the entry it may meet has just begun to live.
//!
//! A call may make entries leave, its own or others. What a listener is to hear of them is told at
//! the end of the call, when it holds no lock (`removal.rs`).

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

/// Buckets that a call of [`Cache::maintain`] sweeps at most.
const SWEEP: usize = 4096;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A cache of byte strings, or a part of one. Clones are handles to the same, and threads share
/// them.
#[derive(Clone, Debug)]
pub struct Cache {
    shared: Arc<Shared>,
    part: TenantId,
}

/// What handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    /// Of the parts.
    pub(crate) names: Vec<String>,
    pub(crate) clock: Clock,
    pub(crate) is_timed: AtomicBool,
    pub(crate) cost: Option<Cost>,
    pub(crate) removals: Option<Removals>,
    pub(crate) flights: Box<Flights>,
    pub(crate) looping: Mutex<Option<Loop>>,
}

type CostOf = dyn Fn(&[u8], &[u8]) -> Duration + Send + Sync;

/// What missing an entry would cost.
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

    /// Tells the listener, if there is one, of what this thread has made leave.
    #[inline]
    fn tell(&self) {
        if let Some(removals) = &self.removals {
            removals.tell(&self.names);
        }
    }
}

impl Cache {
    /// A cache of `capacity` bytes, for entries and all that holds them; 0 for no bound.
    ///
    /// ```
    /// let cache = larder::Cache::new(64 << 20);
    /// assert!(cache.is_empty());
    /// ```
    pub fn new(capacity: u64) -> Self {
        Self::builder(capacity).build().expect("the defaults make a cache")
    }

    /// A cache of `capacity` bytes, with more to be said about it.
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

    /// The part of this name, if [`Builder::parts`] named it.
    pub fn part(&self, name: &str) -> Option<Self> {
        let at = self.shared.names.iter().position(|known| known == name)?;
        Some(Self::of(Arc::clone(&self.shared), at as TenantId))
    }

    #[inline]
    fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        self.shared.store.key(self.part, 0, bytes)
    }

    /// A copy of the value.
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

    /// Shows the value where it lies. Its shard is locked against writes meanwhile: `read` should
    /// be short, and must not call the cache.
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

    /// Shows the value where it lies, without a trace: no use of it, and neither hit nor miss.
    fn peek<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let shared = &*self.shared;
        let result = shared.store.peek(&self.key(key), shared.now(), |item| read(item.value));
        shared.tell();
        result
    }

    /// Whether there is an entry. This is no use of it.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.peek(key.as_ref(), |_| ()).is_some()
    }

    /// Inserts an entry, or replaces its value.
    ///
    /// # Errors
    /// If the entry can never fit; what the key held before is left as it was.
    #[inline]
    pub fn insert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), Error> {
        self.put(key.as_ref(), value.as_ref(), None, None)
    }

    /// Inserts an entry that lives so long at most.
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

    /// Inserts an entry that it would cost so much to miss, and that lives for `ttl` if given.
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

    /// A write by the caller.
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

    /// Removes an entry. Whether there was one.
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

    /// Removes all entries of this part. What other threads insert meanwhile may stay.
    pub fn clear(&self) {
        self.shared.flights.detach_all(self.part);
        if self.shared.removals.is_none() {
            self.shared.store.flush(Scope::tenant(self.part));
        } else {
            // One by one, so that the listener hears of each and copies do not pile up.
            self.iter().for_each(|(key, _)| _ = self.remove(key));
        }
    }

    /// Walks the entries of this part, in no order, and copies them.
    ///
    /// The walk is not of one instant, as others may write meanwhile; it goes by the store's scan,
    /// a few entries at a time, and holds no lock between two of them, so the cache may be called
    /// from within the loop. An entry that is there from beginning to end is shown exactly once;
    /// one that comes or goes meanwhile is shown once or not at all, one that is replaced with
    /// either value. A key that leaves and comes back may be shown twice. Entries whose time is up
    /// are not shown. To be shown is no use of an entry: it counts as no hit, and leaves no sooner
    /// or later.
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

    /// What nobody should wait for: finds entries whose time is up, approaches a lowered capacity,
    /// and lets the recipe look and act. A bounded piece of work, to be called a few times a
    /// second where entries expire or a recipe is at work.
    pub fn maintain(&self) {
        self.shared.maintain();
    }

    /// Moves [virtual time](Builder::virtual_time) on; a real clock takes no notice.
    pub fn advance(&self, time: Duration) {
        self.shared.clock.advance(time);
    }
}

#[cfg(test)]
mod tests;
