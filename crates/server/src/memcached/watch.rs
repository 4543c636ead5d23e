//! `watch`: a line for each event of other clients, in memcached's form.
//!
//! ```text
//! ts=1786477627.620824 gid=4 type=item_get key=foo%3Abar status=found clsid=1 cfd=28 size=5
//! ```
//!
//! `larder curve` and `larder simulate` can read these lines. The store reports evictions ten times
//! a second, so their lines come a little later.
//!
//! A watcher that reads too slowly stays connected, but lines are left out. After it has read the
//! waiting ones, it gets their number (`skipped=N`).

use super::request::{Ask, Done, Expiry};
use super::write::Outcome;
use crate::server::removal_events;
use crate::server::watch_lines::head;
use crate::services::monitors::{CONNEVENTS, DELETIONS, EVICTIONS, FETCHERS, MUTATIONS};
use crate::text::percent::escaped;
use base::Filter;
use std::io::Write;
use store::Key;

/// The result of a store command.
#[derive(Clone, Copy, Debug)]
pub(super) enum Status {
    Done(Outcome),
    TooLarge,
    NoMemory,
}

impl Status {
    /// The status of a write that the store refused.
    pub(super) const fn of(error: store::Error) -> Self {
        match error {
            store::Error::Full => Self::NoMemory,
            store::Error::TooLarge { .. } | store::Error::TooLong { .. } => Self::TooLarge,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Done(Outcome::Stored) => "stored",
            Self::Done(Outcome::NotStored) => "not_stored",
            Self::Done(Outcome::Exists) => "exists",
            Self::Done(Outcome::NotFound) => "not_found",
            Self::TooLarge => "too_large",
            Self::NoMemory => "no_memory",
        }
    }
}

pub(super) fn watch(ask: &mut Ask<'_>) -> Done {
    if !ask.view.settings.memcached_watch {
        return Err("CLIENT_ERROR watch commands not allowed");
    }
    let mut wants = 0;
    for word in ask.request.iter_from(1) {
        wants |= match word {
            b"fetchers" => FETCHERS,
            b"mutations" => MUTATIONS,
            b"deletions" => DELETIONS,
            b"connevents" => CONNEVENTS,
            b"evictions" => EVICTIONS,
            // Known words without lines here: raw commands, and memcached's own threads.
            b"rawcmds" | b"sysevents" => 0,
            _ => return Err("ERROR"),
        };
    }
    if ask.request.len() == 1 {
        wants = FETCHERS;
    }
    let client = &ask.session.client;
    ask.server.audience.monitors.join(client.id, client.place, wants, Filter::ALL);
    if wants & EVICTIONS != 0 {
        // Evictions are noted from here on.
        removal_events::tell(ask.server);
    }
    ask.session.watching = true;
    ask.line("OK")
}

/// The beginning of a line about a key.
fn begin(ask: &Ask<'_>, kind: &str, key: &[u8]) -> Vec<u8> {
    let mut line = head(&ask.server.audience.monitors, kind);
    line.extend_from_slice(b" key=");
    escaped(&mut line, key);
    line
}

pub(super) fn fetch(ask: &Ask<'_>, key: &Key<'_>, found: Option<usize>) {
    if !ask.server.audience.monitors.is_wanted(FETCHERS) {
        return;
    }
    let mut line = begin(ask, "item_get", key.bytes);
    let status = if found.is_some() { "found" } else { "not_found" };
    let (class, size) = (u8::from(found.is_some()), found.unwrap_or(0));
    let fd = ask.session.client.fd;
    let _ = writeln!(line, " status={status} clsid={class} cfd={fd} size={size}");
    ask.server.audience.monitors.show(ask.server.clients.mailboxes(), FETCHERS, None, &line);
}

/// Shows a store command, with the size of the value in bytes.
pub(super) fn store(
    ask: &Ask<'_>,
    key: &Key<'_>,
    verb: &str,
    status: Status,
    life: Expiry,
    size: usize,
) {
    if !ask.server.audience.monitors.is_wanted(MUTATIONS) {
        return;
    }
    let mut line = begin(ask, "item_store", key.bytes);
    let ttl = life.ends().map_or(0, |at| at.saturating_sub(ask.now.unix_ms) / 1_000);
    let (status, fd) = (status.word(), ask.session.client.fd);
    let _ = writeln!(line, " status={status} cmd={verb} ttl={ttl} clsid=1 cfd={fd} size={size}");
    ask.server.audience.monitors.show(ask.server.clients.mailboxes(), MUTATIONS, None, &line);
}

/// Shows the removal of a value of `size` bytes.
pub(super) fn deleted(ask: &Ask<'_>, key: &Key<'_>, verb: &str, size: usize) {
    if !ask.server.audience.monitors.is_wanted(DELETIONS) {
        return;
    }
    let mut line = begin(ask, "deleted", key.bytes);
    let fd = ask.session.client.fd;
    let _ = writeln!(line, " cmd={verb} clsid=1 cfd={fd} size={size}");
    ask.server.audience.monitors.show(ask.server.clients.mailboxes(), DELETIONS, None, &line);
}
