//! Expiries of fields of hashes, noted for clients that must hear of them.

use super::server::Server;
use crate::values::hash::View;
use store::{Item, Now};

/// Notes the next expiry of a field of this key, if it is a hash with such fields. At most `max`
/// keys are noted.
pub(crate) fn note_death(server: &Server, max: usize, key: &store::Key<'_>, now: Now) {
    let next = |item: &Item<'_>| View::of(item)?.next_death(now.unix_ms);
    if let Some(at) = server.store.peek(key, now, next).flatten() {
        server.tracking.dies(server.mail(), max, at, key);
    }
}
