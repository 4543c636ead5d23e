//! Events about keys that do not exist: a read missed one, or a write made one.

use crate::call::Call;
use crate::facts::event_classes::{MISS, NEW};
use crate::facts::{Facts, flag, table};
use crate::server::View;

/// Whether the settings ask for events about reads without a result, or about new keys.
#[inline]
pub(crate) fn looks_for_absent(view: &View) -> bool {
    view.settings.notify & (MISS | NEW) != 0
}

/// The keys of a command that do not exist before it runs.
pub(crate) fn before<'a>(call: &Call<'a>) -> Vec<&'a [u8]> {
    let command = table::find(call.arg(0)).map(table::get);
    let runs = |command: &&Facts| call.session.transaction.is_none() && !command.has(flag::CARRIES);
    let Some(command) = command.filter(runs) else {
        return vec![];
    };
    let places = command
        .key_places(call.args.len(), |at| call.args.get(at))
        .filter(|&at| at < call.args.len());
    let is_absent =
        |key: &&[u8]| call.server.store.peek(&call.key(key), call.now, |_| ()).is_none();
    places.map(|at| call.arg(at)).filter(is_absent).collect()
}

/// Sends events for the `absent` keys: a miss if the command read them, or new if they exist now.
pub(crate) fn after(call: &Call<'_>, absent: &[&[u8]]) {
    let Some(command) = table::find(call.arg(0)).map(table::get) else {
        return;
    };
    for key in absent {
        if command.has(flag::READ) {
            call.event(MISS, "keymiss", key);
        } else if call.server.store.peek(&call.key(key), call.now, |_| ()).is_some() {
            call.event(NEW, "new", key);
        }
    }
}
