//! Events about keys that do not exist: a read missed one, or a write made one.

use crate::call::Call;
use crate::facts::event_classes::{MISS, NEW};
use crate::facts::{Facts, flag, table};
use crate::server::View;

/// Whether the settings ask for events about reads without a result, or about new keys.
#[inline]
pub(super) fn looks_for_missing(view: &View) -> bool {
    view.settings.notify & (MISS | NEW) != 0
}

/// The positions of a command's keys that do not exist before it runs.
pub(super) fn before(call: &Call<'_>) -> Vec<usize> {
    let command = table::find(call.arg(0)).map(table::get);
    let runs = |command: &&Facts| call.session.transaction.is_none() && !command.has(flag::CARRIES);
    let Some(command) = command.filter(runs) else {
        return vec![];
    };
    let places = command.key_places(call.args.len(), |at| call.args.get(at));
    places.filter(|&at| at < call.args.len() && is_missing(call, call.arg(at))).collect()
}

fn is_missing(call: &Call<'_>, key: &[u8]) -> bool {
    call.server.store.glance(&call.key(key), call.now, |_| ()).is_none()
}

/// Sends events for the keys at `places`, which were missing: a miss if the command read them, or
/// new if they exist now.
pub(super) fn after(call: &Call<'_>, places: &[usize]) {
    let Some(command) = table::find(call.arg(0)).map(table::get) else {
        return;
    };
    for &at in places {
        let key = call.arg(at);
        if command.has(flag::READ) {
            call.event(MISS, "keymiss", key);
        } else if !is_missing(call, key) {
            call.event(NEW, "new", key);
        }
    }
}
