//! `watch`: a line for what other clients do, as memcached writes it.
//!
//! ```text
//! ts=1786477627.620824 gid=4 type=item_get key=foo%3Abar status=found clsid=1 cfd=28 size=5
//! ```
//!
//! What is written so can be read back by `larder curve` and `larder simulate`. Evictions are not
//! among it: the store does not say whom it evicts.

use super::{Ask, Done, Life, dump};
use crate::clock::Clock;
use crate::hub::{DELETIONS, FETCHERS, MUTATIONS};
use base::Filter;
use std::io::Write;
use store::Key;

pub(super) fn watch(ask: &mut Ask<'_>) -> Done {
    let mut wants = 0;
    for word in ask.request.iter_from(1) {
        wants |= match word {
            b"fetchers" => FETCHERS,
            b"mutations" => MUTATIONS,
            b"deletions" => DELETIONS,
            _ => return Err("ERROR"),
        };
    }
    if wants == 0 {
        wants = FETCHERS;
    }
    let client = &ask.session.client;
    ask.shared.hub.join(client.id, client.place, wants, Filter::ALL);
    ask.session.watching = true;
    ask.line("OK")
}

/// The beginning of a line.
fn begin(ask: &Ask<'_>, kind: &str, key: &[u8]) -> Vec<u8> {
    let now = Clock::unix_us();
    let (seconds, micros, gid) = (now / 1_000_000, now % 1_000_000, ask.shared.hub.next_line());
    let mut line = format!("ts={seconds}.{micros:06} gid={gid} type={kind} key=").into_bytes();
    dump::escaped(&mut line, key);
    line
}

pub(super) fn fetch(ask: &Ask<'_>, key: &Key<'_>, found: Option<usize>) {
    if !ask.shared.hub.is_wanted(FETCHERS) {
        return;
    }
    let mut line = begin(ask, "item_get", key.bytes);
    let status = if found.is_some() { "found" } else { "not_found" };
    let (class, size) = (u8::from(found.is_some()), found.unwrap_or(0));
    let fd = ask.session.client.fd;
    let _ = write!(line, " status={status} clsid={class} cfd={fd} size={size}\r\n");
    ask.shared.hub.show(ask.shared, FETCHERS, None, &line);
}

pub(super) fn store(
    ask: &Ask<'_>,
    key: &Key<'_>,
    verb: &[u8],
    stored: bool,
    life: Life,
    size: usize,
) {
    if !ask.shared.hub.is_wanted(MUTATIONS) {
        return;
    }
    let mut line = begin(ask, "item_store", key.bytes);
    let status = if stored { "stored" } else { "not_stored" };
    let ttl = life.expires().map_or(0, |at| at.saturating_sub(ask.now.unix_ms) / 1_000);
    let (verb, fd) = (String::from_utf8_lossy(verb), ask.session.client.fd);
    let _ = write!(line, " status={status} cmd={verb} ttl={ttl} clsid=1 cfd={fd} size={size}\r\n");
    ask.shared.hub.show(ask.shared, MUTATIONS, None, &line);
}

pub(super) fn deleted(ask: &Ask<'_>, key: &Key<'_>, verb: &[u8]) {
    if !ask.shared.hub.is_wanted(DELETIONS) {
        return;
    }
    let mut line = begin(ask, "deleted", key.bytes);
    let (verb, fd) = (String::from_utf8_lossy(verb), ask.session.client.fd);
    let _ = write!(line, " cmd={verb} clsid=1 cfd={fd} size=0\r\n");
    ask.shared.hub.show(ask.shared, DELETIONS, None, &line);
}
