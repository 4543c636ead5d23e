//! The state that all threads of a server share.

use super::view::View;
use crate::services::acl_log::Log as AclLog;
use crate::services::blocked_clients::{Blocked, WaitKey};
use crate::services::clients::Clients;
use crate::services::clock::Clock;
use crate::services::exclusive::Gate;
use crate::services::hot_keys::HotKeys;
use crate::services::idle_time::IdleClock;
use crate::services::login_backoff::LoginBackoff;
use crate::services::mail::Mailbox;
use crate::services::memcached_binary::Binary;
use crate::services::memcached_detail::Detail;
use crate::services::monitors::Monitors;
use crate::services::pause::Pause;
use crate::services::published::PublishedStatus;
use crate::services::published::Reports;
use crate::services::pubsub::PubSub;
use crate::services::scripts::Scripts;
use crate::services::slow_log::SlowLog;
use crate::services::stats::Stats;
use crate::services::tracking::Tracking;
use crate::services::transfers::Transfers;
use crate::services::warm_restart::Warm;
use crate::settings::certificates;
use crate::settings::cluster::Cluster;
use crate::settings::config::{self, DEFAULT, DEFAULT_NAME, Settings};
use crate::settings::memcached_tokens::Tokens;
use crate::settings::pools;
use crate::text::log_throttle::LogThrottle;
use base::{Bytes, TenantId};
use report::History;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread::{JoinHandle, Thread};
use store::{Evictable, Key, Now, Scope, Store, TREE};

/// The state that all threads share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Clock,
    pub(crate) clients: Clients,
    pub(crate) stats: Stats,
    pub(crate) pubsub: PubSub,
    /// Scripts and functions in Lua.
    pub(crate) scripts: Scripts,
    /// Clients that cache what they read.
    pub(crate) tracking: Tracking,
    /// Whether the store notes evictions and expirations.
    pub(crate) removals_noted: AtomicBool,
    /// Whether commands wait (CLIENT PAUSE).
    pub(crate) pause: Pause,
    /// Clients that are blocked until another client writes.
    pub(crate) blocked: Blocked,
    /// The gate through which one worker runs alone.
    pub(crate) gate: Gate,
    /// Clients that watch other clients.
    pub(crate) monitors: Monitors,
    pub(crate) slowlog: SlowLog,
    /// Commands with many bytes, and commands with many bytes in their reply.
    pub(crate) large_requests: SlowLog,
    pub(crate) large_replies: SlowLog,
    pub(crate) hotkeys: HotKeys,
    /// The log of ACL refusals.
    pub(crate) acl_log: AclLog,
    /// Addresses that sent wrong passwords.
    pub(crate) attempts: LoginBackoff,
    /// The counts of memcached's `stats detail`.
    pub(crate) detail: Detail,
    /// Past accesses, from which the idle times for memcached's clients are computed.
    pub(crate) idle_clock: IdleClock,
    /// Clients that used memcached's binary protocol.
    pub(crate) binary: Binary,
    /// Connections that the system refused.
    unaccepted: LogThrottle,
    /// The later flushes of memcached's clients: their time, and their tenants.
    flushes: Mutex<Vec<(u64, Vec<TenantId>)>>,
    /// The last cas given to a written value.
    cas: AtomicU64,
    /// The warm-restart file of an earlier run, and of this one.
    pub(crate) warm: Warm,
    /// Dumps and loads.
    pub(crate) transfers: Transfers,
    /// The status that the pilot publishes.
    pub(crate) published: PublishedStatus,
    /// The history of the server, at several resolutions.
    pub(crate) history: Mutex<History>,
    /// The last report.
    pub(crate) reports: Mutex<Reports>,
    pub(crate) mailboxes: Vec<Mailbox>,
    /// The number of shards of the store.
    pub(crate) shards: usize,
    /// The ports and paths of the listeners.
    pub(crate) listening: Vec<String>,
    /// The driver of the first worker: io_uring or epoll.
    driver: OnceLock<&'static str>,
    /// The listeners again, by socket number and with addresses in memcached's form.
    pub(crate) sockets: Vec<(i32, String)>,
    /// Forty hexadecimal digits that identify this run.
    pub(crate) run_id: String,
    /// The settings file of the start.
    pub(crate) file: Option<PathBuf>,
    pub(crate) started_unix: u64,
    /// Whether the server is ending, and the thread that waits for that.
    stopping: AtomicBool,
    waiting: OnceLock<Thread>,
    /// Whether the process's resident memory tells something about the store.
    pub(crate) owns_process: AtomicBool,
    pub(super) view: RwLock<Arc<View>>,
    pub(super) generation: AtomicU64,
    /// Locked while settings change.
    pub(super) changing: Mutex<()>,
    /// The thread that deletes the items of slots that moved to other servers.
    pub(super) emptying: Mutex<Option<JoinHandle<()>>>,
}

/// The number of shards for each thread: enough that two threads rarely need the same.
const SHARDS_PER_THREAD: usize = 4;

impl Server {
    pub(crate) fn new(
        settings: Settings,
        mailboxes: Vec<Mailbox>,
        listening: Vec<String>,
        sockets: Vec<(i32, String)>,
        file: Option<PathBuf>,
    ) -> Result<Self, config::Error> {
        settings.check()?;
        let clock = Clock::new();
        let unix_us = Clock::unix_us();
        let seed = base::hash::mix(unix_us ^ u64::from(std::process::id()) << 40);
        let parts: [u64; 3] = std::array::from_fn(|i| base::hash::mix(seed ^ i as u64));
        let run_id = format!("{:016x}{:016x}{:08x}", parts[0], parts[1], parts[2] as u32);
        let mut view = View {
            cluster: Cluster::load(&settings.cluster_config, &settings.cluster_node)?,
            tls: certificates::load(&settings)?,
            tokens: Arc::new(Tokens::read(&settings.memcached_auth_file)?),
            settings,
            names: vec![DEFAULT_NAME.into()],
            numbers: HashMap::from([(DEFAULT_NAME.into(), DEFAULT)]),
            generation: 1,
        };
        view.name_tenants();
        let settings = &view.settings;
        let shards = (settings.io_threads * SHARDS_PER_THREAD).next_power_of_two().clamp(1, 256);
        let store = Store::new(store::Config {
            maxmemory: settings.maxmemory,
            shards,
            reader_slots: settings.io_threads,
            // Keys are hashed without a seed, so that samples name them as traces do.
            seed: 0,
            tenants: (0..view.names.len()).map(|at| view.bounds(at as TenantId)).collect(),
            max_item: settings.proto_max_bulk_len,
            evictor: pools::evictor(settings),
            slab: settings.slab,
            nanos: Clock::nanos,
        });
        store.set_evictable(settings.maxmemory_policy.evictable());
        store.set_admission(settings.admission);
        // The stopwatch runs from the first request on, not only from the pilot's first look.
        store.set_stopwatch(pools::is_steered(settings));
        for number in 0..view.names.len() as TenantId {
            store.set_hinted(number, view.tenant(number).hinted);
        }
        let shards = store.shards();
        let server = Self {
            store: Arc::new(store),
            clock,
            clients: Clients::default(),
            stats: Stats::new(settings.io_threads, crate::facts::table::count()),
            pubsub: PubSub::default(),
            scripts: Scripts::default(),
            tracking: Tracking::default(),
            removals_noted: AtomicBool::new(false),
            pause: Pause::default(),
            blocked: Blocked::default(),
            gate: Gate::new(settings.io_threads),
            monitors: Monitors::default(),
            slowlog: SlowLog::default(),
            large_requests: SlowLog::default(),
            large_replies: SlowLog::default(),
            hotkeys: HotKeys::default(),
            acl_log: AclLog::default(),
            attempts: LoginBackoff::default(),
            detail: Detail::new(settings),
            idle_clock: IdleClock::default(),
            binary: Binary::default(),
            unaccepted: LogThrottle::default(),
            flushes: Mutex::default(),
            cas: AtomicU64::new(0),
            warm: Warm::new(&settings.warm_restart_file),
            transfers: Transfers::default(),
            published: PublishedStatus::default(),
            history: Mutex::default(),
            reports: Mutex::default(),
            mailboxes,
            shards,
            listening,
            driver: OnceLock::new(),
            sockets,
            run_id,
            file,
            started_unix: unix_us / 1_000_000,
            stopping: AtomicBool::new(false),
            waiting: OnceLock::new(),
            owns_process: AtomicBool::new(true),
            generation: AtomicU64::new(view.generation),
            view: RwLock::new(Arc::new(view)),
            changing: Mutex::new(()),
            emptying: Mutex::default(),
        };
        Ok(server)
    }

    /// The current settings.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Locks the history.
    pub(crate) fn lock_history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current settings, if they are newer than `known`.
    #[inline]
    pub(crate) fn newer(&self, known: &View) -> Option<Arc<View>> {
        (self.generation.load(Ordering::Acquire) != known.generation).then(|| self.view())
    }

    /// Deletes all items in a scope.
    pub(crate) fn flush(&self, scope: Scope) {
        let flushed = self.store.flush(scope);
        self.stats.flushed.fetch_add(flushed, Ordering::Relaxed);
        self.tracking.forget_all(self.mail(), None);
    }

    /// Wakes the first client that waits for the kind of value that a key holds.
    #[cold]
    pub(crate) fn wake_first(&self, key: &Key<'_>, now: Now) {
        if let Some(kind) = self.store.peek(key, now, |item| item.kind & !TREE) {
            self.blocked.wake(&self.mailboxes, &WaitKey::new(key), kind);
        }
    }

    /// Ends a client's wait for these keys, and wakes the next client of each.
    pub(crate) fn end_wait(&self, keys: &[WaitKey], client: u64, now: Now) {
        self.blocked.leave(keys, client);
        if self.blocked.any() {
            for key in keys {
                self.wake_first(&key.key(&self.store), now);
            }
        }
    }

    /// The sums over all tenants.
    pub(crate) fn counters(&self) -> store::Counters {
        let mut sum = store::Counters::default();
        for tenant in 0..self.store.tenants() as TenantId {
            sum += self.store.tenant_stats(tenant).counters;
        }
        sum
    }

    /// A cas that no value had before.
    pub(crate) fn next_cas(&self) -> u64 {
        self.cas.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The last cas.
    pub(crate) fn last_cas(&self) -> u64 {
        self.cas.load(Ordering::Relaxed)
    }

    /// Continues after the last cas of an earlier run.
    pub(crate) fn begin_cas(&self, last: u64) {
        self.cas.fetch_max(last, Ordering::Relaxed);
    }

    /// The flushes that are still to come.
    pub(crate) fn flushes(&self) -> Vec<(u64, Vec<TenantId>)> {
        self.lock_flushes().clone()
    }

    fn lock_flushes(&self) -> MutexGuard<'_, Vec<(u64, Vec<TenantId>)>> {
        self.flushes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes these tenants from all flushes of [`Self::flush_later`].
    pub(crate) fn forget_flushes(&self, tenants: &[TenantId]) {
        let mut flushes = self.lock_flushes();
        for (_, whose) in flushes.iter_mut() {
            whose.retain(|tenant| !tenants.contains(tenant));
        }
        flushes.retain(|(_, whose)| !whose.is_empty());
    }

    /// Deletes the items of these tenants once the clock reaches `due_ms` (Unix milliseconds).
    pub(crate) fn flush_later(&self, due_ms: u64, tenants: Vec<TenantId>) {
        self.lock_flushes().push((due_ms, tenants));
    }

    /// Does the flushes of [`Self::flush_later`] that are due.
    pub(crate) fn flush_due(&self) {
        let now_ms = self.clock.now().unix_ms;
        let due: Vec<_> = self.lock_flushes().extract_if(.., |(due, _)| *due <= now_ms).collect();
        for tenant in due.into_iter().flat_map(|(_, tenants)| tenants) {
            self.flush(Scope::tenant(tenant));
        }
    }

    /// Logs, at most once a minute, that the system refused a connection.
    pub(crate) fn note_unaccepted(&self, error: &std::io::Error) {
        if let Some((since, all)) = self.unaccepted.count(self.clock.micros().0 / 1_000) {
            tracing::warn!(
                "a connection cannot be accepted: {error}: raise ulimit -n, or lower maxclients; \
                 tried {since} times since the last such line, {all} in all"
            );
        }
    }

    /// The name of the workers' driver.
    pub(crate) fn driver(&self) -> &'static str {
        self.driver.get().copied().unwrap_or("epoll")
    }

    /// Notes the driver of the first worker.
    pub(crate) fn note_driver(&self, name: &'static str) {
        self.driver.get_or_init(|| name);
    }

    /// Whether the server is ending.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Waits until the server is ending.
    pub(crate) fn wait_for_stop(&self) {
        self.waiting.get_or_init(std::thread::current);
        while !self.is_stopping() {
            std::thread::park();
        }
    }

    /// Ends the server, and wakes all threads that must know.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        if let Some(waiting) = self.waiting.get() {
            waiting.unpark();
        }
        self.gate.script().end_all();
        for mailbox in &self.mailboxes {
            mailbox.wake();
        }
    }

    /// The resident memory of the process.
    pub(crate) fn resident(&self) -> Bytes {
        Bytes(self.stats.resident.load(Ordering::Relaxed))
    }

    /// The memory of data and metadata in use, and its limit.
    pub(crate) fn memory(&self) -> (Bytes, Bytes) {
        (self.store.used(), self.store.limit())
    }

    /// Whether no item can be evicted for another: the policy does not evict, or there can be no
    /// item that it may evict.
    pub(crate) fn nothing_leaves(&self, view: &View) -> bool {
        let policy = view.settings.maxmemory_policy;
        let is_picky = policy.evictable() != Evictable::Any;
        !policy.evicts() || is_picky && !self.store.may_expire()
    }
}
