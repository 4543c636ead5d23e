//! Lines for memcached's watchers about connections and evictions.

use crate::facts::Speaks;
use crate::services::clients::Client;
use crate::services::clock::Clock;
use crate::services::idle_time::IdleTimes;
use crate::services::mail::Mailbox;
use crate::services::monitors::{CONNEVENTS, EVICTIONS, Monitors};
use crate::text::percent::escaped;
use std::io::Write;
use store::{Now, Removal};

/// The beginning of a line: the time, the number of the line, and the kind of event.
pub(crate) fn head(monitors: &Monitors, kind: &str) -> Vec<u8> {
    let now = Clock::unix_us();
    let (seconds, micros, gid) = (now / 1_000_000, now % 1_000_000, monitors.next_line());
    format!("ts={seconds}.{micros:06} gid={gid} type={kind}").into_bytes()
}

/// Shows that a client has connected, or that it has disconnected and why.
pub(crate) fn connection(
    monitors: &Monitors,
    mailboxes: &[Mailbox],
    client: &Client,
    left: Option<&str>,
) {
    if !monitors.is_wanted(CONNEVENTS) || client.speaks != Speaks::Memcached {
        return;
    }
    let mut line = head(monitors, if left.is_some() { "conn_close" } else { "conn_new" });
    let (ip, port) = client.address.rsplit_once(':').unwrap_or((&client.address, "0"));
    let (ip, transport) = if client.listener == 0 { ("unix", "local") } else { (ip, "tcp") };
    let _ = write!(line, " rip={ip} rport={port} transport={transport}");
    if let Some(reason) = left {
        let _ = write!(line, " reason={reason}");
    }
    let _ = writeln!(line, " cfd={}", client.fd);
    monitors.show(mailboxes, CONNEVENTS, None, &line);
}

/// Shows that an item was evicted.
pub(crate) fn eviction(
    monitors: &Monitors,
    mailboxes: &[Mailbox],
    left: &Removal,
    now: Now,
    idle_times: impl FnOnce() -> IdleTimes,
) {
    if !monitors.is_wanted(EVICTIONS) {
        return;
    }
    let mut line = head(monitors, "eviction");
    line.extend_from_slice(b" key=");
    escaped(&mut line, &left.key);
    let fetched = if left.hits > 0 { "yes" } else { "no" };
    let ttl = left.expires.map(|at| at.saturating_sub(now.unix_ms) / 1_000);
    let ttl = ttl.map_or_else(|| "-1".to_owned(), |seconds| seconds.to_string());
    let (idle, size) = (idle_times().of(left.idle), left.size);
    let _ = writeln!(line, " fetch={fetched} ttl={ttl} la={idle} clsid=1 size={size}");
    monitors.show(mailboxes, EVICTIONS, None, &line);
}
