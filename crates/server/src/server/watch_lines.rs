//! Lines for memcached's watchers about connections and evictions.

use super::server::Server;
use crate::facts::Speaks;
use crate::services::clients::Client;
use crate::services::clock::Clock;
use crate::services::monitors::{CONNEVENTS, EVICTIONS};
use crate::text::percent::escaped;
use std::io::Write;
use store::Removal;

/// The beginning of a line: the time, the number of the line, and the kind of event.
pub(crate) fn head(server: &Server, kind: &str) -> Vec<u8> {
    let now = Clock::unix_us();
    let (seconds, micros, gid) = (now / 1_000_000, now % 1_000_000, server.monitors.next_line());
    format!("ts={seconds}.{micros:06} gid={gid} type={kind}").into_bytes()
}

/// Shows that a client has connected, or that it has disconnected and why.
pub(crate) fn connection(server: &Server, client: &Client, left: Option<&str>) {
    if !server.monitors.is_wanted(CONNEVENTS) || client.speaks != Speaks::Memcached {
        return;
    }
    let mut line = head(server, if left.is_some() { "conn_close" } else { "conn_new" });
    let (ip, port) = client.address.rsplit_once(':').unwrap_or((&client.address, "0"));
    let (ip, transport) = if client.listener == 0 { ("unix", "local") } else { (ip, "tcp") };
    let _ = write!(line, " rip={ip} rport={port} transport={transport}");
    if let Some(reason) = left {
        let _ = write!(line, " reason={reason}");
    }
    let _ = writeln!(line, " cfd={}", client.fd);
    server.monitors.show(&server.mailboxes, CONNEVENTS, None, &line);
}

/// Shows that an item was evicted.
pub(crate) fn eviction(server: &Server, left: &Removal) {
    if !server.monitors.is_wanted(EVICTIONS) {
        return;
    }
    let mut line = head(server, "eviction");
    line.extend_from_slice(b" key=");
    escaped(&mut line, &left.key);
    let now = server.clock.now();
    let fetched = if left.hits > 0 { "yes" } else { "no" };
    let ttl = left.expires.map(|at| at.saturating_sub(now.unix_ms) / 1_000);
    let ttl = ttl.map_or_else(|| "-1".to_owned(), |seconds| seconds.to_string());
    let (idle, size) = (server.idle_times(now).of(left.idle), left.size);
    let _ = writeln!(line, " fetch={fetched} ttl={ttl} la={idle} clsid=1 size={size}");
    server.monitors.show(&server.mailboxes, EVICTIONS, None, &line);
}
