//! The handle that callers hold: reads, writes and removals.

use super::Error;
use super::shared::{Shared, micros};
use base::TenantId;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use store::{Key, Scope};

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A cache of byte strings, or a part of one. Clones are handles to the same cache, and threads
/// share them.
#[derive(Clone, Debug)]
pub struct Cache {
    pub(super) shared: Arc<Shared>,
    pub(super) part: TenantId,
}

impl Cache {
    pub(crate) const fn of(shared: Arc<Shared>, part: TenantId) -> Self {
        Self { shared, part }
    }

    /// Returns the part of this name, if [`Builder::parts`](crate::Builder::parts) named it.
    pub fn part(&self, name: &str) -> Option<Self> {
        let at = self.shared.names.iter().position(|known| known == name)?;
        Some(Self::of(Arc::clone(&self.shared), at as TenantId))
    }

    #[inline]
    pub(super) fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
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
    pub(super) fn peek<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
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
    pub(super) fn write(
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

    /// Does the background work: removes expired entries, shrinks towards a lowered capacity, and
    /// lets the recipe observe and act. One call does a bounded amount of work. Call it a few times
    /// a second where entries expire or a recipe is at work.
    pub fn maintain(&self) {
        self.shared.maintain();
    }

    /// Advances [virtual time](crate::Builder::virtual_time); a real clock ignores the call.
    pub fn advance(&self, time: Duration) {
        self.shared.clock.advance(time);
    }
}
