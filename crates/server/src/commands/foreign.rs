//! Requests of HTTP that reach the wrong port.
//!
//! A page can make a browser send any body to a port of this machine, with lines of HTTP before
//! it. To this protocol each line is a command, and those of the body would be carried out. So the
//! first line that only HTTP has closes the connection, as in Redis.

use super::Call;
use std::sync::atomic::Ordering;

/// One line of the log in so many seconds.
const SAID_EVERY: u64 = 60;

/// Whether a command that is refused begins a request of HTTP, or is its `Host:`.
#[cold]
pub(super) fn is_http(call: &Call<'_>) -> bool {
    let last = call.args.get(call.args.len() - 1).unwrap_or_default();
    call.is(0, "post") || call.is(0, "host:") || last.starts_with(b"HTTP/")
}

/// Closes the connection, without a reply, and says so.
#[cold]
pub(super) fn close(call: &mut Call<'_>) {
    call.session.closing = true;
    let now = call.now.micros.0 / 1_000_000;
    let said = &call.shared.stats.http_said;
    let before = said.load(Ordering::Relaxed);
    let is_first = before == 0 || now >= before + SAID_EVERY;
    if is_first && said.swap(now.max(1), Ordering::Relaxed) == before {
        tracing::warn!(
            "client {} is closed: it sent a request of HTTP to a port of Redis' protocol, as a web \
             page can make a browser do; bind and requirepass keep such pages out",
            call.session.client.address
        );
    }
}
