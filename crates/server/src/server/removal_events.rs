//! Reports evicted and expired items to the clients that ask for them, by `watch evictions` of
//! memcached, client tracking, or keyspace notifications. Fields of hashes expire as well.

use super::audience::KeyRef;
use super::server::Server;
use super::watch_lines;
use crate::facts::event_classes::{EVICTED, EXPIRED, HASH};
use crate::services::monitors::EVICTIONS;
use crate::values::hash::View;
use store::{Item, RemovalCause};

/// Reports the removals since the last call. A new listener calls it first: from then on the store
/// notes removals.
pub(crate) fn tell(server: &Server) {
    let (tracked, view) = (server.audience.tracking.is_active(), server.view.now());
    let told = view.settings.notify & (EXPIRED | EVICTED | HASH) != 0;
    if !tracked && !told && !server.audience.monitors.is_wanted(EVICTIONS) {
        if server.audience.set_notes_removals(false) {
            server.store.stop_removals();
            server.audience.tracking.forget_deaths();
        }
        return;
    }
    server.audience.set_notes_removals(true);
    let mut all = vec![];
    let lost = server.store.take_removals(&mut all);
    let (audience, mailboxes) = (&server.audience, server.clients.mailboxes());
    for left in &all {
        if left.cause == RemovalCause::Evicted {
            let (now, times) = (server.clock.now(), || server.idle_times(server.clock.now()));
            watch_lines::eviction(&audience.monitors, mailboxes, left, now, times);
        }
        if tracked {
            server.audience.tracking.changed(server.clients.mail(), 0, left.tenant, &left.key);
        }
        let (class, event) = if left.cause == RemovalCause::Evicted {
            (EVICTED, "evicted")
        } else {
            (EXPIRED, "expired")
        };
        let place = KeyRef { tenant: left.tenant, db: left.db, key: &left.key };
        audience.notify(mailboxes, &view.settings, class, event, place);
    }
    if tracked || view.settings.notify & HASH != 0 {
        tell_of_fields(server, &view);
    }
    if tracked {
        if lost > 0 {
            server.audience.tracking.forget_all(server.clients.mail(), None);
        }
        server.tell_pending();
    }
}

/// Reports the hashes of which a field has expired by now.
fn tell_of_fields(server: &Server, view: &crate::server::View) {
    let (audience, mailboxes) = (&server.audience, server.clients.mailboxes());
    let (now, max) = (server.clock.now(), view.settings.tracking_max_keys);
    for (tenant, db, bytes) in server.audience.tracking.due(now.unix_ms) {
        let key = server.store.key(tenant, db, &bytes);
        // If another client wrote the hash meanwhile, it has removed the expired field and reported
        // it.
        let is_dead =
            |item: &Item<'_>| View::of(item).is_some_and(|hash| hash.has_dead(now.unix_ms));
        if server.store.peek(&key, now, is_dead) == Some(true) {
            server.audience.tracking.changed(server.clients.mail(), 0, tenant, &bytes);
            let place = KeyRef { tenant, db, key: &bytes };
            audience.notify(mailboxes, &view.settings, HASH, "hexpired", place);
        }
        audience.note_death(server.clients.mail(), &server.store, max, &key, now);
    }
}
