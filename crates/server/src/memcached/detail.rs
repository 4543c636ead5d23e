//! `stats detail`: reads, hits, writes and removals by prefix of the key. A prefix ends at the
//! first colon, or at another byte that `memcached-delimiter` names.
//!
//! It is off until a client switches it on or the settings name the byte. Then every request takes
//! one lock.

use super::request::{Ask, Done};
use crate::services::memcached_detail::{DELETE, GET, HIT, SET};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

pub(super) fn get(ask: &Ask<'_>, key: &[u8], hit: bool) {
    ask.server.memcached.detail.add(
        &ask.view.settings,
        key,
        if hit { &[GET, HIT] } else { &[GET] },
    );
}

pub(super) fn set(ask: &Ask<'_>, key: &[u8]) {
    ask.server.memcached.detail.add(&ask.view.settings, key, &[SET]);
}

pub(super) fn delete(ask: &Ask<'_>, key: &[u8]) {
    ask.server.memcached.detail.add(&ask.view.settings, key, &[DELETE]);
}

/// `stats detail on|off|dump`.
pub(super) fn command(ask: &mut Ask<'_>) -> Done {
    if !ask.view.settings.memcached_dump {
        return Err("CLIENT_ERROR stats detail not allowed");
    }
    let detail = &ask.server.memcached.detail;
    match ask.request.get(2) {
        Some(b"on") => detail.on.store(true, Ordering::Relaxed),
        Some(b"off") => detail.on.store(false, Ordering::Relaxed),
        Some(b"dump") => {
            let counts = detail.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for (prefix, [get, hit, set, del]) in counts {
                let prefix = String::from_utf8_lossy(&prefix);
                ask.print(format_args!(
                    "PREFIX {prefix} get {get} hit {hit} set {set} del {del}\r\n"
                ));
            }
            return ask.line("END");
        }
        _ => return Err("CLIENT_ERROR usage: stats detail on|off|dump"),
    }
    ask.line("OK")
}
