//! Reports evicted and expired items to the clients that ask for them, by `watch evictions` of
//! memcached, client tracking, or keyspace notifications. Fields of hashes expire as well.

use crate::hash::View;
use crate::memcached;
use crate::monitors::EVICTIONS;
use crate::notify;
use crate::shared::Shared;
use std::sync::atomic::Ordering;
use store::{Item, Now, RemovalCause};

/// Reports the removals since the last call. A new listener calls it first: from then on the store
/// notes removals.
pub(crate) fn tell(shared: &Shared) {
    let (tracked, view) = (shared.tracking.is_active(), shared.view());
    let told = view.settings.notify & (notify::EXPIRED | notify::EVICTED | notify::HASH) != 0;
    if !tracked && !told && !shared.monitors.is_wanted(EVICTIONS) {
        if shared.removals_noted.swap(false, Ordering::Relaxed) {
            shared.store.stop_removals();
            shared.tracking.forget_deaths();
        }
        return;
    }
    shared.removals_noted.store(true, Ordering::Relaxed);
    let mut all = vec![];
    let lost = shared.store.take_removals(&mut all);
    for left in &all {
        if left.cause == RemovalCause::Evicted {
            memcached::show_eviction(shared, left);
        }
        if tracked {
            shared.tracking.changed(shared, 0, left.tenant, &left.key);
        }
        let (class, event) = if left.cause == RemovalCause::Evicted {
            (notify::EVICTED, "evicted")
        } else {
            (notify::EXPIRED, "expired")
        };
        let place = notify::Place { tenant: left.tenant, db: left.db, key: &left.key };
        notify::tell(shared, &view, class, event, place);
    }
    if tracked || view.settings.notify & notify::HASH != 0 {
        tell_of_fields(shared, &view);
    }
    if tracked {
        if lost > 0 {
            shared.tracking.forget_all(shared, None);
        }
        shared.tracking.tell_pending(shared);
    }
}

/// Reports the hashes of which a field has expired by now.
fn tell_of_fields(shared: &Shared, view: &crate::shared::View) {
    let (now, max) = (shared.clock.now(), view.settings.tracking_max_keys);
    for (tenant, db, bytes) in shared.tracking.due(now.unix_ms) {
        let key = shared.store.key(tenant, db, &bytes);
        // If another client wrote the hash meanwhile, it has removed the expired field and reported
        // it.
        let is_dead =
            |item: &Item<'_>| View::of(item).is_some_and(|hash| hash.has_dead(now.unix_ms));
        if shared.store.peek(&key, now, is_dead) == Some(true) {
            shared.tracking.changed(shared, 0, tenant, &bytes);
            let place = notify::Place { tenant, db, key: &bytes };
            notify::tell(shared, view, notify::HASH, "hexpired", place);
        }
        note_death(shared, max, &key, now);
    }
}

/// Notes the next expiry of a field of this key, if it is a hash with such fields. At most `max`
/// keys are noted.
pub(crate) fn note_death(shared: &Shared, max: usize, key: &store::Key<'_>, now: Now) {
    let next = |item: &Item<'_>| View::of(item)?.next_death(now.unix_ms);
    if let Some(at) = shared.store.peek(key, now, next).flatten() {
        shared.tracking.dies(shared, max, at, key);
    }
}
