//! The settings at one moment, and values computed from them.
//!
//! Settings are a value that is replaced as a whole. A new [`View`] is published with a generation
//! number, and each worker adopts it between two batches. So a command sees one set of settings,
//! and reading a setting costs nothing.

use crate::settings::cluster::Cluster;
use crate::settings::config::{Settings, TenantConfig};
use crate::settings::memcached_tokens::Tokens;
use base::{Bytes, TenantId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use store::{Bounds, Evictable, Store};
use tune::tenant::{Origin, Owners};

/// The settings at one moment, and values computed from them.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) settings: Settings,
    /// The name of each tenant by its number. Tenants are never renumbered.
    pub(crate) names: Vec<String>,
    pub(super) numbers: HashMap<String, TenantId>,
    /// The owners of the slots; `None` outside of a cluster.
    pub(crate) cluster: Option<Arc<Cluster>>,
    /// The certificates; `None` if no port uses TLS.
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
    /// The passwords of memcached's protocol.
    pub(crate) tokens: Arc<Tokens>,
    /// The number of changes so far.
    pub(crate) generation: u64,
}

impl View {
    /// The tenants in the order of the configuration, with their numbers.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = (TenantId, &TenantConfig)> {
        self.settings.tenants.iter().map(|tenant| (self.numbers[&tenant.name], tenant))
    }

    /// The number of the tenant with this name.
    pub(crate) fn number(&self, name: &str) -> Option<TenantId> {
        self.numbers.get(name).copied()
    }

    /// The configuration of the tenant with this number; one without bounds if its line is gone.
    pub(crate) fn tenant(&self, number: TenantId) -> TenantConfig {
        let name = &self.names[number as usize];
        let found = self.settings.tenants.iter().find(|tenant| tenant.name == *name);
        found
            .cloned()
            .unwrap_or_else(|| TenantConfig { name: name.clone(), ..TenantConfig::fallback() })
    }

    /// The tenants that own a client's keys.
    pub(crate) fn owners(&self, origin: Origin<'_>) -> Owners {
        Owners::new(self.tenants(), origin)
    }

    /// The maximum of a tenant's memory.
    pub(crate) fn max_of(&self, number: TenantId) -> Option<Bytes> {
        let name = self.names.get(usize::from(number))?;
        self.settings.tenants.iter().find(|tenant| tenant.name == *name)?.max
    }

    /// The mode in the replies of HELLO and INFO.
    pub(crate) const fn mode(&self) -> &'static str {
        if self.cluster.is_some() { "cluster" } else { "standalone" }
    }

    /// Whether no item can be evicted for another: the policy does not evict, or there can be no
    /// item that it may evict.
    pub(crate) fn nothing_leaves(&self, store: &Store) -> bool {
        let policy = self.settings.maxmemory_policy;
        let is_picky = policy.evictable() != Evictable::Any;
        !policy.evicts() || is_picky && !store.may_expire()
    }

    pub(super) fn bounds(&self, number: TenantId) -> Bounds {
        let tenant = self.tenant(number);
        Bounds { min: tenant.min, max: tenant.max }
    }

    pub(super) fn name_tenants(&mut self) {
        for tenant in &self.settings.tenants {
            if !self.numbers.contains_key(&tenant.name) {
                self.numbers.insert(tenant.name.clone(), self.names.len() as TenantId);
                self.names.push(tenant.name.clone());
            }
        }
    }
}

/// The settings in force.
#[derive(Debug)]
pub(crate) struct Views {
    now: RwLock<Arc<View>>,
    /// The generation of the settings in force, so that a worker sees a change at one load.
    generation: AtomicU64,
    /// Locked while settings change.
    changing: Mutex<()>,
    /// The thread that deletes the items of slots that moved to other servers.
    emptying: Mutex<Option<JoinHandle<()>>>,
}

impl Views {
    pub(super) fn new(view: View) -> Self {
        let generation = AtomicU64::new(view.generation);
        let (changing, emptying) = (Mutex::new(()), Mutex::default());
        Self { now: RwLock::new(Arc::new(view)), generation, changing, emptying }
    }

    /// The settings in force.
    pub(crate) fn now(&self) -> Arc<View> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The settings in force, if they are newer than `known`.
    #[inline]
    pub(crate) fn newer(&self, known: &View) -> Option<Arc<View>> {
        (self.generation.load(Ordering::Acquire) != known.generation).then(|| self.now())
    }

    /// Prevents changes of settings while the guard is held.
    pub(crate) fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts new settings in force.
    pub(super) fn publish(&self, new: Arc<View>) {
        let generation = new.generation;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = new;
        self.generation.store(generation, Ordering::Release);
    }

    /// The thread that deletes the items of slots that moved to other servers.
    pub(super) fn emptying(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.emptying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
