//! Lists of items: `lru_crawler metadump`, `lru_crawler mgdump`, `stats cachedump`, `me`. They do
//! not affect recency or models.
//!
//! The lines of `mgdump` can be sent back as requests, and each names its item: a key that no line
//! can hold is in base64. `metadump` writes keys in URL encoding.

use super::lru::{CLASSES, short};
use super::meta::seconds_left;
use super::request::{Ask, BAD_FORMAT, Done, UNKNOWN};
use crate::services::idle_time::IdleTimes;
use crate::text::percent::escaped;
use crate::values::text_value::Text;
use std::io::Write;
use store::{Item, Now, ScanItem, Scope};
use wire::memcached::{decode_key, encode_key};

/// The number of items visited while one shard is locked.
const STEP: usize = 1_000;
/// The largest reply of `stats cachedump`, in bytes, as in memcached.
const CACHEDUMP_MAX: usize = 2 << 20;
/// The longest sleep of memcached's crawler, in microseconds.
const SLEEP_MAX: u64 = 1_000_000;

/// Whether a key can be a word of a line.
fn is_word(key: &[u8]) -> bool {
    !key.iter().any(|&byte| byte <= b' ' || byte == 0x7f)
}

pub(super) fn crawler(ask: &mut Ask<'_>) -> Done {
    let (word, argument) = (ask.word(1)?, ask.request.get(2));
    let allowed = ask.view.settings.memcached_dump;
    match (word, argument, ask.request.len()) {
        (b"metadump", Some(_), 3) if !allowed => Err("ERROR metadump not allowed"),
        (b"mgdump", Some(_), 3) if !allowed => Err("ERROR key dump not allowed"),
        (b"metadump", Some(classes), 3) => crawl(ask, classes, metadump, "END"),
        (b"mgdump", Some(classes), 3) => crawl(ask, classes, mgdump, "EN"),
        (b"crawl", Some(classes), 3) if classes != b"all" && listed(classes).is_none() => {
            ask.line("BADCLASS invalid class id")
        }
        (b"tocrawl", Some(number), 3) => match short(Some(number)) {
            Some(_) => ask.line("OK"),
            None => Err(BAD_FORMAT),
        },
        (b"sleep", Some(micros), 3) => match short(Some(micros)).ok_or(BAD_FORMAT)? {
            ..=SLEEP_MAX => ask.line("OK"),
            _ => Err("CLIENT_ERROR sleep must be one second or less"),
        },
        (b"crawl", Some(_), 3) | (b"enable" | b"disable", None, 2) => ask.line("OK"),
        _ => Err(UNKNOWN),
    }
}

/// Reads classes such as `1,2,3`.
fn listed(classes: &[u8]) -> Option<Vec<u64>> {
    let numbers = classes
        .split(|&byte| byte == b',')
        .map(|number| short(Some(number)).filter(|class| (1..CLASSES).contains(class)));
    numbers.collect()
}

type Print = fn(&mut Vec<u8>, &ScanItem<'_>, &Text<'_>, Now, &IdleTimes);

/// Writes all items of some classes. There is one class here.
fn crawl(ask: &mut Ask<'_>, classes: &[u8], print: Print, end: &str) -> Done {
    let all = matches!(classes, b"all" | b"hash");
    let Some(listed) = listed(classes).or_else(|| all.then(|| vec![1])) else {
        return ask.line("BADCLASS invalid class id");
    };
    if listed.contains(&1) {
        // Computed before the walk, because the walk holds locks that the counters need.
        let (now, ages, bound) = (ask.now, ask.server.idle_times(ask.now), ask.bound);
        walk(ask, |found, text, out| {
            print(out, found, text, now, &ages);
            out.len() <= bound
        });
    }
    ask.line(end)
}

/// Shows all items that the client can reach, until `print` returns false.
fn walk(ask: &mut Ask<'_>, mut print: impl FnMut(&ScanItem<'_>, &Text<'_>, &mut Vec<u8>) -> bool) {
    let mut out = std::mem::take(ask.out);
    let scope = Scope { tenant: ask.session.owners.only(), db: Some(ask.session.db) };
    let (mut cursor, mut goes_on) = (0, true);
    loop {
        cursor = ask.server.store.scan_values(scope, cursor, STEP, ask.now, |found| {
            let text = Text::of(&found.item);
            let mine = ask.session.owners.of(found.key) == found.tenant;
            if let Some(text) = text.filter(|_| mine && goes_on) {
                goes_on = print(found, &text, &mut out);
            }
        });
        if cursor == 0 || !goes_on {
            break;
        }
    }
    *ask.out = out;
}

fn mgdump(out: &mut Vec<u8>, found: &ScanItem<'_>, _: &Text<'_>, _: Now, _: &IdleTimes) {
    out.extend_from_slice(b"mg ");
    if is_word(found.key) {
        out.extend_from_slice(found.key);
    } else {
        encode_key(out, found.key);
        out.extend_from_slice(b" b");
    }
    out.extend_from_slice(b"\r\n");
}

fn metadump(out: &mut Vec<u8>, found: &ScanItem<'_>, text: &Text<'_>, now: Now, ages: &IdleTimes) {
    out.extend_from_slice(b"key=");
    escaped(out, found.key);
    let item = &found.item;
    let expires = item.expires.map_or(-1, |at| (at / 1_000) as i64);
    let read = if text.was_read(item.hits, 0) { "yes" } else { "no" };
    let last = (now.unix_ms / 1_000).saturating_sub(ages.of(item.idle));
    // Lines of this dump end with a line feed alone, as in memcached.
    let _ = writeln!(
        out,
        " exp={expires} la={last} cas={} fetch={read} cls=1 size={} flags={}",
        text.cas,
        item.charge().0,
        text.flags
    );
}

/// `stats cachedump CLASS LIMIT`: the keys, in the form for old clients.
pub(super) fn cachedump(ask: &mut Ask<'_>) -> Done {
    if !ask.view.settings.memcached_dump {
        return Err("CLIENT_ERROR stats cachedump not allowed");
    }
    let (Some(class), Some(limit)) = (ask.request.get(2), ask.request.get(3)) else {
        return Err("CLIENT_ERROR bad command line");
    };
    let class = short(Some(class)).ok_or(BAD_FORMAT)?;
    let limit = short(Some(limit)).ok_or(BAD_FORMAT)?;
    if class >= CLASSES {
        return Err("CLIENT_ERROR Illegal slab id");
    }
    let (begin, mut shown) = (ask.out.len(), 0);
    if class == 1 {
        walk(ask, |found, text, out| {
            // A key that is no word would be read as several keys.
            if is_word(found.key) {
                let size = text.data.len();
                let expires = found.item.expires.map_or(0, |at| at / 1_000);
                out.extend_from_slice(b"ITEM ");
                out.extend_from_slice(found.key);
                let _ = write!(out, " [{size} b; {expires} s]\r\n");
                shown += 1;
            }
            (limit == 0 || shown < limit) && out.len() - begin < CACHEDUMP_MAX
        });
    }
    ask.line("END")
}

/// `me`: everything known about an item.
pub(super) fn debug(ask: &mut Ask<'_>) -> Done {
    let word = ask.word(1)?;
    let in_base64 = ask.request.get(2) == Some(b"b");
    let decoded = if in_base64 { decode_key(word) } else { None };
    let bytes = match &decoded {
        Some(bytes) => bytes,
        None if in_base64 => return ask.line("EN"),
        None => word,
    };
    let key = ask.key(bytes)?;
    let look = |item: &Item<'_>| {
        let text = Text::of(item);
        let cas = text.map_or(0, |text| text.cas);
        let read = text.is_some_and(|text| text.was_read(item.hits, 0));
        (item.expires, item.idle, cas, read, item.charge().0)
    };
    let Some((expires, idle, cas, read, size)) = ask.server.store.peek(&key, ask.now, look) else {
        return ask.line("EN");
    };
    let left = expires.map_or(-1, |at| seconds_left(at, ask.now) as i64);
    let idle = ask.server.idle_times(ask.now).of(idle);
    let fetched = if read { "yes" } else { "no" };
    ask.out.extend_from_slice(b"ME ");
    ask.out.extend_from_slice(word);
    ask.print(format_args!(
        " exp={left} la={idle} cas={cas} fetch={fetched} cls=1 size={size}\r\n"
    ));
    Ok(())
}
