//! The settings of a cache: all but the capacity have a default.

use crate::cache::{Cache, Callback, Clock, Cost, Error, Removal, Removals, Shared};
use crate::plant::Loop;
use base::Bytes;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use store::{Bounds, Compression, CompressionSettings, Config, Evictor, Slab, Store};
use tune::recipe;

/// The pause between two calls of [`Cache::maintain`] on the thread that [`Builder::maintained`]
/// starts.
const LOOK: Duration = Duration::from_millis(100);

/// Enough shards that a thread seldom waits for one that another thread holds. With half as many
/// shards, two threads that miss a lot do a tenth less work.
const SHARDS_PER_PROCESSOR: usize = 8;
/// A shard smaller than this holds too few items to choose among.
const SHARD_MIN: u64 = 256 << 10;

/// Settings for a cache that [`Builder::build`] makes; [`Cache::builder`] begins one.
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
    compressed: bool,
    clock: Clock,
    maintained: bool,
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
            compressed: false,
            clock: Clock::Real(Instant::now()),
            maintained: false,
        }
    }

    /// Sets the eviction policy of a full cache, in place of the choices of recipe `auto`. Recipes
    /// other than `static` choose a policy themselves.
    #[must_use]
    pub fn evictor(self, evictor: Evictor) -> Self {
        Self { evictor: Some(evictor), ..self }
    }

    /// Sets how memory is cut into pages, and pages into chunks.
    #[must_use]
    pub fn slab(self, slab: Slab) -> Self {
        Self { slab, ..self }
    }

    /// Sets how many candidates are drawn for an eviction. More candidates approximate the sampled
    /// policy better, and each costs a look at an item. The candidate idle longest is evicted,
    /// unless another policy was named.
    #[must_use]
    pub fn candidates(self, k: u8) -> Self {
        let evictor = Evictor { k: k.max(1), ..self.evictor.clone().unwrap_or_default() };
        self.evictor(evictor)
    }

    /// Names parts that share the capacity, each with its own keys. Without names the cache has one
    /// part.
    #[must_use]
    pub fn parts<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { parts: names.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// Sets how the cache tunes itself: `auto` (each byte goes where it saves the most waiting; the
    /// default unless a policy was named), `static` (not at all), `kredis` (the memory of each part
    /// and its number of candidates), and the other recipes of the server. Settings follow as
    /// there: `kredis:objective=hits:epoch=10`.
    #[must_use]
    pub fn recipe(self, recipe: &str) -> Self {
        Self { recipe: Some(recipe.to_owned()), ..self }
    }

    /// Sets a function that states the cost of a miss, from key and value, for every entry that is
    /// inserted without a cost. The *weight* of an entry, its share of the capacity, needs no
    /// function: the cache counts the entry's bytes and its own overhead.
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

    /// Has `listener` called for every entry that is removed, with its key, its value and the
    /// cause. Entries that remain when the cache itself is dropped are not reported.
    ///
    /// **When and where.** The listener runs on the thread whose call removed the entry, at the end
    /// of that call and before it returns, once for each entry, in the order of the removals. No
    /// lock is held. So the listener may be slow, at the expense of that call, and may call the
    /// cache. A listener that inserts evicted entries again never comes to an end. These calls run
    /// the listener:
    ///
    /// - [`Evicted`](crate::RemovalCause::Evicted): a call that inserts, or [`Cache::maintain`].
    /// - [`Expired`](crate::RemovalCause::Expired): a call that reads, inserts or removes and is
    ///   the first to meet the expired entry, or [`Cache::maintain`]. Until then the listener does
    ///   not hear of the entry.
    /// - [`Removed`](crate::RemovalCause::Removed): [`Cache::remove`] or [`Cache::clear`].
    /// - [`Replaced`](crate::RemovalCause::Replaced): the call that inserts another value for the
    ///   key.
    ///
    /// In a [maintained](Builder::maintained) cache [`Cache::maintain`] runs on the thread
    /// `larder-maintain`.
    ///
    /// **Order.** Calls on different threads have no order. If one thread replaces a value and
    /// another thread removes the new value at once, the removal may be reported first. A call that
    /// the listener itself makes returns before its own removals are reported.
    ///
    /// **Panics.** A panic of the listener reaches the caller of the cache, whose call is done by
    /// then. Removals not yet reported are reported at the end of that thread's next call. The
    /// thread `larder-maintain` goes on.
    ///
    /// The keys and values are copies, made when an entry is removed. A cache without a listener
    /// makes no copies.
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

    /// Compresses values when memory is full, where the waiting that the freed memory saves exceeds
    /// the processor time of their reads. [`Cache::maintain`] does it, so the cache needs calls of
    /// it, or to be [maintained](Builder::maintained). Only entries whose cost of a miss is known
    /// count as worth anything: those of [`Cache::get_or_insert_with`], [`Cache::insert_priced`] or
    /// [`Builder::cost`].
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// let cache = larder::Cache::builder(64 << 20).compressed().maintained().build()?;
    /// # assert!(cache.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn compressed(self) -> Self {
        Self { compressed: true, ..self }
    }

    /// Seeds the hash, the draws and the samples. The same calls from one thread then give the same
    /// answers.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the number of shards, each with its own lock; the default is eight for each processor.
    #[must_use]
    pub fn shards(self, shards: usize) -> Self {
        Self { shards: Some(shards), ..self }
    }

    /// Stops the clock, so that only [`Cache::advance`] moves time: for tests.
    #[must_use]
    pub fn virtual_time(self) -> Self {
        Self { clock: Clock::virtual_time(), ..self }
    }

    /// Starts a thread that [maintains](Cache::maintain) the cache until the last handle is
    /// dropped.
    #[must_use]
    pub fn maintained(self) -> Self {
        Self { maintained: true, ..self }
    }

    /// Makes the cache.
    ///
    /// # Errors
    /// If the recipe is unknown or invalid, if there are more parts than ids, or if the maintenance
    /// thread cannot start.
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
            // Rounded down, so that few bytes get few shards; Store::new rounds up.
            shards: if shards.is_power_of_two() { shards } else { shards.next_power_of_two() / 2 },
            reader_slots: 0,
            seed: self.seed,
            tenants: vec![Bounds::default(); names.len()],
            max_item: Bytes(u64::from(u32::MAX)),
            evictor: self.evictor.unwrap_or_default(),
            slab: self.slab,
            nanos: self.clock.nanos(),
        });
        if self.compressed {
            let mode = Compression::Auto;
            store.set_compression(CompressionSettings { mode, weight: 1.0 });
        }
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
                    // The panic hook has reported the listener's panic; entries go on to expire.
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
