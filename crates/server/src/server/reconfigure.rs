//! Changes of settings while the server runs, and what follows from them.

use super::removal_events;
use super::server::Server;
use super::view::View;
use crate::services::mail::Message;
use crate::settings::cluster::Cluster;
use crate::settings::config::{self, Settings};
use crate::settings::memcached_tokens::Tokens;
use crate::settings::{certificates, fd_limit, log, pools};
use base::TenantId;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Now, Scope, Store};
use tune::tenant::Finders;
use wire::slots::slot;

/// After this time each thread has seen a change of slots, and writes no more to slots that moved
/// away.
const SETTLES: Duration = Duration::from_millis(100);

/// Deletes the items of slots that this server does not own. It visits every item, so it runs on a
/// thread of its own.
fn empty_slots(store: &Store, cluster: &Cluster, now: Now) {
    let (mut lost, mut cursor) = (vec![], 0);
    loop {
        cursor = store.scan(Scope::ALL, cursor, 1_000, now, |found| {
            if !cluster.is_mine(slot(found.key)) {
                lost.push((found.tenant, found.db, found.key.to_vec()));
            }
        });
        for (tenant, db, key) in lost.drain(..) {
            store.delete(&store.key(tenant, db, &key), now);
        }
        if cursor == 0 {
            return;
        }
    }
}

impl Server {
    /// Changes settings: applies everything that `change` does, or nothing.
    pub(crate) fn change<E: From<config::Error>>(
        &self,
        change: impl FnOnce(&mut Settings) -> Result<(), E>,
    ) -> Result<(), E> {
        let _alone = self.view.lock_changes();
        let old = self.view.now();
        let mut new = View::clone(&old);
        change(&mut new.settings)?;
        new.settings.check()?;
        if new.settings.files_generation != old.settings.files_generation {
            let settings = &new.settings;
            new.cluster = Cluster::load(&settings.cluster_config, &settings.cluster_node)?;
            new.tls = certificates::load(&new.settings)?;
            new.tokens = Arc::new(Tokens::read(&settings.memcached_auth_file)?);
            if let Some(wrong) = new.settings.unreadable_tls() {
                return Err(config::Error(wrong).into());
            }
        }
        if new.settings.dir != old.settings.dir && !Path::new(&new.settings.dir).is_dir() {
            let dir = &new.settings.dir;
            let wrong = format!("dir {dir} is not a folder: create it, or name another");
            return Err(config::Error(wrong).into());
        }
        let connections = |settings: &Settings| (settings.maxclients, settings.http_maxclients);
        if connections(&new.settings) != connections(&old.settings) {
            fd_limit::check(&new.settings)?;
        }
        let old_warnings = old.settings.warnings();
        for warning in
            new.settings.warnings().iter().filter(|warning| !old_warnings.contains(warning))
        {
            tracing::warn!("{warning}");
        }
        new.generation += 1;
        new.name_tenants();
        for number in 0..new.names.len() as TenantId {
            if usize::from(number) >= old.names.len() {
                self.store.add_tenant(new.bounds(number));
            } else if new.bounds(number) != old.bounds(number) {
                self.store.set_bounds(number, new.bounds(number));
            }
            self.store.set_hinted(number, new.tenant(number).hinted);
        }
        self.store.set_max_item(new.settings.proto_max_bulk_len);
        if new.settings.maxmemory != old.settings.maxmemory {
            let (limit, store) = (new.settings.maxmemory, &self.store);
            store.set_limit(limit);
            if store.is_coarse_for(limit, &new.settings.slab) {
                tracing::warn!(
                    "maxmemory {limit} is low for the page size that the server chose when it \
                     started: after a restart, this limit holds more items"
                );
            }
        }
        self.store.set_evictable(new.settings.maxmemory_policy.evictable());
        self.store.set_admission(new.settings.admission);
        if new.settings.compression != old.settings.compression {
            self.store.set_compression(new.settings.compression);
            self.compressor.wake();
        }
        // With a pilot, the pools are the pilot's own. It sees the change at its next look.
        if !pools::is_steered(&new.settings) {
            self.store.set_pools(&pools::shared_pool(&new.settings, new.names.len()));
        }
        self.audience.tracking.limit(self.clients.mail(), new.settings.tracking_max_keys);
        let rules_changed = new.settings.tenants != old.settings.tenants;
        let slots_changed = new.cluster != old.cluster;
        if slots_changed && let Some(emptying) = self.view.emptying().take() {
            // A slot that comes back must be empty before it is served again.
            let _ = emptying.join();
        }
        let new = Arc::new(new);
        self.view.publish(new.clone());
        if new.settings.loglevel != old.settings.loglevel {
            log::set(new.settings.loglevel);
        }
        if new.settings.notify != old.settings.notify {
            removal_events::tell(self);
        }
        if new.settings.users != old.settings.users || new.tokens != old.tokens {
            for mailbox in self.clients.mailboxes() {
                mailbox.send(Message::Users);
            }
        }
        if rules_changed {
            self.forget_unfindable(&new);
        }
        if slots_changed {
            // Blocked clients that wait for keys of moved slots are redirected.
            self.clients.wake_workers();
            self.audience.tracking.forget_all(self.clients.mail(), None);
            *self.view.emptying() = new.cluster.clone().map(|cluster| {
                let (store, now) = (self.store.clone(), self.clock.now());
                std::thread::spawn(move || {
                    std::thread::sleep(SETTLES);
                    empty_slots(&store, &cluster, now);
                })
            });
        }
        Ok(())
    }

    /// Deletes the items that no client can reach any more, because their keys now belong to
    /// another tenant. If the rule came back, clients would get stale values.
    pub(crate) fn forget_unfindable(&self, view: &View) {
        let now = self.clock.now();
        for tenant in 0..view.names.len() as TenantId {
            self.store.forget_away(tenant);
        }
        let mut lost = vec![];
        let mut cursor = 0;
        let mut finders = Finders::new(view.tenants());
        loop {
            cursor = self.store.scan(Scope::ALL, cursor, 1_000, now, |found| {
                if !finders.find(found.tenant, found.db, found.key) {
                    lost.push((found.tenant, found.db, found.key.to_vec()));
                }
            });
            for (tenant, db, key) in lost.drain(..) {
                self.store.delete(&self.store.key(tenant, db, &key), now);
            }
            if cursor == 0 {
                break;
            }
        }
        self.audience.tracking.forget_all(self.clients.mail(), None);
    }
}
