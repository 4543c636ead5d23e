//! How a cache is to be: everything has a default but the capacity.

use crate::cache::{Cache, Callback, Clock, Cost, Error, Removal, Removals, Shared};
use crate::plant::Loop;
use base::{Bytes, Micros};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use store::{Bounds, Config, Evictor, Slab, Store};
use tune::recipe;

/// Between two looks of the thread that [`Builder::maintained`] starts.
const LOOK: Duration = Duration::from_millis(100);

/// So many that a thread seldom wants one that another holds: with half as many two threads that
/// miss a lot do a tenth less.
const SHARDS_PER_PROCESSOR: usize = 8;
/// A shard smaller than this holds too few items to choose among.
const SHARD_MIN: u64 = 256 << 10;

/// A cache to be: [`Cache::builder`].
///
/// ```
/// # fn main() -> Result<(), larder::Error> {
/// use larder::{Cache, Evictor};
///
/// let builder = Cache::builder(64 << 20).evictor(Evictor::lhd(8)).parts(["users", "pages"]);
/// let cache = builder.build()?;
/// assert!(cache.part("users").is_some() && cache.part("images").is_none());
///
/// let error = Cache::builder(64 << 20).recipe("unheard-of").build().unwrap_err();
/// assert!(matches!(error, larder::Error::Recipe(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Builder {
    capacity: Bytes,
    parts: Vec<String>,
    evictor: Option<Evictor>,
    slab: Slab,
    recipe: Option<String>,
    seed: u64,
    shards: Option<usize>,
    cost: Option<Cost>,
    removal_listener: Option<Callback>,
    clock: Clock,
    maintained: bool,
}

impl Builder {
    pub(crate) fn new(capacity: u64) -> Self {
        Self {
            capacity: Bytes(capacity),
            parts: vec![],
            evictor: None,
            slab: Slab::default(),
            recipe: None,
            seed: 0,
            shards: None,
            cost: None,
            removal_listener: None,
            clock: Clock::Real(Instant::now()),
            maintained: false,
        }
    }

    /// The eviction policy when it is full, in place of what the recipe `auto` does. Another recipe
    /// than `static` chooses for itself.
    #[must_use]
    pub fn evictor(self, evictor: Evictor) -> Self {
        Self { evictor: Some(evictor), ..self }
    }

    /// How memory is cut into pages, and pages into chunks.
    #[must_use]
    pub fn slab(self, slab: Slab) -> Self {
        Self { slab, ..self }
    }

    /// Candidates drawn for an eviction: more come closer to the policy that is sampled, and each
    /// costs a look at an item. The one idle longest goes, unless another policy was named.
    #[must_use]
    pub fn candidates(self, k: u8) -> Self {
        let evictor = Evictor { k: k.max(1), ..self.evictor.clone().unwrap_or_default() };
        self.evictor(evictor)
    }

    /// Parts that share the capacity, each with keys of its own. Without any there is one.
    #[must_use]
    pub fn parts<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { parts: names.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// How it tunes itself: `auto` (each byte goes where it saves the most waiting; the default
    /// unless a policy was named), `static` (not at all), `kredis` (the memory of each part and its
    /// number of candidates), and the others of the server. With settings, as there:
    /// `kredis:objective=hits:epoch=10`.
    #[must_use]
    pub fn recipe(self, recipe: &str) -> Self {
        Self { recipe: Some(recipe.to_owned()), ..self }
    }

    /// Says what missing an entry would cost, by its key and value, for every entry that is
    /// inserted without a cost. What an entry *weighs*, its share of the capacity, is not asked:
    /// its bytes are counted, and what the cache needs to keep it.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// use std::time::Duration;
    ///
    /// let cost = |key: &[u8], _value: &[u8]| {
    ///     Duration::from_millis(if key.starts_with(b"report:") { 800 } else { 2 })
    /// };
    /// let cache = larder::Cache::builder(64 << 20).cost(cost).build()?;
    /// cache.insert("report:7", "took a while")?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cost(self, cost: impl Fn(&[u8], &[u8]) -> Duration + Send + Sync + 'static) -> Self {
        Self { cost: Some(Cost(Box::new(cost))), ..self }
    }

    /// Has `listener` called of every entry that leaves, with its key, its value and why. Entries
    /// that are there when the cache itself is dropped are not told.
    ///
    /// **When and where.** On the thread whose call made the entry leave, at the end of that call
    /// and before it returns, once for each entry, in the order in which they left. No lock is
    /// held, so the listener may be slow, at the cost of that call, and may call the cache; but a
    /// listener that inserts again what was evicted never comes to an end. The calls are:
    ///
    /// - [`Evicted`](crate::RemovalCause::Evicted): one that inserts, or [`Cache::maintain`].
    /// - [`Expired`](crate::RemovalCause::Expired): one that reads, inserts or removes and is the
    ///   first to meet the entry after its time was up, or [`Cache::maintain`]. Until then it is
    ///   not told.
    /// - [`Removed`](crate::RemovalCause::Removed): [`Cache::remove`] or [`Cache::clear`].
    /// - [`Replaced`](crate::RemovalCause::Replaced): the one that inserts another value of its
    ///   key.
    ///
    /// In a [maintained](Builder::maintained) cache [`Cache::maintain`] runs on the thread
    /// `larder-maintain`.
    ///
    /// **Order.** Calls on different threads are put in no order: if one thread replaces a value
    /// and another one removes the new value at once, the second may be told first. A call that
    /// the listener itself makes returns before what it made leave is told.
    ///
    /// **Panics.** A panic of the listener reaches the caller of the cache, whose call is done by
    /// then; entries that are not told yet are told at the end of that thread's next call. The
    /// thread `larder-maintain` goes on.
    ///
    /// The keys and values are copies, made while an entry leaves: a cache without a listener does
    /// not make them.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// use larder::{Cache, RemovalCause};
    /// use std::sync::mpsc;
    ///
    /// let (left, all) = mpsc::channel();
    /// let listener = move |removal: larder::Removal| {
    ///     left.send((removal.key, removal.value, removal.cause)).unwrap();
    /// };
    /// let cache = Cache::builder(1 << 20).removal_listener(listener).build()?;
    /// cache.insert("a", "1")?;
    /// cache.insert("a", "2")?;
    /// cache.remove("a");
    /// let (a, one, two) = (b"a".to_vec(), b"1".to_vec(), b"2".to_vec());
    /// assert_eq!(all.try_recv(), Ok((a.clone(), one, RemovalCause::Replaced)));
    /// assert_eq!(all.try_recv(), Ok((a, two, RemovalCause::Removed)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn removal_listener(self, listener: impl Fn(Removal<'_>) + Send + Sync + 'static) -> Self {
        Self { removal_listener: Some(Callback(Box::new(listener))), ..self }
    }

    /// Seeds the hash, the draws and the samples. The same calls from one thread have the same
    /// answers.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Parts with a lock each; eight for each processor, unless something else is said.
    #[must_use]
    pub fn shards(self, shards: usize) -> Self {
        Self { shards: Some(shards), ..self }
    }

    /// Lets the time stand still but for [`Cache::advance`]: for tests.
    #[must_use]
    pub fn virtual_time(self) -> Self {
        Self { clock: Clock::virtual_time(), ..self }
    }

    /// Starts a thread that [maintains](Cache::maintain) the cache until the last handle to it is
    /// gone.
    #[must_use]
    pub fn maintained(self) -> Self {
        Self { maintained: true, ..self }
    }

    /// The cache.
    ///
    /// # Errors
    /// If the recipe is not one, or more parts are wanted than can be told apart.
    pub fn build(self) -> Result<Cache, Error> {
        let default = if self.evictor.is_some() { "static" } else { "auto" };
        let recipe =
            recipe::parse(self.recipe.as_deref().unwrap_or(default)).map_err(Error::Recipe)?;
        let names = if self.parts.is_empty() { vec!["main".to_owned()] } else { self.parts };
        if names.len() > usize::from(u16::MAX) {
            return Err(Error::Parts);
        }
        let processors = thread::available_parallelism().map_or(4, usize::from);
        let fitting = (self.capacity.0 / SHARD_MIN / names.len() as u64).max(1) as usize;
        let shards = self.shards.unwrap_or((SHARDS_PER_PROCESSOR * processors).min(fitting));
        let store = Store::new(Config {
            maxmemory: self.capacity,
            // Rounded down where the capacity asks for few, and Store::new rounds up.
            shards: if shards.is_power_of_two() { shards } else { shards.next_power_of_two() / 2 },
            reader_slots: 0,
            seed: self.seed,
            tenants: vec![Bounds::default(); names.len()],
            max_item: Bytes(u64::from(u32::MAX)),
            evictor: self.evictor.unwrap_or_default(),
            slab: self.slab,
            nanos: self.clock.nanos(),
        });
        let looping = recipe.steers().then(|| Loop::new(recipe, self.seed, &names, &store));
        let is_timed = looping.is_some();
        let removals = self.removal_listener.map(|listener| Removals::new(listener, &store));
        let shared = Arc::new(Shared {
            store,
            names,
            clock: self.clock,
            is_timed: AtomicBool::new(is_timed),
            cost: self.cost,
            removals,
            flights: Box::default(),
            looping: Mutex::new(looping),
        });
        if self.maintained {
            let shared = Arc::downgrade(&shared);
            let maintain = move || {
                while let Some(shared) = shared.upgrade() {
                    // A listener that panicked has said so; entries go on to expire.
                    _ = catch_unwind(AssertUnwindSafe(|| shared.maintain()));
                    drop(shared);
                    thread::sleep(LOOK);
                }
            };
            let started = thread::Builder::new().name("larder-maintain".to_owned()).spawn(maintain);
            drop(started.map_err(|error| Error::Thread(error.to_string()))?);
        }
        Ok(Cache::of(shared, 0))
    }
}

/// The cost of an entry, as the store measures it: at least a microsecond, for none means unknown.
pub(crate) fn micros(duration: Duration) -> Micros {
    Micros(duration.as_micros().clamp(1, u128::from(u64::MAX)) as u64)
}
