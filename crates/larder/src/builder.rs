//! How a cache is to be: everything has a default but the capacity.

use crate::cache::{Cache, Clock, Error, Shared, Weigher};
use crate::plant::Loop;
use base::{Bytes, Micros};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use store::{Bounds, Config, Evictor, Slab, Store};
use tune::recipe;

/// Between two looks of the thread that [`Builder::tended`] starts.
const LOOK: Duration = Duration::from_millis(100);

/// So many that a thread seldom wants one that another holds: with half as many two threads that
/// miss a lot do a tenth less.
const SHARDS_PER_PROCESSOR: usize = 8;
/// A shard smaller than this holds too few items to choose among.
const SHARD_MIN: u64 = 256 << 10;

/// A cache to be.
#[derive(Debug)]
pub struct Builder {
    capacity: Bytes,
    parts: Vec<String>,
    evictor: Evictor,
    slab: Slab,
    recipe: String,
    seed: u64,
    shards: Option<usize>,
    weigher: Option<Weigher>,
    clock: Clock,
    tended: bool,
}

impl Builder {
    pub(crate) fn new(capacity: u64) -> Self {
        Self {
            capacity: Bytes(capacity),
            parts: vec![],
            evictor: Evictor::default(),
            slab: Slab::default(),
            recipe: "static".to_owned(),
            seed: 0,
            shards: None,
            weigher: None,
            clock: Clock::Real(Instant::now()),
            tended: false,
        }
    }

    /// Who leaves when it is full; of five candidates the one idle longest, unless something else
    /// is said. A recipe other than `static` chooses for itself.
    #[must_use]
    pub fn evictor(self, evictor: Evictor) -> Self {
        Self { evictor, ..self }
    }

    /// How memory is cut into pages, and pages into chunks.
    #[must_use]
    pub fn slab(self, slab: Slab) -> Self {
        Self { slab, ..self }
    }

    /// Candidates drawn for an eviction: more come closer to the policy that is sampled, and each
    /// costs a look at an item.
    #[must_use]
    pub fn candidates(mut self, k: u8) -> Self {
        self.evictor.k = k.max(1);
        self
    }

    /// Parts that share the capacity, each with keys of its own. Without any there is one.
    #[must_use]
    pub fn parts<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { parts: names.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// How it tunes itself: `static` (not at all), `dlru` (the number of candidates), `kredis` (the
    /// memory of each part and its number of candidates). With settings, as in the server:
    /// `kredis:objective=hits:epoch=10`.
    #[must_use]
    pub fn recipe(self, recipe: &str) -> Self {
        Self { recipe: recipe.to_owned(), ..self }
    }

    /// Says what missing an entry would cost, for every entry that is inserted without a cost.
    /// What an entry takes of the capacity is not asked: its bytes are counted, and what the cache
    /// needs to keep it.
    #[must_use]
    pub fn weigher(
        self,
        weigher: impl Fn(&[u8], &[u8]) -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self { weigher: Some(Weigher(Box::new(weigher))), ..self }
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

    /// Starts a thread that [tends](Cache::tend) the cache until the last handle to it is gone.
    #[must_use]
    pub fn tended(self) -> Self {
        Self { tended: true, ..self }
    }

    /// The cache.
    ///
    /// # Errors
    /// If the recipe is not one, or more parts are wanted than can be told apart.
    pub fn build(self) -> Result<Cache, Error> {
        let recipe = recipe::parse(&self.recipe).map_err(Error::Recipe)?;
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
            lanes: 0,
            seed: self.seed,
            tenants: vec![Bounds::default(); names.len()],
            max_item: Bytes(u64::from(u32::MAX)),
            evictor: self.evictor,
            slab: self.slab,
            nanos: self.clock.nanos(),
        });
        let looping = recipe.steers().then(|| Loop::new(recipe, self.seed, &names, &store));
        let is_timed = looping.is_some();
        let shared = Arc::new(Shared {
            store,
            names,
            clock: self.clock,
            is_timed: AtomicBool::new(is_timed),
            weigher: self.weigher,
            looping: Mutex::new(looping),
        });
        if self.tended {
            let shared = Arc::downgrade(&shared);
            let tend = move || {
                while let Some(shared) = shared.upgrade() {
                    shared.tend();
                    drop(shared);
                    thread::sleep(LOOK);
                }
            };
            let started = thread::Builder::new().name("larder-tend".to_owned()).spawn(tend);
            drop(started.map_err(|error| Error::Thread(error.to_string()))?);
        }
        Ok(Cache::of(shared, 0))
    }
}

/// The cost of an entry, as the store measures it: at least a microsecond, for none means unknown.
pub(crate) fn micros(duration: Duration) -> Micros {
    Micros(duration.as_micros().clamp(1, u128::from(u64::MAX)) as u64)
}
