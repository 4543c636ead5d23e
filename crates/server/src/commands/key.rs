//! Keys: removal, expiry, and facts about their values.

use super::expiry_args::Conditions;
use crate::call::expiry::moment;
use crate::call::{Call, Command, Done, SYNTAX, wrong_number};
use crate::facts::event_classes;
use crate::facts::flag::{FAST, READ, UNTRACED, WRITE};
use crate::facts::{ALL_KEYS, Keys, NO_KEY, ONE_KEY, access};
use crate::values::collection;
use crate::values::text_value::{self, life, live_until};
use store::{Change, Item};
use wire::resp::parse_integer;

/// The key is the argument behind the subcommand.
const SECOND: Keys = Keys::new(2, 2, 1);

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("del", -2, WRITE, del).keys(ALL_KEYS).access(access::REMOVES).doc(
        "generic",
        "1.0.0",
        "Removes keys.",
    ),
    Command::new("unlink", -2, WRITE | FAST, del).keys(ALL_KEYS).access(access::REMOVES).doc(
        "generic",
        "4.0.0",
        "Removes keys.",
    ),
    Command::new("exists", -2, READ | FAST | UNTRACED, exists)
        .keys(ALL_KEYS)
        .access(access::ASKS)
        .doc("generic", "1.0.0", "Counts the keys that exist."),
    Command::new("touch", -2, READ | FAST | UNTRACED, touch)
        .keys(ALL_KEYS)
        .access(access::ASKS)
        .doc("generic", "3.2.1", "Refreshes keys as a read would, and counts those that exist."),
    Command::new("expire", -3, WRITE | FAST, expire).keys(ONE_KEY).access(access::CHANGES).doc(
        "generic",
        "1.0.0",
        "Sets a key's time to live, in seconds.",
    ),
    Command::new("pexpire", -3, WRITE | FAST, pexpire).keys(ONE_KEY).access(access::CHANGES).doc(
        "generic",
        "2.6.0",
        "Sets a key's time to live, in milliseconds.",
    ),
    Command::new("expireat", -3, WRITE | FAST, expireat).keys(ONE_KEY).access(access::CHANGES).doc(
        "generic",
        "1.2.0",
        "Sets a key's expiry time, in Unix seconds.",
    ),
    Command::new("pexpireat", -3, WRITE | FAST, pexpireat)
        .keys(ONE_KEY)
        .access(access::CHANGES)
        .doc("generic", "2.6.0", "Sets a key's expiry time, in Unix milliseconds."),
    Command::new("ttl", 2, READ | FAST | UNTRACED, ttl).keys(ONE_KEY).doc(
        "generic",
        "1.0.0",
        "A key's remaining time to live, in seconds.",
    ),
    Command::new("pttl", 2, READ | FAST | UNTRACED, pttl).keys(ONE_KEY).doc(
        "generic",
        "2.6.0",
        "A key's remaining time to live, in milliseconds.",
    ),
    Command::new("expiretime", 2, READ | FAST | UNTRACED, expiretime).keys(ONE_KEY).doc(
        "generic",
        "7.0.0",
        "A key's expiry time, in Unix seconds.",
    ),
    Command::new("pexpiretime", 2, READ | FAST | UNTRACED, pexpiretime).keys(ONE_KEY).doc(
        "generic",
        "7.0.0",
        "A key's expiry time, in Unix milliseconds.",
    ),
    Command::new("persist", 2, WRITE | FAST, persist).keys(ONE_KEY).access(access::CHANGES).doc(
        "generic",
        "2.2.0",
        "Removes a key's expiry.",
    ),
    Command::new("type", 2, READ | FAST | UNTRACED, kind).keys(ONE_KEY).access(access::ASKS).doc(
        "generic",
        "1.0.0",
        "The type of a key's value.",
    ),
    Command::container("object", 0, OBJECT).doc(
        "generic",
        "2.2.3",
        "Details about how the server holds a key.",
    ),
    Command::container("memory", 0, MEMORY).doc("server", "4.0.0", "Memory use."),
];

const OBJECT: &[Command] = &[
    Command::new("object|encoding", 3, READ | UNTRACED, encoding)
        .keys(SECOND)
        .access(access::ASKS)
        .doc("generic", "2.2.3", "How a value would be encoded."),
    Command::new("object|freq", 3, READ | UNTRACED, freq).keys(SECOND).access(access::ASKS).doc(
        "generic",
        "4.0.0",
        "Accesses since the key was written, up to 255.",
    ),
    Command::new("object|idletime", 3, READ | UNTRACED, idletime)
        .keys(SECOND)
        .access(access::ASKS)
        .doc("generic", "2.2.3", "Seconds since the last access, estimated."),
    Command::new("object|refcount", 3, READ | UNTRACED, refcount)
        .keys(SECOND)
        .access(access::ASKS)
        .doc("generic", "2.2.3", "References to a value: one."),
    Command::new("object|help", 2, 0, object_help).keys(NO_KEY).doc(
        "generic",
        "6.2.0",
        "The subcommands of OBJECT.",
    ),
];

const MEMORY: &[Command] = &[
    Command::new("memory|usage", -3, READ | UNTRACED, usage).keys(SECOND).access(access::ASKS).doc(
        "server",
        "4.0.0",
        "Bytes charged for a key and its value.",
    ),
    Command::new("memory|stats", 2, 0, super::info::memory_stats).doc(
        "server",
        "4.0.0",
        "Statistics of the memory use.",
    ),
    Command::new("memory|doctor", 2, 0, doctor).doc(
        "server",
        "4.0.0",
        "A summary of the memory use.",
    ),
    Command::new("memory|malloc-stats", 2, 0, malloc_stats).doc(
        "server",
        "4.0.0",
        "Statistics of the allocator.",
    ),
    Command::new("memory|purge", 2, 0, purge).doc(
        "server",
        "4.0.0",
        "Accepted without effect: the server returns free memory by itself.",
    ),
    Command::new("memory|help", 2, 0, memory_help).doc(
        "server",
        "4.0.0",
        "The subcommands of MEMORY.",
    ),
];

/// Counts the keys for which `f` returns true, and replies with the count.
fn count(call: &mut Call<'_>, f: impl Fn(&Call<'_>, usize) -> bool) -> Done {
    let found = (1..call.args.len()).filter(|&at| f(call, at)).count();
    call.out.integer(found as i64);
    Ok(())
}

fn del(call: &mut Call<'_>) -> Done {
    count(call, |call, at| {
        let removed = call.server.store.delete(&call.key_at(at), call.now);
        if removed {
            call.event(event_classes::GENERIC, "del", call.arg(at));
        }
        removed
    })
}

fn exists(call: &mut Call<'_>) -> Done {
    count(call, |call, at| call.server.store.glance(&call.key_at(at), call.now, |_| ()).is_some())
}

fn touch(call: &mut Call<'_>) -> Done {
    count(call, |call, at| call.server.store.touch(&call.key_at(at), call.now))
}

fn set_expiry(call: &mut Call<'_>, scale: i64, relative: bool, name: &str) -> Done {
    let conditions = Conditions::read(call)?;
    let now_ms = call.now.unix_ms as i64;
    let at = moment(call.integer(2)?, scale, relative, call.now.unix_ms, name)?;
    let key = call.key_at(1);
    let changed = call.server.store.update(&key, call.now, |item| match item {
        Some(item) if conditions.allow(life(item), at) => {
            let over = at <= now_ms;
            (if over { Change::Remove } else { live_until(item, Some(at as u64)) }, true)
        }
        _ => (Change::Keep, false),
    })?;
    if changed {
        call.event(
            event_classes::GENERIC,
            if at <= now_ms { "del" } else { "expire" },
            call.arg(1),
        );
    }
    call.out.integer(i64::from(changed));
    Ok(())
}

fn expire(call: &mut Call<'_>) -> Done {
    set_expiry(call, 1_000, true, "expire")
}

fn pexpire(call: &mut Call<'_>) -> Done {
    set_expiry(call, 1, true, "pexpire")
}

fn expireat(call: &mut Call<'_>) -> Done {
    set_expiry(call, 1_000, false, "expireat")
}

fn pexpireat(call: &mut Call<'_>) -> Done {
    set_expiry(call, 1, false, "pexpireat")
}

fn persist(call: &mut Call<'_>) -> Done {
    let changed = call.server.store.update(&call.key_at(1), call.now, |item| match item {
        Some(item) if life(item).is_some() => (live_until(item, None), true),
        _ => (Change::Keep, false),
    })?;
    if changed {
        call.event(event_classes::GENERIC, "persist", call.arg(1));
    }
    call.out.integer(i64::from(changed));
    Ok(())
}

/// Replies -2 if the key does not exist, -1 if it has no expiry, and otherwise the result of `f`.
fn reply_expiry(call: &mut Call<'_>, f: impl Fn(u64) -> u64) -> Done {
    let found = call.server.store.peek(&call.key_at(1), call.now, life);
    call.out.integer(match found {
        None => -2,
        Some(None) => -1,
        Some(Some(at)) => f(at) as i64,
    });
    Ok(())
}

/// Milliseconds as seconds, rounded to the nearest; halves are rounded up.
const fn seconds(millis: u64) -> u64 {
    (millis + 500) / 1_000
}

fn ttl(call: &mut Call<'_>) -> Done {
    let now_ms = call.now.unix_ms;
    reply_expiry(call, |at| seconds(at.saturating_sub(now_ms)))
}

fn pttl(call: &mut Call<'_>) -> Done {
    let now_ms = call.now.unix_ms;
    reply_expiry(call, |at| at.saturating_sub(now_ms))
}

fn expiretime(call: &mut Call<'_>) -> Done {
    reply_expiry(call, seconds)
}

fn pexpiretime(call: &mut Call<'_>) -> Done {
    reply_expiry(call, |at| at)
}

fn kind(call: &mut Call<'_>) -> Done {
    let found = call.server.store.glance(&call.key_at(1), call.now, text_value::type_name);
    call.out.simple(found.unwrap_or("none"));
    Ok(())
}

/// Replies with the result of `f`, which needs no value, for the item at argument 2, or null.
fn reply_item<R>(
    call: &mut Call<'_>,
    f: impl Fn(&Item<'_>) -> R,
    reply: impl Fn(&mut Call<'_>, R),
) -> Done {
    match call.server.store.glance(&call.key_at(2), call.now, f) {
        Some(found) => reply(call, found),
        None => call.out.null(),
    }
    Ok(())
}

/// The longest value that Redis keeps in one piece with its header, in bytes.
const EMBEDDED_MAX: usize = 44;

fn encoding(call: &mut Call<'_>) -> Done {
    let of_string = |item: &Item<'_>| match text_value::string(item).unwrap_or_default() {
        value if value.len() <= 20 && parse_integer(value).is_some() => "int",
        value if value.len() <= EMBEDDED_MAX => "embstr",
        _ => "raw",
    };
    let settings = &call.view.settings;
    let name = |item: &Item<'_>| {
        collection::encoding(item, &settings.ignored).unwrap_or_else(|| of_string(item))
    };
    match call.server.store.peek(&call.key_at(2), call.now, name) {
        Some(name) => call.out.bulk(name.as_bytes()),
        None => call.out.null(),
    }
    Ok(())
}

fn freq(call: &mut Call<'_>) -> Done {
    reply_item(call, |item| item.hits, |call, hits| call.out.integer(i64::from(hits)))
}

fn idletime(call: &mut Call<'_>) -> Done {
    reply_item(
        call,
        |item| item.idle,
        |call, idle| {
            let age = call.server.idle_times(call.now).of(idle);
            call.out.integer(age as i64);
        },
    )
}

fn refcount(call: &mut Call<'_>) -> Done {
    reply_item(call, |_| (), |call, ()| call.out.integer(1))
}

fn object_help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "ENCODING <key>",
        "    How the value would be encoded: int, embstr or raw.",
        "FREQ <key>",
        "    Accesses since the key was written, up to 255.",
        "IDLETIME <key>",
        "    Seconds since the last access, estimated from the rate of accesses.",
        "REFCOUNT <key>",
        "    Always 1.",
        "HELP",
        "    Print this help.",
    ])
}

fn charge(item: &Item<'_>) -> u64 {
    item.charge().0
}

fn usage(call: &mut Call<'_>) -> Done {
    match call.args.len() {
        3 => {}
        5 if call.is(3, "samples") => {
            if call.integer(4)? < 0 {
                return Err(SYNTAX.into());
            }
        }
        4 | 5 => return Err(SYNTAX.into()),
        _ => return Err(wrong_number("memory|usage")),
    }
    reply_item(call, charge, |call, bytes| call.out.integer(bytes as i64))
}

fn doctor(call: &mut Call<'_>) -> Done {
    let (used, limit) = call.server.memory();
    let resident = call.server.stats.resident();
    let limit = if limit.0 > 0 { limit.to_string() } else { "none".into() };
    let text = format!("{used} used for data and metadata, {resident} resident, limit {limit}.");
    call.out.verbatim(&text);
    Ok(())
}

fn malloc_stats(call: &mut Call<'_>) -> Done {
    let (used, _) = call.server.memory();
    let resident = call.server.stats.resident();
    let text = format!(
        "jemalloc: {resident} are resident, of which data and metadata take {used}. There are no \
         more statistics."
    );
    call.out.verbatim(&text);
    Ok(())
}

fn purge(call: &mut Call<'_>) -> Done {
    call.ok()
}

fn memory_help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "DOCTOR",
        "    A summary of the memory use.",
        "MALLOC-STATS",
        "    Statistics of the allocator.",
        "PURGE",
        "    Accepted without effect: the server returns free memory by itself.",
        "STATS",
        "    Statistics of the memory use.",
        "USAGE <key> [SAMPLES <count>]",
        "    Bytes charged for a key and its value.",
        "HELP",
        "    Print this help.",
    ])
}
