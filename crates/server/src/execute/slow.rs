//! Logs of commands that took long or had many bytes, and counts of the keys of timed commands.

use crate::call::Call;
use crate::facts::flag::SECRET;
use crate::facts::table::{find, get};
use crate::server::{Logs, View};
use crate::services::clients::Client;
use crate::services::stats;

/// Whether a command's arguments may be secrets.
pub(crate) fn is_secret(name: &[u8]) -> bool {
    find(name).is_some_and(|number| get(number).has(SECRET))
}

/// Adds a command to the slow log if it took long, alone or as the largest of `together` commands.
pub(crate) fn note_slow(
    logs: &Logs,
    view: &View,
    client: &Client,
    args: &[&[u8]],
    micros: u64,
    together: usize,
) {
    let settings = &view.settings;
    let name = args.first().copied().unwrap_or_default();
    if settings.is_slow(micros) && !is_secret(name) {
        let more = format!("... (timed together with {} others)", together.max(1) - 1);
        let mut args = args.to_vec();
        if together > 1 {
            args.push(more.as_bytes());
        }
        logs.slow.add(client, args.into_iter(), micros, settings.slowlog_max_len);
    }
}

/// Logs a command with many bytes, or with many bytes in its reply.
#[cold]
pub(crate) fn note_large(call: &Call<'_>, request: usize, reply: usize) {
    let (settings, logs) = (&call.view.settings, &call.server.logs);
    if is_secret(call.arg(0)) {
        return;
    }
    for (log, bytes, from, max) in [
        (&logs.large_requests, request, settings.large_request, settings.large_request_max_len),
        (&logs.large_replies, reply, settings.large_reply, settings.large_reply_max_len),
    ] {
        if from >= 0 && bytes as u64 >= from as u64 {
            let args: Vec<&[u8]> = call.args.iter_from(0).collect();
            log.add(&call.session.client, args.into_iter(), bytes as u64, max);
        }
    }
}

/// Counts the keys of a command in a timed batch.
#[cold]
pub(crate) fn note_keys(call: &Call<'_>, counters: &stats::Worker, number: u16) {
    let places = get(number).key_places(call.args.len(), |at| call.args.get(at));
    if places.len() > 0
        && let Some(mut hottest) = counters.hottest_now()
    {
        for at in places {
            let key = call.arg(at);
            hottest.note(call.session.owners.of(key), key);
        }
    }
}
