//! The whole interface of the engine.
//!
//! Keys are spread over *shards* by bits of their hash. Each shard is a lock and the data it guards
//! (`shard.rs`). A call for one key locks its shard once: most reads share it with others
//! (`read.rs`, `big_reader.rs`), and all other calls hold it exclusively. Walks and reports lock
//! one shard after the other, so their result is not from one instant.
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
//! Byte counters are separate atomics (`memory.rs`, `tenant.rs`). Bytes are reserved before memory
//! is allocated and given back after it is freed. So the counters are never below the actual use,
//! and a limit on them limits the memory at every instant.

use crate::big_reader::{BigReaderLock, READER_SLOTS_MAX, Write};
use crate::expire::Sweeper;
use crate::item::Parts;
use crate::learn::Lifetimes;
use crate::memory::Memory;
use crate::pause::Pausing;
use crate::penalty::{Fetched, Stopwatch};
use crate::pools::{Order, Pools, Want};
use crate::read::Glance;
use crate::shard::{NewLine, Shard};
use crate::slab::{Arena, Draws, Moves, PAGES, Pages, SizeClasses, Slab};
use crate::sync::{
    AtomicBool, AtomicU64, AtomicUsize, Mutex, MutexGuard, thread_number, yield_now,
};
use crate::table::END;
use crate::tap::Tap;
use crate::tenant::{Account, TenantShard};
use crate::watch::Watching;
use crate::{
    Bounds, Change, Config, Counters, Error, Evictable, Evictor, Item, Key, Len, Now, Pool,
    ScanItem, Scope, Swept, TenantStats,
};
use base::{Bytes, Filter, Micros, Prng, Sample, TenantId};
use policy::rank::Learnt;
use std::num::NonZero;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::thread::available_parallelism;

/// Most samples held by all taps together.
const SAMPLES_MAX: usize = 1 << 16;
/// Most fetches timed by all stopwatches at once.
const FETCHES_MAX: usize = 1 << 14;
/// A shard gives a page to another that holds less by more than this part.
const SLACK: u64 = 32;
/// Shards that are compared to find the one that holds most.
const LOOKED_AT: usize = 16;
/// Buckets swept while one shard is locked.
const SWEEP_STEP: usize = 32;

/// The live engine, shared by threads.
///
/// A call that shows an item to a closure does so under a lock, which other readers may share. The
/// closure should be short, and must not call the store.
pub struct Store {
    pub(crate) shards: Box<[BigReaderLock<Shard>]>,
    pub(crate) memory: Memory,
    pub(crate) value_max: AtomicU64,
    seed: u64,
    /// The source of pages.
    arena: Arc<Arena>,
    /// Bytes of pages by shard.
    held: Box<[Arc<AtomicU64>]>,
    /// Whether an item may have an expiry, by shard.
    pub(crate) expiring: Box<[AtomicBool]>,
    /// The size classes into which pages are cut.
    pub(crate) sizes: SizeClasses,
    /// Length of the longest page of a fitted class, in bytes.
    pub(crate) page_max: u64,
    pub(crate) moves: Moves,
    pub(crate) admin: Mutex<Admin>,
    /// Whether any rank learns.
    pub(crate) learns: AtomicBool,
    /// Whether large values compete with the items that they would evict.
    pub(crate) competes: AtomicBool,
    /// Whether requests are counted by size.
    pub(crate) counts_sizes: AtomicBool,
    pub(crate) balances: AtomicBool,
    elsewhere: Mutex<()>,
    waiting: AtomicUsize,
    /// The shard where the next sweep begins.
    sweep_at: AtomicUsize,
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Store>();
};

pub(crate) struct Admin {
    pub(crate) accounts: Vec<Arc<Account>>,
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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A caller's closure that panicked has not changed its item.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the reader slot of an exclusively held shard to that of the thread.
#[inline]
fn by(mut shard: Write<'_, Shard>, thread: usize) -> Write<'_, Shard> {
    shard.reader_slot = thread % READER_SLOTS_MAX;
    shard
}

impl Store {
    /// Creates an empty store.
    pub fn new(config: Config) -> Self {
        let asked = config.shards.clamp(1, 256).next_power_of_two();
        let shards = config.slab.shards(config.maxmemory.0, asked);
        let budget = config.maxmemory;
        let pool = Pool { tenants: vec![], class: None, budget, evictor: config.evictor };
        let pools = Arc::new(Pools::new(std::slice::from_ref(&pool), &[], &Learnt::default()));
        let sizes = config.slab.classes(budget.0, shards, config.tenants.len());
        let arena = Arc::new(Arena::new(sizes.page()));
        arena.set_limit(budget.0);
        let shard = |at: usize| Shard {
            line: NewLine,
            tick: 0,
            reader_slot: 0,
            draws: Draws::default(),
            tenants: vec![],
            tap: Tap::new((SAMPLES_MAX / shards).max(256)),
            stopwatch: Stopwatch::default(),
            prng: Prng::new(config.seed ^ at as u64),
            seed: config.seed,
            at,
            pools: Arc::clone(&pools),
            order: Order::default(),
            quiet_until: u64::MAX,
            has_wheels: false,
            renews: false,
            sweeper: Sweeper::default(),
            pausing: Pausing::default(),
            nanos: config.nanos,
            lessons: None,
            lives: None,
            changed: None,
            is_watched: false,
            counts_sizes: false,
            balanced: 0,
            balance_at: 0,
            penalty_table: None,
            has_trees: false,
            evictable: Evictable::Any,
            pasts: None,
            cost_hint: 0,
        };
        let reader_slots = match config.reader_slots {
            0 => available_parallelism().map_or(1, NonZero::get).min(READER_SLOTS_MAX),
            reader_slots => reader_slots,
        };
        let store = Self {
            shards: (0..shards).map(|at| BigReaderLock::new(shard(at), reader_slots)).collect(),
            memory: Memory::new(config.maxmemory.0),
            value_max: AtomicU64::new(config.max_item.0.min(u64::from(u32::MAX))),
            seed: config.seed,
            arena,
            held: (0..shards).map(|_| Arc::default()).collect(),
            expiring: (0..shards).map(|_| AtomicBool::new(false)).collect(),
            sizes,
            page_max: config.slab.page_max(),
            moves: Moves::default(),
            admin: Mutex::new(Admin {
                accounts: vec![],
                pools: vec![pool],
                lifetimes: None,
                watching: None,
                keeps_lessons: false,
                prices: vec![],
                class_bytes: 0,
            }),
            learns: AtomicBool::new(false),
            competes: AtomicBool::new(true),
            counts_sizes: AtomicBool::new(false),
            balances: AtomicBool::new(true),
            elsewhere: Mutex::new(()),
            waiting: AtomicUsize::new(0),
            sweep_at: AtomicUsize::new(0),
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

    #[inline]
    fn shard_of(&self, hash: u64) -> &BigReaderLock<Shard> {
        &self.shards[(hash >> 32) as usize & (self.shards.len() - 1)]
    }

    /// Locks the shard of a key exclusively.
    #[inline]
    pub(crate) fn shard(&self, key: &Key) -> Write<'_, Shard> {
        let thread = thread_number();
        by(self.shard_of(key.hash).write(thread), thread)
    }

    /// Reads an item: counts a hit or a miss, refreshes the item and informs the tap. A miss starts
    /// the stopwatch.
    #[inline]
    pub fn get<R>(&self, key: &Key, now: Now, read: impl FnOnce(&Item) -> R) -> Option<R> {
        let mut reader = self.shard_of(key.hash).read(thread_number());
        let (shard, buffer) = reader.parts();
        match shard.glance(buffer, key, now) {
            Glance::Hit(item) => return Some(read(&item)),
            Glance::Miss => return None,
            Glance::Unclear => drop(reader),
        }
        // A copy, so that the key needs no address in the common case.
        let key = &{ *key };
        let mut shard = self.shard(key);
        let place = shard.read(key, now, &self.memory)?;
        Some(read(&shard.view(key, place)))
    }

    /// Prefetches the items of the next requests, given as tenants and hashes of about a dozen
    /// keys. Loading them takes longer than most calls. Changes nothing.
    pub fn prefetch(&self, keys: &[(TenantId, u64)]) {
        let thread = thread_number();
        // First all buckets, then all items, so that the loads of each kind do not wait for each
        // other.
        for &(tenant, hash) in keys {
            if let Some(mut reader) = self.shard_of(hash).try_read(thread) {
                reader.parts().0.tenants[usize::from(tenant)].table.prefetch(hash);
            }
        }
        for &(tenant, hash) in keys {
            if let Some(mut reader) = self.shard_of(hash).try_read(thread) {
                reader.parts().0.tenants[usize::from(tenant)].table.prefetch_item(hash);
            }
        }
    }

    /// Looks at an item without any effect on recency, counters or tap.
    #[inline]
    pub fn peek<R>(&self, key: &Key, now: Now, read: impl FnOnce(&Item) -> R) -> Option<R> {
        let mut reader = self.shard_of(key.hash).read(thread_number());
        let (shard, buffer) = reader.parts();
        match shard.peek(buffer, key, now) {
            Glance::Hit(item) => return Some(read(&item)),
            Glance::Miss => return None,
            Glance::Unclear => drop(reader),
        }
        let mut shard = self.shard(key);
        let place = shard.find(key, now, &self.memory)?;
        Some(read(&shard.view(key, place)))
    }

    /// Refreshes an item as a read does, without counting a read. Returns whether there is one.
    pub fn touch(&self, key: &Key, now: Now) -> bool {
        let mut shard = self.shard(key);
        shard.tick += 1;
        let Some(place) = shard.find(key, now, &self.memory) else { return false };
        shard.hit(key, place);
        shard.tenants[key.tenant as usize].counters.touched += 1;
        true
    }

    /// Starts the stopwatch of a key, as a read that misses does, for a client that fetches the
    /// value anew although it is still here.
    pub fn fetch_begins(&self, key: &Key, now: Now) {
        _ = self.shard(key).stopwatch.start(key.tenant, key.hash, now.micros);
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
        let place = shard.replaceable(self, buffer, key, &parts);
        let exclusive = match (reader.exclusive(), place) {
            (Some(mut exclusive), Some(place)) => {
                let (shard, buffer) = exclusive.parts();
                shard.replace(buffer, thread, key, place, &parts);
                return Ok(());
            }
            (exclusive, _) => exclusive.unwrap_or_else(|| lock.exclusive(thread)),
        };
        let mut shard = by(exclusive.write(), thread);
        shard.tick += 1;
        let found = shard.find(key, now, &self.memory);
        shard.set(self, key, found, &parts, now)
    }

    /// Writes an item with a known cost of a miss. It counts as a fetch of that time, whether or
    /// not the stopwatch runs.
    pub fn set_priced(
        &self,
        key: &Key,
        value: &[u8],
        expires: Option<u64>,
        penalty: Micros,
        now: Now,
    ) -> Result<(), Error> {
        let mut shard = self.shard(key);
        shard.tick += 1;
        let reads = u64::from(shard.stopwatch.stop(key.hash, now.micros).is_some());
        let found = shard.find(key, now, &self.memory);
        shard.set(self, key, found, &Parts::of(key, value, 0, expires), now)?;
        shard.fetched(key, Fetched::In(penalty, 0), reads);
        Ok(())
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
        self.shard(key).update(self, key, now, f)
    }

    /// Like [`Store::update`], for a command that also reads, such as GETEX: counts a hit or a
    /// miss.
    pub fn get_and_update<'v, R>(
        &self,
        key: &Key,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        let mut shard = self.shard(key);
        let found = shard.read(key, now, &self.memory);
        let item = found.map(|place| shard.view(key, place));
        let (change, result) = f(item.as_ref());
        shard.apply(self, key, found, &change, now)?;
        Ok(result)
    }

    /// Removes an item. Returns whether there was one.
    pub fn delete(&self, key: &Key, now: Now) -> bool {
        let mut shard = self.shard(key);
        shard.note_change(key);
        let place = shard.find(key, now, &self.memory);
        if place.is_none() {
            shard.stopwatch.forget(key.hash);
        }
        place.map(|place| shard.delete(&self.memory, key, place, now)).is_some()
    }

    /// Walks through the live items of `scope`, about `count` per call. Pass 0 as the first cursor,
    /// then the last result, until the result is 0. An item that exists during the whole walk is
    /// shown exactly once.
    pub fn scan(
        &self,
        scope: Scope,
        cursor: u64,
        count: usize,
        now: Now,
        mut visit: impl FnMut(&ScanItem),
    ) -> u64 {
        let (mut cursor, count) = (Cursor::from(cursor), count.max(1));
        if let Some(tenant) = scope.tenant
            && cursor.tenant < usize::from(tenant)
        {
            cursor = Cursor { tenant: tenant.into(), shard: 0, position: 0 };
        }
        let (mut shown, mut steps) = (0, 0);
        // Empty buckets and other databases count as steps too, or a call might never end.
        while shown < count && steps < 16 + 4 * count {
            if cursor.shard >= self.shards.len() {
                cursor = Cursor { tenant: cursor.tenant + 1, shard: 0, position: 0 };
            }
            let shard = self.shards[cursor.shard].write_drained();
            let is_over = scope.tenant.is_some_and(|tenant| usize::from(tenant) != cursor.tenant);
            let Some(tenant) = shard.tenants.get(cursor.tenant).filter(|_| !is_over) else {
                return 0;
            };
            if scope.db.is_some() && tenant.len(scope.db).items == 0 {
                cursor.position = END;
            }
            while cursor.position < END && shown < count && steps < 16 + 4 * count {
                steps += 1;
                cursor.position = tenant.table.walk(self.seed, cursor.position, |item| {
                    let (tenant, db) = (cursor.tenant as TenantId, item.db());
                    if scope.db.is_none_or(|only| only == db) && !item.is_dead(now.unix_ms) {
                        let (key, item) = (item.key(), shard.view_of(tenant, item));
                        visit(&ScanItem { tenant, db, key, item });
                        shown += 1;
                    }
                });
            }
            if cursor.position >= END {
                steps += 1;
                cursor = Cursor { shard: cursor.shard + 1, position: 0, ..cursor };
            }
        }
        cursor.into()
    }

    /// Shows a random live item of `scope` to `read`; `None` if there is none.
    pub fn random_key<R>(
        &self,
        scope: Scope,
        now: Now,
        read: impl FnOnce(&ScanItem) -> R,
    ) -> Option<R> {
        let first = self.shards[0].write_drained().prng.below(self.shards.len() as u64) as usize;
        for at in 0..self.shards.len() {
            let mut shard = self.shards[(first + at) % self.shards.len()].write_drained();
            if let Some((tenant, place)) = shard.draw(scope, now) {
                let item = shard.tenants[tenant as usize].table.get(place);
                let (db, key, item) = (item.db(), item.key(), shard.view_of(tenant, item));
                return Some(read(&ScanItem { tenant, db, key, item }));
            }
        }
        None
    }

    /// The number of items in `scope`, including dead ones that have not been found yet.
    pub fn len(&self, scope: Scope) -> Len {
        let mut sum = Len::default();
        for shard in &self.shards {
            for (at, tenant) in shard.write_drained().tenants.iter().enumerate() {
                if scope.tenant.is_none_or(|only| usize::from(only) == at) {
                    sum += tenant.len(scope.db);
                }
            }
        }
        sum
    }

    /// Whether an item may have an expiry. It may remain true until the next sweep after the last
    /// such item. Takes no lock.
    pub fn may_expire(&self) -> bool {
        self.expiring.iter().any(|shard| shard.load(Relaxed))
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len(Scope::ALL).items == 0
    }

    /// Removes every item of `scope`, and returns how many there were. The tap does not report
    /// them.
    pub fn flush(&self, scope: Scope) -> u64 {
        let mut removed = 0;
        for padded in &self.shards {
            let tenants = padded.write_drained().tenants.len();
            for at in (0..tenants).filter(|&at| scope.tenant.is_none_or(|t| usize::from(t) == at)) {
                let mut shard = padded.write_drained();
                shard.note_flush(Scope { tenant: Some(at as TenantId), db: scope.db });
                shard.outdate_all(self, at as TenantId, scope.db);
                let tenant = &mut shard.tenants[at];
                if tenant.len(scope.db).items < tenant.table.len() as u64 {
                    removed += shard.flush_db(&self.memory, at as TenantId, scope.db);
                    continue;
                }
                // The whole table is removed, and freed without the lock.
                let wheel = tenant.wheel_bytes();
                let (table, pages, trees) = tenant.take_table();
                let account = Arc::clone(&tenant.account);
                drop(shard);
                removed += table.len() as u64;
                let bytes = table.bytes() + wheel + pages.bytes() + trees.bytes();
                drop(trees);
                pages.take_apart(table.into_items());
                account.give(bytes);
                self.memory.give(bytes);
            }
        }
        removed
    }

    /// Bytes charged now: items, tables, and the fixed memory of the tenants in each shard.
    pub fn used(&self) -> Bytes {
        Bytes(self.memory.used())
    }

    /// Most bytes that the store may use; 0 for no limit.
    pub fn limit(&self) -> Bytes {
        Bytes(self.memory.limit())
    }

    /// Changes the limit; 0 for none. A lower limit is reached gradually: each write frees a little
    /// more than it takes, and [`Store::sweep`] does the rest.
    pub fn set_limit(&self, limit: Bytes) {
        self.memory.set_limit(limit.0);
        self.arena.set_limit(limit.0);
    }

    /// Whether the store's pages are too long, and its shards too many, for a limit: a new store
    /// with that limit would hold more items.
    pub fn is_coarse_for(&self, limit: Bytes, slab: &Slab) -> bool {
        let (shards, page) = (self.shards.len(), self.sizes.page());
        let fresh = slab.shards(limit.0, shards);
        let pages = limit.0 / (shards as u64 * page);
        let is_finer =
            || fresh < shards || slab.classes(limit.0, fresh, self.tenants()).page() < page;
        limit.0 > 0 && pages < PAGES && is_finer()
    }

    /// Changes which items may be evicted.
    pub fn set_evictable(&self, evictable: Evictable) {
        for shard in &self.shards {
            shard.write_drained().evictable = evictable;
        }
    }

    /// Changes the length of the longest value, at most 4 GiB - 1. Longer values that exist stay.
    pub fn set_max_item(&self, max: Bytes) {
        self.value_max.store(max.0.min(u64::from(u32::MAX)), Relaxed);
    }

    /// Sets whether large values that may be declined compete with the items that they would evict.
    pub fn set_admission(&self, competes: bool) {
        self.competes.store(competes, Relaxed);
    }

    /// Bytes of the limit set aside.
    pub fn reserve(&self) -> Bytes {
        Bytes(self.memory.reserve())
    }

    /// Sets bytes of the limit aside, for memory of the allocator beyond the charged bytes. Has no
    /// effect without a limit.
    pub fn set_reserve(&self, reserve: Bytes) {
        self.memory.set_reserve(reserve.0);
    }

    /// Divides the memory between new pools. Tenants that no pool names join the first one; an
    /// empty list changes nothing. Nothing is evicted at once: items above their pool's budget are
    /// the first victims when a write needs room.
    pub fn set_pools(&self, pools: &[Pool]) {
        let mut admin = lock(&self.admin);
        if !pools.is_empty() {
            admin.pools = pools.to_vec();
            self.publish(&mut admin);
        }
    }

    /// The eviction policy of a tenant, as it was set, without later learning. If several pools
    /// hold the tenant, by class, that of the first.
    pub fn evictor(&self, tenant: TenantId) -> Evictor {
        let admin = lock(&self.admin);
        let named = admin.pools.iter().find(|pool| pool.tenants.contains(&tenant));
        named.unwrap_or(&admin.pools[0]).evictor.clone()
    }

    pub(crate) fn publish(&self, admin: &mut Admin) {
        self.switch_lessons(admin);
        let places = self.switch_classes(admin);
        let learnt = Self::learnt(admin);
        let pools = Arc::new(Pools::new(&admin.pools, &admin.accounts, &learnt));
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            for account in admin.accounts.iter().skip(shard.tenants.len()) {
                let pages = Pages::new(&self.arena, &self.sizes, &self.held[shard.at]);
                shard.tenants.push(TenantShard::new(Arc::clone(account), pages));
            }
            shard.order.forget();
            let before = std::mem::replace(&mut shard.pools, Arc::clone(&pools));
            for (at, tenant) in (0..).zip(&mut shard.tenants) {
                if !pools.ranks_like(&before, at) {
                    // A worth per byte cannot be compared with an age.
                    tenant.pages.forget_victims();
                }
            }
            Self::teach(admin, &mut shard);
            shard.count_classes(places);
            let sizes = shard.counts_sizes;
            shard.set_counts_sizes(sizes);
        }
    }

    /// Changes a tenant's bounds. A lower max is reached gradually.
    pub fn set_bounds(&self, tenant: TenantId, bounds: Bounds) {
        if let Some(account) = lock(&self.admin).accounts.get(usize::from(tenant)) {
            account.set_bounds(bounds);
        }
    }

    /// Adds a tenant to the first pool, and returns its number.
    pub fn add_tenant(&self, bounds: Bounds) -> TenantId {
        let mut admin = lock(&self.admin);
        let account = Account::new(bounds);
        let bytes = self.fixed_bytes(1);
        account.take(bytes);
        self.memory.take(bytes);
        admin.accounts.push(account);
        self.publish(&mut admin);
        (admin.accounts.len() - 1) as TenantId
    }

    /// Bytes of other tenants that a tenant's writes can never evict.
    pub fn protected_from(&self, tenant: TenantId) -> Bytes {
        let admin = lock(&self.admin);
        let others = admin.accounts.iter().enumerate().filter(|(at, _)| *at != usize::from(tenant));
        Bytes(others.map(|(_, account)| account.protected()).sum())
    }

    /// The number of shards.
    pub const fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The number of tenants.
    pub fn tenants(&self) -> usize {
        lock(&self.admin).accounts.len()
    }

    /// Bytes that tenants take without any item.
    pub(crate) fn fixed_bytes(&self, tenants: usize) -> u64 {
        (tenants * self.shards.len()) as u64 * TenantShard::fixed_bytes()
    }

    /// Statistics of a tenant now; all zero for an unknown number.
    pub fn tenant_stats(&self, tenant: TenantId) -> TenantStats {
        let account = lock(&self.admin).accounts.get(usize::from(tenant)).cloned();
        let Some(account) = account else { return TenantStats::default() };
        let (mut len, mut counters) = (Len::default(), Counters::default());
        for shard in &self.shards {
            if let Some(tenant) = shard.write_drained().tenants.get(usize::from(tenant)) {
                len += tenant.len(None);
                counters += tenant.counters;
            }
        }
        let penalty = lock(&account.measured).stats();
        TenantStats { used: Bytes(account.used()), len, counters, penalty }
    }

    /// Statistics of all tenants now, with one lock of each shard.
    pub fn all_stats(&self) -> Vec<TenantStats> {
        let accounts = lock(&self.admin).accounts.clone();
        let mut all = vec![TenantStats::default(); accounts.len()];
        for shard in &self.shards {
            for (stats, tenant) in all.iter_mut().zip(&shard.write_drained().tenants) {
                stats.len += tenant.len(None);
                stats.counters += tenant.counters;
            }
        }
        for (stats, account) in all.iter_mut().zip(&accounts) {
            stats.used = Bytes(account.used());
            stats.penalty = lock(&account.measured).stats();
        }
        all
    }

    /// Chooses the keys of a tenant whose requests are reported; [`Filter::NONE`] at first.
    pub fn set_tap(&self, tenant: TenantId, filter: Filter) {
        for shard in &self.shards {
            shard.write_drained().tap.set_filter(tenant, filter);
        }
    }

    /// Switches the timing of fetches on or off; off at first.
    pub fn set_stopwatch(&self, on: bool) {
        let places = if on { (FETCHES_MAX / self.shards.len()).max(256) } else { 0 };
        for shard in &self.shards {
            shard.write_drained().stopwatch.set_places(places);
        }
    }

    /// Multiplies the weight of the fetches timed so far by `factor`, so that they fade.
    pub fn fade_penalties(&self, factor: f64) {
        for account in &lock(&self.admin).accounts {
            lock(&account.measured).fade(factor);
        }
    }

    /// Appends the samples since the last call to `samples`, in order of time. Returns the number
    /// of samples lost because the last call was too long ago.
    pub fn drain(&self, samples: &mut Vec<Sample>) -> u64 {
        let begin = samples.len();
        let lost = self.shards.iter().map(|shard| shard.write_drained().tap.drain(samples)).sum();
        // Stable, so that requests to one key, all in one shard, keep their order.
        samples[begin..].sort_by_key(|sample| sample.time);
        lost
    }

    /// Removes dead items, then evicts if the store or a tenant is above a lowered limit, and
    /// learns if a rank does. This is bounded work, to be called again and again. It looks at about
    /// `budget` entries and buckets. It evicts up to `budget` pages, one per lock of a shard.
    pub fn sweep(&self, now: Now, budget: usize) -> Swept {
        let mut swept = Swept::default();
        let rounds = budget.div_ceil(SWEEP_STEP).max(self.shards.len());
        let above = lock(&self.admin).accounts.iter().position(|account| account.excess() > 0);
        let above = above.map(|at| at as TenantId);
        for _ in 0..rounds {
            let left = budget - swept.buckets.min(budget);
            let trims = budget - swept.evicted.min(budget);
            if left == 0 && (trims == 0 || self.memory.excess() == 0) {
                break;
            }
            let at = self.sweep_at.fetch_add(1, Relaxed) % self.shards.len();
            let mut shard = self.shards[at].write_drained();
            let step = shard.sweep(&self.memory, now, left.min(SWEEP_STEP));
            self.expiring[at].store(shard.has_wheels, Relaxed);
            swept.buckets += step.buckets;
            swept.expired += step.expired;
            swept.evicted += usize::from(trims > 0 && shard.trim(&self.memory, above, now));
            swept.moved += usize::from(self.move_page(&mut shard, now));
            let dying = shard.take_dying();
            drop(shard);
            self.take_apart(dying);
        }
        // Otherwise a budget that always ends with the same shard would always begin with the same
        // one.
        self.sweep_at.fetch_add(1, Relaxed);
        self.arena.maintain();
        if self.learns.load(Relaxed) {
            self.learn();
            self.watch(now);
        }
        swept
    }

    /// The shard that holds most, of some starting at a random one, if it holds enough more than
    /// the shard at `at` to give a page.
    pub(crate) fn richer(&self, at: usize, first: usize) -> Option<usize> {
        let shards = self.shards.len();
        let looked_at = (first..first + shards.min(LOOKED_AT)).map(|shard| shard % shards);
        let held = |shard: usize| self.held[shard].load(Relaxed);
        let (most, richest) = looked_at.map(|shard| (held(shard), shard)).max()?;
        let own = held(at);
        (most > own + own / SLACK + self.page().0).then_some(richest)
    }

    /// Evicts a page in another shard, which the caller does not hold, if its lock is free now.
    pub(crate) fn try_evict_at(&self, other: usize, want: &Want) -> u64 {
        let shard = self.shards[other].try_write_drained();
        shard.map_or(0, |mut shard| shard.evict_page(&Want { spare: 0, ..*want }))
    }

    #[cfg(test)]
    pub(crate) fn each_shard(&self, mut look: impl FnMut(&Shard)) {
        self.shards.iter().for_each(|shard| look(&shard.write_drained()));
    }

    /// Evicts a page in any shard except the one at `at`, which the caller has locked. Returns its
    /// bytes, as [`Shard::evict_page`] does.
    pub(crate) fn evict_elsewhere(&self, at: usize, first: usize, want: &Want) -> u64 {
        let want = Want { spare: 0, ..*want };
        self.waiting.fetch_add(1, Relaxed);
        let turn = lock(&self.elsewhere);
        self.waiting.fetch_sub(1, Relaxed);
        let mut quiet = 0;
        loop {
            let mut locked = 0;
            let others = (0..self.shards.len()).map(|i| (first + i) % self.shards.len());
            for other in others.filter(|&other| other != at) {
                let Some(mut shard) = self.shards[other].try_write_drained() else {
                    locked += 1;
                    continue;
                };
                let freed = shard.evict_page(&want);
                if freed > 0 {
                    return freed;
                }
            }
            if locked <= self.waiting.load(Relaxed) {
                // A shard may have changed its holder between the try and the count.
                quiet += 1;
                if locked == 0 || quiet == 3 {
                    drop(turn);
                    return 0;
                }
            }
            yield_now();
        }
    }
}

/// The position of a scan: 16 bits of tenant, 8 of shard, 32 of position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    tenant: usize,
    shard: usize,
    position: u64,
}

impl From<u64> for Cursor {
    fn from(cursor: u64) -> Self {
        let (tenant, shard) = ((cursor >> 40) as usize, (cursor >> 32) as usize & 0xff);
        Self { tenant, shard, position: cursor & (END - 1) }
    }
}

impl From<Cursor> for u64 {
    fn from(cursor: Cursor) -> Self {
        // The shard may be one past the last, and then carries over into the tenant.
        ((cursor.tenant as Self) << 40) + ((cursor.shard as Self) << 32) + cursor.position
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
