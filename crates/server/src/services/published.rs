//! Results that threads publish: the pilot's status, and the last report.

use base::{Bytes, TenantId};
use report::Report;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tune::PoolStep;
use tune::pilot::{Replayed, SIZES, Status};
use tune::snapshot::Candidate;

/// The snapshot that the pilot published last.
#[derive(Debug, Default)]
pub(crate) struct PublishedStatus(Mutex<Arc<PilotSnapshot>>);

/// The results of the pilot at the end of an epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct PilotSnapshot {
    /// The pilot's status; `None` while the loop is off.
    pub(crate) status: Option<Status>,
    /// The pools in force; empty while the loop is off.
    pub(crate) pools: Vec<PoolStep>,
    /// The curves of each tenant, one for each policy.
    pub(crate) curves: Vec<(TenantId, Vec<Candidate>)>,
    /// Further results of the sampled keys, by tenant.
    pub(crate) told: Vec<SampleFacts>,
    /// Plays of recent requests at other sizes and under other policies.
    pub(crate) replayed: Option<Arc<Replayed>>,
}

/// Results of a tenant's sampled keys, beside its curves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleFacts {
    /// The share of reads of expired keys that twice the time to live would have answered.
    pub(crate) twice_the_ttl: Option<f64>,
    /// The number of sampled hits by the logarithm of the size.
    pub(crate) hits: [u32; SIZES],
}

impl PublishedStatus {
    /// The snapshot that was published last.
    pub(crate) fn shown(&self) -> Arc<PilotSnapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Publishes a snapshot.
    pub(crate) fn show(&self, shown: PilotSnapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(shown);
    }
}

impl PilotSnapshot {
    /// The memory and the policy of a tenant's pool, or of all pools that are its own. `None` while
    /// the loop is off, or if tenants share pools by size class.
    pub(crate) fn pool(&self, tenant: TenantId) -> Option<(Bytes, tune::Evictor)> {
        let own = |pool: &&PoolStep| {
            pool.tenants == [tenant] || pool.tenants.contains(&tenant) && pool.class.is_none()
        };
        let evictor = self.pools.iter().find(own)?.evictor;
        Some((self.pools.iter().filter(own).map(|pool| pool.budget).sum(), evictor))
    }

    /// The memory of the pools that belong to this tenant alone; `None` if it shares a pool.
    pub(crate) fn own_pool(&self, tenant: TenantId) -> Option<Bytes> {
        let own: Vec<_> = self.pools.iter().filter(|pool| pool.tenants == [tenant]).collect();
        (!own.is_empty()).then(|| own.iter().map(|pool| pool.budget).sum())
    }
}

/// The last report, and the time that reports took in this second.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(crate) second: u64,
    pub(crate) spent: Duration,
    pub(crate) last: Option<Arc<Report>>,
}
