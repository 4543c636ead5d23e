//! The engine and its calls on one key.
//!
//! Keys are spread over *shards* by bits of their hash. Each shard is a lock and the data it guards
//! (`shard/shard.rs`). A call for one key locks its shard once: most reads, and writes that replace
//! a value in place, share the lock (`contents/shared_reads.rs`, `sync/big_reader.rs`), and all
//! other calls hold it exclusively. A call that turns out to need more than it shares locks twice.
//! Walks and reports lock one shard after the other, so their result is not from one instant.
//!
//! # Lock order
//!
//! ```text
//!   admin ──▶ a shard ──▶ elsewhere ──▶ (try only) any other shard
//!                  └────▶ a tenant's measured fetches
//! ```
//!
//! - `admin` guards the list of tenants and pools. A thread that changes them holds `admin` and
//!   then locks the shards one by one; no thread takes `admin` while it holds a shard.
//! - A thread that holds a shard waits for no other shard. If a write needs room and nothing in its
//!   own shard may be evicted, it waits for its turn at `elsewhere` and only *tries* the locks of
//!   the other shards. The thread with the turn never waits, so every thread gets a turn: no cycle.
//! - A thread may also try another shard without the turn: a shard that holds more makes room for
//!   one that holds less.
//! - If a shard cannot be locked by a try, its holder either is in a short call, which will end, or
//!   waits for the turn. In the second case it found nothing to evict in that shard either. So
//!   memory counts as full when no more shards are locked than threads wait for the turn.
//! - The measured fetches of a tenant are a leaf: no lock is taken under theirs.
//!
//! Byte counters are separate atomics (`bytes/memory.rs`, `bytes/account.rs`). Bytes are reserved
//! before memory is allocated and given back after it is freed. So the counters are never below the
//! actual use, and a limit on them limits the memory at every instant.

use crate::bytes::account::Account;
use crate::compression::work::CodecWork;
use crate::items::item::Parts;
use crate::items::pages::arena::Arena;
use crate::items::sizes::size_classes::SizeClasses;
use crate::learning::lifetimes::Lifetimes;
use crate::learning::watching::Watching;
use crate::room::compression_state::CompressionState;
use crate::shard::edit::Edit;
use crate::shard::shard::Shard;
use crate::sync::big_reader::{BigReaderLock, READER_SLOTS_MAX, Write};
use crate::sync::shim::{AtomicBool, AtomicU64, AtomicUsize, Mutex, thread_number};
use crate::victims::budget::{Around, Budget};
use crate::victims::pools::Pools;
use crate::{Bounds, Change, Config, Error, Item, Key, Move, Now, Pool};
use base::TenantId;
use policy::rank::Learnt;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

/// Most samples held by all taps together.
const SAMPLES_MAX: usize = 1 << 16;

/// The live engine, shared by threads.
///
/// A call that shows an item to a closure does so under a lock, which other readers may share. The
/// closure should be short, and must not call the store.
pub struct Store {
    pub(crate) shards: Box<[BigReaderLock<Shard>]>,
    pub(crate) budget: Budget,
    pub(crate) seed: u64,
    /// The source of pages.
    pub(crate) arena: Arc<Arena>,
    /// Bytes of pages by shard.
    pub(crate) held: Box<[Arc<AtomicU64>]>,
    /// Whether an item may have an expiry, by shard.
    pub(crate) expiring: Box<[Arc<AtomicBool>]>,
    /// The size classes into which pages are cut.
    pub(crate) sizes: SizeClasses,
    pub(crate) moves: Moves,
    pub(crate) admin: Mutex<Admin>,
    /// Whether any rank learns.
    pub(crate) learns: AtomicBool,
    /// Whether requests are counted by size.
    pub(crate) counts_sizes: AtomicBool,
    pub(crate) elsewhere: Mutex<()>,
    pub(crate) waiting: AtomicUsize,
    /// The shard where the next sweep begins.
    pub(crate) sweep_at: AtomicUsize,
    /// A clock in nanoseconds.
    pub(crate) nanos: fn() -> u64,
    pub(crate) compression: CompressionState,
}

pub(crate) struct Admin {
    pub(crate) accounts: Vec<Arc<Account>>,
    /// CodecWork of compression, by tenant.
    pub(crate) work: Vec<Arc<CodecWork>>,
    pub(crate) pools: Vec<Pool>,
    /// Ranks learnt from lifetimes, while a pool uses them.
    pub(crate) lifetimes: Option<Lifetimes>,
    /// Ranks learnt from watched keys, while a pool uses them.
    pub(crate) watching: Option<Watching>,
    /// Whether `watching` is kept while no pool uses it.
    pub(crate) keeps_lessons: bool,
    /// Weight of the waiting time, by tenant.
    pub(crate) prices: Vec<f32>,
    /// Bytes charged for counting classes.
    pub(crate) class_bytes: u64,
}

/// The moves still to be made, and the shard whose turn it is. If it were always the first shard
/// that the sweep visits, one shard would change and the others would stay the same.
#[derive(Debug, Default)]
pub(crate) struct Moves(pub(crate) Mutex<(Vec<Move>, usize)>);

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Store>();
};

/// Sets the reader slot of an exclusively held shard to that of the thread.
#[inline]
fn by(mut shard: Write<'_, Shard>, thread: usize) -> Write<'_, Shard> {
    shard.contents_mut().clock.reader_slot = thread % READER_SLOTS_MAX;
    shard
}

impl Store {
    /// Creates an empty store.
    pub fn new(config: Config) -> Self {
        let asked = config.shards.clamp(1, 256).next_power_of_two();
        let shards = config.slab.shards(config.maxmemory.0, asked);
        let limit = config.maxmemory;
        let pool = Pool { tenants: vec![], class: None, budget: limit, evictor: config.evictor };
        let pools = Arc::new(Pools::new(std::slice::from_ref(&pool), &[], &Learnt::default()));
        let sizes = config.slab.classes(limit.0, shards, config.tenants.len());
        let arena = Arc::new(Arena::new(sizes.page()));
        arena.set_limit(limit.0);
        let value_max = config.max_item.0.min(u64::from(u32::MAX));
        let lengths = (sizes.page(), config.slab.page_max());
        let budget = Budget::new(limit.0, value_max, shards, lengths);
        let expiring: Box<[_]> = (0..shards).map(|_| Arc::new(AtomicBool::new(false))).collect();
        let shard = |at: usize| {
            let samples_max = (SAMPLES_MAX / shards).max(256);
            let shared = (Arc::clone(&pools), Arc::clone(&expiring[at]));
            Shard::new(at, config.seed, samples_max, config.nanos, shared)
        };
        let reader_slots = match config.reader_slots {
            0 => available_parallelism().map_or(1, NonZero::get).min(READER_SLOTS_MAX),
            reader_slots => reader_slots,
        };
        let store = Self {
            shards: (0..shards).map(|at| BigReaderLock::new(shard(at), reader_slots)).collect(),
            budget,
            seed: config.seed,
            arena,
            held: (0..shards).map(|_| Arc::default()).collect(),
            expiring,
            sizes,
            moves: Moves::default(),
            admin: Mutex::new(Admin {
                accounts: vec![],
                work: vec![],
                pools: vec![pool],
                lifetimes: None,
                watching: None,
                keeps_lessons: false,
                prices: vec![],
                class_bytes: 0,
            }),
            learns: AtomicBool::new(false),
            counts_sizes: AtomicBool::new(false),
            elsewhere: Mutex::new(()),
            waiting: AtomicUsize::new(0),
            sweep_at: AtomicUsize::new(0),
            nanos: config.nanos,
            compression: CompressionState::default(),
        };
        for &bounds in &config.tenants {
            store.add_tenant(bounds);
        }
        if config.tenants.is_empty() {
            store.add_tenant(Bounds::default());
        }
        store
    }

    /// The seed of the keys' hashes.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The key `bytes` of `tenant` in database `db`, hashed for this store.
    #[inline]
    pub fn key<'a>(&self, tenant: TenantId, db: u8, bytes: &'a [u8]) -> Key<'a> {
        Key::new(self.seed, tenant, db, bytes)
    }

    /// The surroundings of a locked shard.
    #[inline]
    pub(crate) const fn around(&self) -> Around<'_> {
        Around { budget: &self.budget, others: self }
    }

    #[inline]
    pub(super) fn shard_of(&self, hash: u64) -> &BigReaderLock<Shard> {
        &self.shards[(hash >> 32) as usize & (self.shards.len() - 1)]
    }

    /// Locks the shard of a key exclusively.
    #[inline]
    pub(crate) fn shard(&self, key: &Key) -> Write<'_, Shard> {
        let thread = thread_number();
        by(self.shard_of(key.hash).write(thread), thread)
    }

    /// Prefetches the items of the next requests, given as tenants and hashes of about a dozen
    /// keys. Loading them takes longer than most calls. Changes nothing.
    pub fn prefetch(&self, keys: &[(TenantId, u64)]) {
        let thread = thread_number();
        // First all buckets, then all items, so that the loads of each kind do not wait for each
        // other.
        for &(tenant, hash) in keys {
            if let Some(mut reader) = self.shard_of(hash).try_read(thread) {
                reader.parts().0.contents().tenant(tenant).table.prefetch(hash);
            }
        }
        for &(tenant, hash) in keys {
            if let Some(mut reader) = self.shard_of(hash).try_read(thread) {
                reader.parts().0.contents().tenant(tenant).table.prefetch_item(hash);
            }
        }
    }

    /// Refreshes an item as a read does, without counting a read. Returns whether there is one.
    pub fn touch(&self, key: &Key, now: Now) -> bool {
        let mut shard = self.shard(key);
        let contents = shard.contents_mut();
        let is_there = contents.touch(key, now, &self.budget.memory).is_some();
        contents.tenant_mut(key.tenant).counters.touched += u64::from(is_there);
        is_there
    }

    /// Starts the stopwatch of a key, as a read that misses does, for a client that fetches the
    /// value anew although it is still here.
    pub fn fetch_begins(&self, key: &Key, now: Now) {
        _ = self.shard(key).contents_mut().stopwatch.start(key.tenant, key.hash, now.micros);
    }

    /// Writes an item, of kind 0.
    #[inline]
    pub fn set(
        &self,
        key: &Key,
        value: &[u8],
        expires: Option<u64>,
        now: Now,
    ) -> Result<(), Error> {
        let (parts, thread) = (Parts::of(key, value, 0, expires), thread_number());
        let lock = self.shard_of(key.hash);
        let mut reader = lock.read_first(thread);
        let (shard, buffer) = reader.parts();
        let place = shard.contents().replaceable(self.budget.value_max(), buffer, key, &parts);
        let exclusive = match (reader.exclusive(), place) {
            (Some(mut exclusive), Some(place)) => {
                let (shard, buffer) = exclusive.parts();
                shard.contents_mut().replace_shared(buffer, thread, key, place, &parts);
                return Ok(());
            }
            (exclusive, _) => exclusive.unwrap_or_else(|| lock.exclusive(thread)),
        };
        let mut shard = by(exclusive.write(), thread);
        shard.contents_mut().clock.tick += 1;
        let found = shard.contents_mut().find(key, now, &self.budget.memory);
        shard.set(&self.around(), key, found, &parts, now)
    }

    /// Shows the item, or that there is none, to `f`, and makes the change that it returns. No
    /// other thread can access the item between read and write. The call refreshes the item, and
    /// does not count as a read.
    #[inline]
    pub fn update<'v, R>(
        &self,
        key: &Key,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        self.shard(key).update(&self.around(), key, now, f)
    }

    /// Removes an item. Returns whether there was one.
    pub fn delete(&self, key: &Key, now: Now) -> bool {
        let mut shard = self.shard(key);
        shard.contents_mut().note_change(key);
        let place = shard.contents_mut().find(key, now, &self.budget.memory);
        if place.is_none() {
            shard.contents_mut().stopwatch.forget(key.hash);
        }
        place
            .map(|place| shard.contents_mut().delete(&self.budget.memory, key, place, now))
            .is_some()
    }

    /// The number of shards.
    pub const fn shards(&self) -> usize {
        self.shards.len()
    }

    #[cfg(test)]
    pub(crate) fn each_shard(&self, mut look: impl FnMut(&Shard)) {
        self.shards.iter().for_each(|shard| look(&shard.write_drained()));
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (shards, tenants) = (self.shards.len(), self.tenants());
        let mut f = f.debug_struct("Store");
        f.field("shards", &shards).field("tenants", &tenants);
        f.field("used", &self.used()).field("limit", &self.limit()).finish_non_exhaustive()
    }
}

impl Store {
    /// Lets `f` change or create an item, while no other thread can access it. The call refreshes
    /// the item, and does not count as a read.
    pub fn edit<R>(&self, key: &Key<'_>, now: Now, f: impl FnOnce(&mut Edit<'_, '_>) -> R) -> R {
        let mut shard = self.shard(key);
        let place = shard.contents_mut().touch(key, now, &self.budget.memory);
        f(&mut Edit::new(self.around(), shard, *key, now, place))
    }
}
