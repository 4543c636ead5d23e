//! Lines for the clients that run MONITOR: every command as it runs, or the accesses to a sample of
//! keys.

use super::slow::is_secret;
use crate::call::Call;
use crate::call::expiry::{Expiry, ends};
use crate::facts::Facts;
use crate::facts::flag::UNTRACED;
use crate::facts::table::{find, get};
use crate::services::clock::Clock;
use crate::services::monitors::{MONITOR, TRACE};
use base::penalty::of_class;
use std::io::Write;
use store::Item;

/// Writes bytes as a quoted string.
fn quoted(line: &mut Vec<u8>, bytes: &[u8]) {
    line.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', byte]),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            0x07 => line.extend_from_slice(b"\\a"),
            0x08 => line.extend_from_slice(b"\\b"),
            b' '..=b'~' => line.push(byte),
            _ => {
                let _ = write!(line, "\\x{byte:02x}");
            }
        }
    }
    line.push(b'"');
}

/// Shows a command that is about to run to the clients that run MONITOR.
#[cold]
pub(crate) fn show(call: &Call<'_>) {
    let Some(number) = find(call.arg(0)) else {
        return;
    };
    let command = get(number);
    let monitors = &call.server.audience.monitors;
    let now = Clock::unix_us();
    if monitors.is_wanted(MONITOR) && !is_secret(call.arg(0)) {
        let (db, address) = (call.session.db, call.session.client.address.as_str());
        let address = if call.session.scripted { "lua" } else { address };
        let (seconds, micros) = (now / 1_000_000, now % 1_000_000);
        let mut line = format!("+{seconds}.{micros:06} [{db} {address}]").into_bytes();
        for arg in call.args.iter_from(0) {
            line.push(b' ');
            quoted(&mut line, arg);
        }
        line.extend_from_slice(b"\r\n");
        monitors.show(call.server.clients.mailboxes(), MONITOR, None, &line);
    }
    if monitors.is_wanted(TRACE) && command.keys.is_any() && command.accepts(call.args.len()) {
        trace(call, command, now);
    }
}

/// Writes a line for each key of a command.
fn trace(call: &Call<'_>, command: &Facts, now: u64) {
    if command.has(UNTRACED) {
        return;
    }
    let args: Vec<&[u8]> = call.args.iter_from(0).collect();
    for at in command.key_places(args.len(), |at| args.get(at).copied()) {
        let bytes = call.arg(at);
        let access = match command.access_at(&args, at) {
            access if access.removes => "DELETE",
            access if access.change.is_some() => "WRITE",
            _ => "READ",
        };
        let key = call.key(bytes);
        let look = |item: &Item<'_>| (item.value_len(), item.expires, item.penalty_class);
        let held = call.server.store.glance(&key, call.now, look);
        let (held_size, expires, class) = held.unwrap_or_default();
        let written = command.value.and_then(|behind| call.args.get(at + behind));
        let size = written.map_or(held_size, <[u8]>::len);
        let life = told_life(&args, call.now.unix_ms);
        let left = expires.map_or(0, |at| at.saturating_sub(call.now.unix_ms).max(1));
        // A write without an expiry sets none, whatever the old value had.
        let life = life.unwrap_or(if written.is_some() { 0 } else { left });
        let tenant = call.session.owners.of(bytes);
        let tenant = call.view.names.get(usize::from(tenant)).map_or("", String::as_str);
        let (seq, db, name) =
            (call.server.audience.monitors.next_line(), call.session.db, command.name);
        let mut line = format!("+{now},{seq},{db},{name},").into_bytes();
        quoted(&mut line, bytes);
        let (hit, kind) = (u8::from(held.is_some()), "string");
        let (key_size, penalty) = (bytes.len(), of_class(class).0);
        let _ = write!(line, ",{access},{hit},{kind},{key_size},{size},{tenant},{life},{penalty}");
        line.extend_from_slice(b"\r\n");
        call.server.audience.monitors.show(
            call.server.clients.mailboxes(),
            TRACE,
            Some(key.hash),
            &line,
        );
    }
}

/// The expiry in a command, in milliseconds from now.
fn told_life(args: &[&[u8]], now_ms: u64) -> Option<u64> {
    let name = args[0].to_ascii_lowercase();
    let stated = match name.as_slice() {
        b"setex" | b"expire" => Some((Expiry::Seconds, 2)),
        b"psetex" | b"pexpire" => Some((Expiry::Millis, 2)),
        b"expireat" => Some((Expiry::AtSeconds, 2)),
        b"pexpireat" => Some((Expiry::AtMillis, 2)),
        b"persist" => return Some(0),
        b"set" => (3..args.len()).find_map(|at| Some((Expiry::named(args[at])?, at + 1))),
        b"getex" => (2..args.len()).find_map(|at| Some((Expiry::named(args[at])?, at + 1))),
        _ => None,
    };
    let (life, at) = stated?;
    let end = ends(life, args.get(at)?, now_ms, "").ok()?;
    Some(end.saturating_sub(now_ms).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_are_told_in_milliseconds_from_now() {
        let told = |line: &str| {
            let args: Vec<_> = line.split(' ').map(str::as_bytes).collect();
            told_life(&args, 1_000_000)
        };
        for (line, expected) in [
            ("SET k v EX 60", Some(60_000)),
            ("set k ex", None),
            ("set k v nx px 5", Some(5)),
            ("setex k 2 v", Some(2_000)),
            ("getex k exat 1001", Some(1_000)),
            ("pexpireat k 999999", Some(1)),
            ("persist k", Some(0)),
            ("expire k soon", None),
            ("get k", None),
        ] {
            assert_eq!(told(line), expected, "{line}");
        }
    }

    #[test]
    fn arguments_are_quoted_as_redis_does() {
        let mut line = vec![];
        quoted(&mut line, b"a \"b\"\\\n\x01\xff");
        assert_eq!(line, br#""a \"b\"\\\n\x01\xff""#);
    }
}
