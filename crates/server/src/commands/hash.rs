//! Hashes: reading and writing fields.

use super::counter::{NOT_A_FLOAT, add_texts};
use super::hash_random;
use super::hash_steps::{Trace, change, change_each, look, look_each, walk};
use super::scan_options::ScanOptions;
use crate::call::{Call, Command, Done, Failure, wrong_number};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, READ, UNTRACED, WRITE};
use crate::facts::{ONE_KEY, access};
use crate::text::decimal::Decimal;
use crate::values::hash::Field;
use wire::resp::{Encoder, parse_integer};

const GROUP: &str = "hash";

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    writes("hset", -4, hset, "2.0.0", "Sets fields.").access(access::CHANGES),
    writes("hmset", -4, hmset, "2.0.0", "Sets fields; an old form of HSET.")
        .access(access::CHANGES),
    writes("hsetnx", 4, hsetnx, "2.0.0", "Sets a field that does not exist.").access(access::ADDS),
    writes("hincrby", 4, hincrby, "2.0.0", "Adds to a whole number in a field."),
    writes("hincrbyfloat", 4, hincrbyfloat, "2.6.0", "Adds to a number with a fraction."),
    Command::new("hdel", -3, WRITE | FAST, hdel).keys(ONE_KEY).access(access::DROPS).doc(
        GROUP,
        "2.0.0",
        "Removes fields.",
    ),
    reads("hget", 3, hget, "2.0.0", "The value of a field."),
    reads("hmget", -3, hmget, "2.0.0", "The values of fields."),
    walks("hgetall", 2, hgetall, "2.0.0", "All fields with their values."),
    walks("hkeys", 2, hkeys, "2.0.0", "All fields."),
    walks("hvals", 2, hvals, "2.0.0", "The values of all fields."),
    asks("hlen", 2, hlen, "2.0.0", "Counts the fields."),
    asks("hexists", 3, hexists, "2.0.0", "Whether a field exists."),
    asks("hstrlen", 3, hstrlen, "3.2.0", "The length of a field's value."),
    walks("hrandfield", -2, hash_random::hrandfield, "6.2.0", "Random fields."),
    walks("hscan", -3, hscan, "2.8.0", "Iterates over the fields, some per call."),
];

const fn writes(
    name: &'static str,
    arity: i32,
    run: crate::call::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    let command = Command::new(name, arity, WRITE | DENY_OOM | FAST, run);
    command.keys(ONE_KEY).doc(GROUP, since, summary)
}

const fn reads(
    name: &'static str,
    arity: i32,
    run: crate::call::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    Command::new(name, arity, READ | FAST, run).keys(ONE_KEY).doc(GROUP, since, summary)
}

/// A command that walks through the fields one after another.
const fn walks(
    name: &'static str,
    arity: i32,
    run: crate::call::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    Command::new(name, arity, READ, run).keys(ONE_KEY).doc(GROUP, since, summary)
}

/// A command that reveals nothing of the values.
const fn asks(
    name: &'static str,
    arity: i32,
    run: crate::call::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    let command = Command::new(name, arity, READ | FAST | UNTRACED, run);
    command.keys(ONE_KEY).access(access::ASKS).doc(GROUP, since, summary)
}

fn check_pairs(call: &Call<'_>, name: &str) -> Done {
    if call.args.len().is_multiple_of(2) { Ok(()) } else { Err(wrong_number(name)) }
}

fn set_pairs(call: &Call<'_>) -> Result<i64, Failure> {
    let mut added = 0;
    change_each(call, 2, 2, |hash, at| {
        added += i64::from(hash.set(call.arg(at), call.arg(at + 1))?);
        Ok(true)
    })?;
    call.event(event_classes::HASH, "hset", call.arg(1));
    Ok(added)
}

fn hset(call: &mut Call<'_>) -> Done {
    check_pairs(call, "hset")?;
    let added = set_pairs(call)?;
    call.out.integer(added);
    Ok(())
}

fn hmset(call: &mut Call<'_>) -> Done {
    check_pairs(call, "hmset")?;
    set_pairs(call)?;
    call.ok()
}

fn hsetnx(call: &mut Call<'_>) -> Done {
    let (name, value) = (call.arg(2), call.arg(3));
    let set = change(call, |hash| {
        let absent = hash.get(name).is_none();
        if absent {
            hash.set(name, value)?;
        }
        Ok((absent, absent))
    })?;
    if set {
        call.event(event_classes::HASH, "hset", call.arg(1));
    }
    call.out.integer(i64::from(set));
    Ok(())
}

fn hdel(call: &mut Call<'_>) -> Done {
    let mut removed = 0;
    change_each(call, 2, 1, |hash, at| {
        let is_removed = hash.remove(call.arg(at));
        removed += i64::from(is_removed);
        Ok(is_removed)
    })?;
    if removed > 0 {
        call.lost(event_classes::HASH, "hdel", call.arg(1));
    }
    call.out.integer(removed);
    Ok(())
}

fn hincrby(call: &mut Call<'_>) -> Done {
    let by = call.integer(3)?;
    let name = call.arg(2);
    let sum = change(call, |hash| {
        let old = match hash.get(name) {
            None => 0,
            Some((value, _)) => parse_integer(value).ok_or("ERR hash value is not an integer")?,
        };
        let sum = old.checked_add(by).ok_or("ERR increment or decrement would overflow")?;
        hash.put(name, sum.to_string().as_bytes())?;
        Ok((true, sum))
    })?;
    call.event(event_classes::HASH, "hincrby", call.arg(1));
    call.out.integer(sum);
    Ok(())
}

fn hincrbyfloat(call: &mut Call<'_>) -> Done {
    let (name, by) = (call.arg(2), call.arg(3));
    if Decimal::is_infinite(by) {
        return Err("ERR value is NaN or Infinity".into());
    }
    Decimal::parse(by).ok_or(NOT_A_FLOAT)?;
    let sum = change(call, |hash| {
        let old = hash.get(name).map(|(value, _)| value);
        let sum = add_texts(old, by, "ERR hash value is not a float")?;
        hash.put(name, &sum)?;
        Ok((true, sum))
    })?;
    call.event(event_classes::HASH, "hincrbyfloat", call.arg(1));
    call.out.bulk(&sum);
    Ok(())
}

fn hget(call: &mut Call<'_>) -> Done {
    let (name, now_ms) = (call.arg(2), call.now.unix_ms);
    let found =
        look(call, Trace::Read, |hash| hash.find(name, now_ms).map(|(value, _)| value.to_vec()))?;
    match found {
        Some(value) => call.out.bulk(&value),
        None => call.out.null(),
    }
    Ok(())
}

fn hmget(call: &mut Call<'_>) -> Done {
    let now_ms = call.now.unix_ms;
    call.out.array(call.args.len() - 2);
    call.write(|call, out| {
        look_each(call, Trace::Read, 2, 1, |hash, at| match hash.find(call.arg(at), now_ms) {
            Some((value, _)) => out.bulk(value),
            None => out.null(),
        })
    })
}

/// Replies with the parts of every field that `show` writes, as a map or as an array. Their number
/// is known only at the end.
fn reply_all(
    call: &mut Call<'_>,
    is_map: bool,
    show: impl Fn(&mut Encoder<'_>, Field<'_>),
) -> Done {
    let (mark, mut count) = (call.out.mark(), 0);
    call.write(|call, out| {
        walk(call, Trace::Read, |field| {
            count += 1;
            show(out, field);
            !out.is_over()
        })
    })?;
    call.out.before(mark, |out| if is_map { out.map(count) } else { out.array(count) });
    Ok(())
}

fn hgetall(call: &mut Call<'_>) -> Done {
    reply_all(call, true, |out, (name, value, _)| {
        out.bulk(name);
        out.bulk(value);
    })
}

fn hkeys(call: &mut Call<'_>) -> Done {
    reply_all(call, false, |out, (name, ..)| out.bulk(name))
}

fn hvals(call: &mut Call<'_>) -> Done {
    reply_all(call, false, |out, (_, value, _)| out.bulk(value))
}

fn hlen(call: &mut Call<'_>) -> Done {
    let now_ms = call.now.unix_ms;
    let count = look(call, Trace::None, |hash| hash.len(now_ms))?;
    call.out.integer(count as i64);
    Ok(())
}

fn hexists(call: &mut Call<'_>) -> Done {
    let (name, now_ms) = (call.arg(2), call.now.unix_ms);
    let found = look(call, Trace::None, |hash| hash.find(name, now_ms).is_some())?;
    call.out.integer(i64::from(found));
    Ok(())
}

fn hstrlen(call: &mut Call<'_>) -> Done {
    let (name, now_ms) = (call.arg(2), call.now.unix_ms);
    let len = look(call, Trace::None, |hash| {
        hash.find(name, now_ms).map_or(0, |(value, _)| value.len())
    })?;
    call.out.integer(len as i64);
    Ok(())
}

/// A hash in one piece replies all of its fields at once, as in Redis.
fn hscan(call: &mut Call<'_>) -> Done {
    let options = ScanOptions::of(call, Some("novalues"))?;
    let now_ms = call.now.unix_ms;
    options.reply(call, |call, out, from, most, count| {
        look(call, Trace::None, |hash| {
            hash.walk(from, most, now_ms, |(name, value, _)| {
                count.looked += 1;
                if options.wants(name) {
                    out.bulk(name);
                    count.shown += 1;
                    if !options.no_values {
                        out.bulk(value);
                        count.shown += 1;
                    }
                }
            })
        })
    })
}
