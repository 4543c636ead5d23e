//! Reports evicted and expired items to the clients that ask for them, by `watch evictions` of
//! memcached, client tracking, or keyspace notifications. Fields of hashes expire as well.

use super::Server;
use super::{audience, field_expiry, watch_lines};
use crate::facts::event_classes::{EVICTED, EXPIRED, HASH};
use crate::services::monitors::EVICTIONS;
use crate::values::hash::View;
use std::sync::atomic::Ordering;
use store::{Item, RemovalCause};

/// Reports the removals since the last call. A new listener calls it first: from then on the store
/// notes removals.
pub(crate) fn tell(server: &Server) {
    let (tracked, view) = (server.tracking.is_active(), server.view());
    let told = view.settings.notify & (EXPIRED | EVICTED | HASH) != 0;
    if !tracked && !told && !server.monitors.is_wanted(EVICTIONS) {
        if server.removals_noted.swap(false, Ordering::Relaxed) {
            server.store.stop_removals();
            server.tracking.forget_deaths();
        }
        return;
    }
    server.removals_noted.store(true, Ordering::Relaxed);
    let mut all = vec![];
    let lost = server.store.take_removals(&mut all);
    for left in &all {
        if left.cause == RemovalCause::Evicted {
            watch_lines::eviction(server, left);
        }
        if tracked {
            server.tracking.changed(server.mail(), 0, left.tenant, &left.key);
        }
        let (class, event) = if left.cause == RemovalCause::Evicted {
            (EVICTED, "evicted")
        } else {
            (EXPIRED, "expired")
        };
        let place = audience::KeyRef { tenant: left.tenant, db: left.db, key: &left.key };
        audience::tell(server, &view, class, event, place);
    }
    if tracked || view.settings.notify & HASH != 0 {
        tell_of_fields(server, &view);
    }
    if tracked {
        if lost > 0 {
            server.tracking.forget_all(server.mail(), None);
        }
        server.tell_pending();
    }
}

/// Reports the hashes of which a field has expired by now.
fn tell_of_fields(server: &Server, view: &crate::server::View) {
    let (now, max) = (server.clock.now(), view.settings.tracking_max_keys);
    for (tenant, db, bytes) in server.tracking.due(now.unix_ms) {
        let key = server.store.key(tenant, db, &bytes);
        // If another client wrote the hash meanwhile, it has removed the expired field and reported
        // it.
        let is_dead =
            |item: &Item<'_>| View::of(item).is_some_and(|hash| hash.has_dead(now.unix_ms));
        if server.store.peek(&key, now, is_dead) == Some(true) {
            server.tracking.changed(server.mail(), 0, tenant, &bytes);
            let place = audience::KeyRef { tenant, db, key: &bytes };
            audience::tell(server, view, HASH, "hexpired", place);
        }
        field_expiry::note_death(server, max, &key, now);
    }
}
