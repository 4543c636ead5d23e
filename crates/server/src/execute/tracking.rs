//! Client-side caches: keys that a tracking client is about to read, and keys that a command has
//! changed.

use crate::call::Call;
use crate::facts::Facts;
use crate::facts::flag::{CARRIES, READ, WRITE};
use crate::facts::table::{find, get};
use crate::services::tracking::tell_of;
use crate::session::Mute;
use wire::resp::Protocol;

/// The command of the call if it has keys; `None` if it is queued in a transaction.
fn called(call: &Call<'_>) -> Option<&'static Facts> {
    if call.session.transaction.is_some() {
        return None;
    }
    find(call.arg(0)).map(get).filter(|command| command.keys.is_any() && !command.has(CARRIES))
}

/// Remembers the keys that a tracking client is about to read.
pub(crate) fn before(call: &Call<'_>) {
    let Some(tracks) = &call.session.tracks else {
        return;
    };
    let wanted = match (tracks.opt_in, tracks.opt_out) {
        (true, _) => tracks.caching == Some(true),
        (_, true) => tracks.caching != Some(false),
        _ => tracks.prefixes.is_none(),
    };
    let Some(command) = called(call).filter(|command| wanted && command.has(READ)) else {
        return;
    };
    for at in command
        .key_places(call.args.len(), |at| call.args.get(at))
        .filter(|&at| at < call.args.len())
    {
        let (id, key) = (call.session.client.id, call.arg(at));
        let (max, tenant) = (call.view.settings.tracking_max_keys, call.session.owners.of(key));
        call.server.audience.tracking.remember(call.server.clients.mail(), max, id, tenant, key);
        call.note_death(&call.key(key));
    }
}

/// Sends invalidations for the keys that a command has changed. Its reply begins at `mark`.
pub(crate) fn after(call: &mut Call<'_>, mark: usize) {
    let is_client = call.is(0, "client");
    if let Some(tracks) = &mut call.session.tracks
        && !is_client
        && call.session.transaction.is_none()
    {
        tracks.caching = None;
    }
    if call.session.flow.blocked().is_some() && call.out.mark() == mark {
        // The command waits, and has changed nothing yet.
        return;
    }
    let Some(command) = called(call).filter(|command| command.has(WRITE)) else {
        return;
    };
    for at in command
        .key_places(call.args.len(), |at| call.args.get(at))
        .filter(|&at| at < call.args.len())
    {
        let (id, key) = (call.session.client.id, call.arg(at));
        let tenant = call.session.owners.of(key);
        if call.server.audience.tracking.tell_others(call.server.clients.mail(), id, tenant, key) {
            // The invalidation goes behind the reply and before the next one, unless the reply is
            // part of another or is not sent.
            let session = &*call.session;
            let is_whole = !session.executing && !session.scripted;
            let is_muted = session.flow.blocked().is_some_and(|wait| wait.is_muted);
            let is_sent = session.mute == Mute::No && !is_muted;
            let at_once = is_whole && is_sent && session.protocol == Protocol::Resp3;
            tell_of(call.server.clients.mail(), id, key, at_once.then_some(&mut call.out));
        }
        call.note_death(&call.key(key));
    }
}
