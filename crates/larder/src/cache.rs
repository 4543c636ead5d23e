//! The cache itself: a handle to a store, a clock that is read only where somebody needs the time,
//! and the loop.
//!
//! An entry's time to live and the loop's samples need the time of each call; a cache that has
//! neither does not ask for it, which is worth a tenth of a read. `is_timed` is raised before the
//! first such entry is written and never lowered: a read that does not see it yet runs beside that
//! write, and the entry it may meet has just begun to live.

use crate::builder::{Builder, micros};
use crate::plant::Loop;
use crate::{Pauses, Stats};
use base::{Bytes, Micros, TenantId};
use curve::MissRatioCurve;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Key, Now, Scope, Store};
use tune::Plan;

/// Buckets that a call of [`Cache::tend`] sweeps at most.
const SWEEP: usize = 4096;

/// A cache of byte strings, or a part of one. Clones are handles to the same.
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
    pub(crate) weigher: Option<Weigher>,
    pub(crate) looping: Mutex<Option<Loop>>,
}

type Weigh = dyn Fn(&[u8], &[u8]) -> Duration + Send + Sync;

/// What missing an entry would cost.
pub(crate) struct Weigher(pub(crate) Box<Weigh>);

impl fmt::Debug for Weigher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Weigher")
    }
}

/// The time since the cache was made.
#[derive(Debug)]
pub(crate) enum Clock {
    Real(Instant),
    /// In microseconds.
    Virtual(AtomicU64),
}

impl Clock {
    pub(crate) const fn virtual_time() -> Self {
        Self::Virtual(AtomicU64::new(0))
    }

    /// The clock that pauses are taken with: in virtual time they take none.
    pub(crate) fn nanos(&self) -> fn() -> u64 {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        match self {
            Self::Real(_) => || BEGAN.elapsed().as_nanos() as u64,
            Self::Virtual(_) => || 0,
        }
    }

    pub(crate) fn now(&self) -> Now {
        let us = match self {
            Self::Real(begun) => begun.elapsed().as_micros() as u64,
            Self::Virtual(us) => us.load(Relaxed),
        };
        Now { unix_ms: us / 1_000, micros: Micros(us) }
    }
}

impl Shared {
    pub(crate) fn tend(&self) {
        self.store.sweep(self.clock.now(), SWEEP);
        if let Some(looping) = &mut *self.looping() {
            looping.tick(self);
        }
    }

    fn looping(&self) -> MutexGuard<'_, Option<Loop>> {
        self.looping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn now(&self) -> Now {
        if self.is_timed.load(Relaxed) { self.clock.now() } else { Now::default() }
    }
}

impl Cache {
    /// A cache of `capacity` bytes, for entries and all that holds them; 0 for no bound.
    pub fn new(capacity: u64) -> Self {
        Self::builder(capacity).build().expect("the defaults make a cache")
    }

    /// A cache of `capacity` bytes, with more to be said about it.
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
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.get_with(key, <[u8]>::to_vec)
    }

    /// Shows the value where it lies. Its shard is locked against writes meanwhile: `read` should
    /// be short, and must not call the cache.
    #[inline]
    pub fn get_with<R>(&self, key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let key = self.key(key.as_ref());
        self.shared.store.get(&key, self.shared.now(), |item| read(item.value))
    }

    /// Whether there is an entry. This is no use of it.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.shared.store.peek(&self.key(key.as_ref()), self.shared.now(), |_| ()).is_some()
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

    #[inline]
    fn put(
        &self,
        key: &[u8],
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
        let weigh = || shared.weigher.as_ref().map(|weigher| weigher.0(key, value));
        let done = match cost.or_else(weigh) {
            None => shared.store.set(&self.key(key), value, expires, now),
            Some(cost) => {
                shared.store.set_priced(&self.key(key), value, expires, micros(cost), now)
            }
        };
        done.map_err(Error::Refused)
    }

    /// The value, or that of `fetch`, which is inserted at the price of the time it took. Threads
    /// that miss at the same moment fetch side by side.
    ///
    /// # Errors
    /// As [`Cache::insert`].
    pub fn get_or_insert_with<V: AsRef<[u8]>>(
        &self,
        key: impl AsRef<[u8]>,
        fetch: impl FnOnce() -> V,
    ) -> Result<Vec<u8>, Error> {
        let key = key.as_ref();
        if let Some(value) = self.get(key) {
            return Ok(value);
        }
        let begun = Instant::now();
        let value = fetch();
        let value = value.as_ref();
        self.put(key, value, None, Some(begun.elapsed()))?;
        Ok(value.to_vec())
    }

    /// Removes an entry. Whether there was one.
    pub fn remove(&self, key: impl AsRef<[u8]>) -> bool {
        self.shared.store.delete(&self.key(key.as_ref()), self.shared.now())
    }

    /// Removes all entries of this part.
    pub fn clear(&self) {
        self.shared.store.flush(Scope::tenant(self.part));
    }

    /// Entries of this part, counting the dead that nobody has met yet.
    pub fn len(&self) -> u64 {
        self.shared.store.len(Scope::tenant(self.part)).items
    }

    /// Whether this part has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the whole cache takes.
    pub fn used(&self) -> Bytes {
        self.shared.store.used()
    }

    /// Bytes that the whole cache may take; 0 for no bound.
    pub fn capacity(&self) -> Bytes {
        self.shared.store.limit()
    }

    /// Changes the capacity of the whole cache. A lower one is reached by and by: each insertion
    /// frees a little more than it takes, and [`Cache::tend`] does the rest.
    pub fn set_capacity(&self, capacity: u64) {
        self.shared.store.set_limit(Bytes(capacity));
    }

    /// This part: bytes, entries, hits and misses, what misses cost.
    pub fn stats(&self) -> Stats {
        self.shared.store.tenant_stats(self.part)
    }

    /// What operations took to make room, in the whole cache: a histogram and its maximum.
    pub fn pauses(&self) -> Pauses {
        self.shared.store.pauses()
    }

    /// What share of this part's reads would miss at other sizes, under the first policy of the
    /// recipe; `None` with recipe `static`, and where too little was seen.
    pub fn curve(&self) -> Option<MissRatioCurve> {
        let looping = self.shared.looping();
        let curves = looping.as_ref()?.pilot.curves(self.part);
        curves.first().map(|candidate| candidate.curve.clone())
    }

    /// The plan in force: who gets how much memory under which policy, what was expected without
    /// it and what with it; `None` with recipe `static`, and before the first.
    pub fn plan(&self) -> Option<Plan> {
        self.shared.looping().as_ref()?.pilot.status().plan
    }

    /// What nobody should wait for: finds entries whose time is up, approaches a lowered capacity,
    /// and lets the recipe look and act. A bounded piece of work, to be called a few times a
    /// second where entries expire or a recipe is at work.
    pub fn tend(&self) {
        self.shared.tend();
    }

    /// Moves [virtual time](Builder::virtual_time) on; a real clock takes no notice.
    pub fn advance(&self, time: Duration) {
        if let Clock::Virtual(us) = &self.shared.clock {
            us.fetch_add(time.as_micros() as u64, Relaxed);
        }
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The entry does not fit.
    Refused(store::Error),
    /// The recipe is not one; the sentence names those there are.
    Recipe(String),
    /// More parts than can be told apart.
    Parts,
    /// The thread that tends could not be started.
    Thread(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Recipe(sentence) => f.write_str(sentence),
            Self::Parts => f.write_str("a cache has at most 65535 parts"),
            Self::Thread(error) => write!(f, "the thread that tends was not started: {error}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests;
