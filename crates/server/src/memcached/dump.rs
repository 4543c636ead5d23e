//! Items by name: `lru_crawler metadump`, `lru_crawler mgdump`, `me`. They leave no trace.

use super::{Ask, BAD_FORMAT, Done, UNKNOWN};
use crate::shared::Shared;
use crate::value::Text;
use std::io::Write;
use store::{Item, Now, Scope};

/// Items looked at while one part of the store is locked.
const STEP: usize = 1_000;

/// A key as memcached prints it: what is not plain is in hexadecimal.
pub(super) fn escaped(out: &mut Vec<u8>, key: &[u8]) {
    for &byte in key {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// Seconds since the last access, estimated from the rate of accesses.
pub(super) fn idle_seconds(shared: &Shared, now: Now, idle: u32) -> u64 {
    let counters = shared.counters();
    let accesses = (counters.gets() + counters.sets).max(1) as f64;
    let each = accesses / shared.shards as f64;
    (f64::from(idle) / each * (now.micros.0 as f64 / 1e6)) as u64
}

pub(super) fn crawler(ask: &mut Ask<'_>) -> Done {
    match (ask.word(1)?, ask.request.get(2)) {
        (b"metadump" | b"mgdump", Some(b"all" | b"hash" | b"1")) => walk(ask),
        (b"metadump" | b"mgdump", Some(_)) => Err("BADCLASS invalid class id"),
        (b"enable" | b"disable", _) | (b"crawl" | b"sleep" | b"tocrawl", Some(_)) => ask.line("OK"),
        _ => Err(UNKNOWN),
    }
}

fn walk(ask: &mut Ask<'_>) -> Done {
    let short = ask.word(1)? == b"mgdump";
    let scope = Scope { tenant: ask.session.owners.only(), db: Some(ask.session.db) };
    let (store, out, owners) = (&ask.shared.store, &mut *ask.out, &ask.session.owners);
    let mut cursor = 0;
    loop {
        cursor = store.scan(scope, cursor, STEP, ask.now, |found| {
            let Some(text) = Text::of(&found.item).filter(|_| owners.of(found.key) == found.tenant)
            else {
                return;
            };
            out.extend_from_slice(if short { b"mg " } else { b"key=" });
            escaped(out, found.key);
            if !short {
                let expires = found.item.expires.map_or(-1, |at| (at / 1_000) as i64);
                let fetched = if found.item.hits > 0 { "yes" } else { "no" };
                let _ = write!(
                    out,
                    " exp={expires} la={} cas={} fetch={fetched} cls=1 size={}",
                    ask.now.unix_ms / 1_000,
                    text.cas,
                    found.item.charge().0
                );
            }
            out.extend_from_slice(b"\r\n");
        });
        if cursor == 0 {
            return ask.line(if short { "EN" } else { "END" });
        }
    }
}

/// `me`: all that is known of an item.
pub(super) fn debug(ask: &mut Ask<'_>) -> Done {
    let word = ask.request.get(1).ok_or(BAD_FORMAT)?;
    let key = ask.key(word)?;
    let look = |item: &Item<'_>| {
        let cas = Text::of(item).map_or(0, |text| text.cas);
        (item.expires, item.idle, cas, item.hits, item.charge().0)
    };
    let Some((expires, idle, cas, hits, size)) = ask.shared.store.peek(&key, ask.now, look) else {
        return ask.line("EN");
    };
    let left = expires.map_or(-1, |at| (at.saturating_sub(ask.now.unix_ms) / 1_000) as i64);
    let idle = idle_seconds(ask.shared, ask.now, idle);
    let fetched = if hits > 0 { "yes" } else { "no" };
    ask.out.extend_from_slice(b"ME ");
    ask.out.extend_from_slice(word);
    ask.print(format_args!(
        " exp={left} la={idle} cas={cas} fetch={fetched} cls=1 size={size}\r\n"
    ));
    Ok(())
}
