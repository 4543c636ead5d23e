//! HTTP requests that reach the wrong port.
//!
//! A web page can make a browser send any body to a port of this machine, behind lines of HTTP.
//! This protocol takes each line as a command, so it would run the lines of the body. So the first
//! line that only HTTP can have closes the connection, as in Redis.

use crate::call::Call;

/// Whether a refused command is the first line of an HTTP request, or its `Host:`.
#[cold]
pub(crate) fn is_http(call: &Call<'_>) -> bool {
    let last = call.args.get(call.args.len() - 1).unwrap_or_default();
    call.is(0, "post") || call.is(0, "host:") || last.starts_with(b"HTTP/")
}

/// Closes the connection without a reply, and logs it.
#[cold]
pub(crate) fn close(call: &mut Call<'_>) {
    call.session.closing = true;
    if call.server.stats.http_at_redis.count(call.now.micros.0 / 1_000).is_some() {
        tracing::warn!(
            "closed client {}: it sent an HTTP request to a port of Redis' protocol, as a web page \
             can make a browser do; set bind and requirepass to keep such pages out",
            call.session.client.address
        );
    }
}
