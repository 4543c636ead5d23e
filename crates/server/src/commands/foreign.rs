//! Requests of HTTP that reach the wrong port.
//!
//! A page can make a browser send any body to a port of this machine, with lines of HTTP before
//! it. To this protocol each line is a command, and those of the body would be carried out. So the
//! first line that only HTTP has closes the connection, as in Redis.

use super::Call;

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
    if call.shared.stats.http_at_redis.count(call.now.micros.0 / 1_000).is_some() {
        tracing::warn!(
            "client {} is closed: it sent a request of HTTP to a port of Redis' protocol, as a web \
             page can make a browser do; bind and requirepass keep such pages out",
            call.session.client.address
        );
    }
}
