//! The state that all threads of a server share, in parts that do not know one another.

use super::audience::Audience;
use super::clients::Clients;
use super::logs::Logs;
use super::memcached_state::MemcachedState;
use super::observed::Observed;
use super::process::{Opened, ProcessInfo};
use super::saved::Saved;
use super::turns::Turns;
use super::view::{View, Views};
use crate::facts::table::{self, Table};
use crate::services::clock::Clock;
use crate::services::idle_time::IdleTimes;
use crate::services::mail::Mailbox;
use crate::services::scripts::Scripts;
use crate::services::sleeper::Sleeper;
use crate::services::stats::Stats;
use crate::settings::certificates;
use crate::settings::cluster::Cluster;
use crate::settings::config::{self, DEFAULT, DEFAULT_NAME, Settings};
use crate::settings::memcached_tokens::Tokens;
use crate::settings::pools;
use base::{Bytes, TenantId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{Now, Scope, Store};

/// The state that all threads share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Clock,
    /// The facts about all commands.
    pub(crate) table: &'static Table,
    pub(crate) view: Views,
    pub(crate) observed: Observed,
    pub(crate) saved: Saved,
    pub(crate) clients: Clients,
    pub(crate) audience: Audience,
    pub(crate) turns: Turns,
    pub(crate) logs: Logs,
    pub(crate) stats: Stats,
    /// Scripts and functions in Lua.
    pub(crate) scripts: Scripts,
    pub(crate) memcached: MemcachedState,
    pub(crate) process: ProcessInfo,
    /// The thread that compresses.
    pub(crate) compressor: Sleeper,
}

/// The number of shards for each thread: enough that two threads rarely need the same.
const SHARDS_PER_THREAD: usize = 4;

impl Server {
    pub(crate) fn new(
        settings: Settings,
        mailboxes: Vec<Mailbox>,
        opened: Opened,
    ) -> Result<Self, config::Error> {
        settings.check()?;
        let clock = Clock::new();
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
        store.set_compression(settings.compression);
        // The stopwatch runs from the first request on, not only from the pilot's first look.
        store.set_stopwatch(pools::is_steered(settings));
        for number in 0..view.names.len() as TenantId {
            store.set_hinted(number, view.tenant(number).hinted);
        }
        let table = table::table();
        Ok(Self {
            store: Arc::new(store),
            clock,
            table,
            observed: Observed::default(),
            saved: Saved::new(&settings.warm_restart_file),
            clients: Clients::new(mailboxes),
            audience: Audience::default(),
            turns: Turns::new(settings.io_threads),
            logs: Logs::default(),
            stats: Stats::new(settings.io_threads, table::count()),
            scripts: Scripts::default(),
            memcached: MemcachedState::new(settings),
            process: ProcessInfo::new(opened, Clock::unix_us()),
            compressor: Sleeper::default(),
            view: Views::new(view),
        })
    }

    /// Deletes all items in a scope.
    pub(crate) fn flush(&self, scope: Scope) {
        let flushed = self.store.flush(scope);
        self.stats.flushed.fetch_add(flushed, Ordering::Relaxed);
        self.audience.tracking.forget_all(self.clients.mail(), None);
    }

    /// Does the flushes of memcached's clients that are due.
    pub(crate) fn flush_due(&self) {
        for tenant in self.memcached.take_due(self.clock.now().unix_ms) {
            self.flush(Scope::tenant(tenant));
        }
    }

    /// Sends the pending invalidations to clients that broadcast.
    pub(crate) fn tell_pending(&self) {
        let user = |name: &str| self.view.now().settings.user(name).cloned();
        self.audience.tracking.tell_pending(self.clients.mail(), user);
    }

    /// The sums over all tenants.
    pub(crate) fn counters(&self) -> store::Counters {
        let mut sum = store::Counters::default();
        for tenant in 0..self.store.tenants() as TenantId {
            sum += self.store.tenant_stats(tenant).counters;
        }
        sum
    }

    /// The idle times of items at this moment.
    pub(crate) fn idle_times(&self, now: Now) -> IdleTimes {
        let (clock, shards) = (&self.observed.idle_clock, self.store.shards());
        IdleTimes::at(clock, &self.counters(), shards, now)
    }

    /// Ends the server, and wakes all threads that must know.
    pub(crate) fn stop(&self) {
        self.process.stop();
        self.turns.gate.script().end_all();
        self.clients.wake_workers();
    }

    /// The memory of data and metadata in use, and its limit.
    pub(crate) fn memory(&self) -> (Bytes, Bytes) {
        (self.store.used(), self.store.limit())
    }
}
