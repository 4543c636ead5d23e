//! Items that leave by themselves, evicted or dead of age, and who is told: memcached's `watch
//! evictions`, and clients that track what they have read.

use crate::hub::EVICTIONS;
use crate::memcached;
use crate::shared::Shared;
use store::Cause;

/// Tells of what left since the last call. `noted` is whether the store notes it.
pub(crate) fn tell(shared: &Shared, noted: &mut bool) {
    let tracked = shared.tracking.is_active();
    if !tracked && !shared.hub.is_wanted(EVICTIONS) {
        if std::mem::take(noted) {
            shared.store.forget_departed();
        }
        return;
    }
    *noted = true;
    let mut all = vec![];
    let lost = shared.store.departed(&mut all);
    for left in &all {
        if left.cause == Cause::Evicted {
            memcached::show_eviction(shared, left);
        }
        if tracked {
            shared.tracking.changed(shared, 0, left.tenant, &left.key);
        }
    }
    if lost > 0 && tracked {
        shared.tracking.forget_all(shared, None);
    }
}
