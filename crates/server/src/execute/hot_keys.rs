//! HOTKEYS: counts the keys of commands while a session runs.

use crate::call::Call;
use crate::facts::table::{find, get};
use crate::services::hot_keys::Cost;

/// Counts a command that has run.
#[cold]
pub(crate) fn note(call: &Call<'_>, cost: Cost) {
    let Some(number) = find(call.arg(0)) else {
        return;
    };
    let places = get(number).key_places(call.args.len(), |at| call.args.get(at));
    call.server.stats.hot_keys.note(places.map(|at| call.arg(at)), cost);
}
