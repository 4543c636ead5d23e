//! Hashes: reading and writing fields.

use super::counter::{NOT_A_FLOAT, add_texts};
use super::flag::{DENY_OOM, FAST, READ, UNTRACED, WRITE};
use super::{Call, Command, Done, Failure, NOT_AN_INTEGER, ONE_KEY, SYNTAX, access, wrong_number};
use crate::decimal::Decimal;
use crate::glob;
use crate::hash::{Hash, fields, find};
use crate::notify;
use crate::value::{HASH, WRONG_TYPE};
use base::Prng;
use store::{Change, Item};
use wire::resp::{Protocol, parse_integer};

const GROUP: &str = "hash";

/// This family.
pub(super) const COMMANDS: &[Command] = &[
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
    asks("hexists", 3, hexists, "2.0.0", "Whether there is such a field."),
    asks("hstrlen", 3, hstrlen, "3.2.0", "The length of a field's value."),
    walks("hrandfield", -2, hrandfield, "6.2.0", "Fields drawn at random."),
    walks("hscan", -3, hscan, "2.8.0", "Walks the fields."),
];

const fn writes(
    name: &'static str,
    arity: i32,
    run: super::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    let command = Command::new(name, arity, WRITE | DENY_OOM | FAST, run);
    command.keys(ONE_KEY).doc(GROUP, since, summary)
}

const fn reads(
    name: &'static str,
    arity: i32,
    run: super::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    Command::new(name, arity, READ | FAST, run).keys(ONE_KEY).doc(GROUP, since, summary)
}

/// The fields are looked at one after another.
const fn walks(
    name: &'static str,
    arity: i32,
    run: super::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    Command::new(name, arity, READ, run).keys(ONE_KEY).doc(GROUP, since, summary)
}

/// Tells nothing of values.
const fn asks(
    name: &'static str,
    arity: i32,
    run: super::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    let command = Command::new(name, arity, READ | FAST | UNTRACED, run);
    command.keys(ONE_KEY).access(access::ASKS).doc(GROUP, since, summary)
}

/// Lets `f` change the hash at argument 1, an empty one where there is no key; `f` says whether it
/// did.
pub(super) fn change<R>(
    call: &Call<'_>,
    f: impl FnOnce(&mut Hash<'_>) -> Result<(bool, R), Failure>,
) -> Result<R, Failure> {
    let now_ms = call.now.unix_ms;
    call.shared.store.update(&call.key_at(1), call.now, |item| {
        let mut hash = match item {
            Some(item) if item.kind != HASH => return (Change::Keep, Err(WRONG_TYPE.into())),
            Some(item) => Hash::of(item, now_ms),
            None => Hash::default(),
        };
        match f(&mut hash) {
            Ok((true, result)) => (hash.change(), Ok(result)),
            Ok((false, result)) => (Change::Keep, Ok(result)),
            Err(failure) => (Change::Keep, Err(failure)),
        }
    })?
}

/// How much of a trace a look at a hash leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trace {
    /// That of a read.
    Read,
    /// None, as of a question about the hash.
    None,
}

/// Shows the bytes of the hash at argument 1 to `f`, empty ones where there is no key.
pub(super) fn look<R>(
    call: &Call<'_>,
    trace: Trace,
    f: impl FnOnce(&[u8]) -> R,
) -> Result<R, Failure> {
    let mut f = Some(f);
    let show = |item: &Item<'_>| {
        if item.kind != HASH {
            return Err(WRONG_TYPE);
        }
        Ok(f.take().map(|f| f(item.value)))
    };
    let (key, store) = (call.key_at(1), &call.shared.store);
    let found = if trace == Trace::None || call.session.no_touch {
        store.peek(&key, call.now, show)
    } else {
        store.get(&key, call.now, show)
    };
    let shown = found.transpose()?.flatten();
    match (shown, f) {
        (Some(result), _) => Ok(result),
        (None, Some(f)) => Ok(f(b"")),
        (None, None) => Err(WRONG_TYPE.into()),
    }
}

fn check_pairs(call: &Call<'_>, name: &str) -> Done {
    if call.args.len().is_multiple_of(2) { Ok(()) } else { Err(wrong_number(name)) }
}

fn set_pairs(call: &Call<'_>) -> Result<i64, Failure> {
    change(call, |hash| {
        let mut added = 0;
        for at in (2..call.args.len()).step_by(2) {
            added += i64::from(hash.set(call.arg(at), call.arg(at + 1).to_vec()));
        }
        Ok((true, added))
    })
    .inspect(|_| call.event(notify::HASH, "hset", call.arg(1)))
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
    let (name, value) = (call.arg(2), call.arg(3).to_vec());
    let set = change(call, |hash| {
        let absent = hash.get(name).is_none();
        if absent {
            hash.set(name, value);
        }
        Ok((absent, absent))
    })?;
    if set {
        call.event(notify::HASH, "hset", call.arg(1));
    }
    call.out.integer(i64::from(set));
    Ok(())
}

fn hdel(call: &mut Call<'_>) -> Done {
    let removed = change(call, |hash| {
        let removed = call.args.iter_from(2).filter(|name| hash.remove(name)).count();
        Ok((removed > 0, removed))
    })?;
    if removed > 0 {
        call.lost_fields(call.arg(1));
    }
    call.out.integer(removed as i64);
    Ok(())
}

fn hincrby(call: &mut Call<'_>) -> Done {
    let by = call.integer(3)?;
    let name = call.arg(2);
    let sum = change(call, |hash| {
        let old = match hash.get(name) {
            None => 0,
            Some(field) => parse_integer(&field.value).ok_or("ERR hash value is not an integer")?,
        };
        let sum = old.checked_add(by).ok_or("ERR increment or decrement would overflow")?;
        hash.put(name, sum.to_string().into_bytes());
        Ok((true, sum))
    })?;
    call.event(notify::HASH, "hincrby", call.arg(1));
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
        let old = hash.get(name).map(|field| field.value.to_vec());
        let sum = add_texts(old.as_deref(), by, "ERR hash value is not a float")?;
        hash.put(name, sum.clone());
        Ok((true, sum))
    })?;
    call.event(notify::HASH, "hincrbyfloat", call.arg(1));
    call.out.bulk(&sum);
    Ok(())
}

fn hget(call: &mut Call<'_>) -> Done {
    let (name, now_ms) = (call.arg(2), call.now.unix_ms);
    let found =
        look(call, Trace::Read, |hash| find(hash, name, now_ms).map(|(value, _)| value.to_vec()))?;
    match found {
        Some(value) => call.out.bulk(&value),
        None => call.out.null(),
    }
    Ok(())
}

fn hmget(call: &mut Call<'_>) -> Done {
    let (names, now_ms) = (call.args.iter_from(2), call.now.unix_ms);
    let found: Vec<Option<Vec<u8>>> = look(call, Trace::Read, |hash| {
        names.map(|name| find(hash, name, now_ms).map(|(value, _)| value.to_vec())).collect()
    })?;
    call.out.array(found.len());
    for value in found {
        match value {
            Some(value) => call.out.bulk(&value),
            None => call.out.null(),
        }
    }
    Ok(())
}

/// A field's name and its value.
type Pair = (Vec<u8>, Vec<u8>);

/// All fields with their values.
fn everything(call: &Call<'_>, trace: Trace) -> Result<Vec<Pair>, Failure> {
    let now_ms = call.now.unix_ms;
    look(call, trace, |hash| {
        fields(hash, now_ms).map(|(name, value, _)| (name.to_vec(), value.to_vec())).collect()
    })
}

fn hgetall(call: &mut Call<'_>) -> Done {
    let all = everything(call, Trace::Read)?;
    call.out.map(all.len());
    for (name, value) in all {
        call.out.bulk(&name);
        call.out.bulk(&value);
    }
    Ok(())
}

fn hkeys(call: &mut Call<'_>) -> Done {
    let all = everything(call, Trace::Read)?;
    call.out.array(all.len());
    for (name, _) in &all {
        call.out.bulk(name);
    }
    Ok(())
}

fn hvals(call: &mut Call<'_>) -> Done {
    let all = everything(call, Trace::Read)?;
    call.out.array(all.len());
    for (_, value) in &all {
        call.out.bulk(value);
    }
    Ok(())
}

fn hlen(call: &mut Call<'_>) -> Done {
    let now_ms = call.now.unix_ms;
    let count = look(call, Trace::None, |hash| fields(hash, now_ms).count())?;
    call.out.integer(count as i64);
    Ok(())
}

fn hexists(call: &mut Call<'_>) -> Done {
    let (name, now_ms) = (call.arg(2), call.now.unix_ms);
    let found = look(call, Trace::None, |hash| find(hash, name, now_ms).is_some())?;
    call.out.integer(i64::from(found));
    Ok(())
}

fn hstrlen(call: &mut Call<'_>) -> Done {
    let (name, now_ms) = (call.arg(2), call.now.unix_ms);
    let len = look(call, Trace::None, |hash| {
        find(hash, name, now_ms).map_or(0, |(value, _)| value.len())
    })?;
    call.out.integer(len as i64);
    Ok(())
}

/// Most fields that one HRANDFIELD draws with repetition.
const DRAWS_MAX: i64 = 1 << 20;

fn hrandfield(call: &mut Call<'_>) -> Done {
    let with_values = match call.args.len() {
        2 | 3 => false,
        4 if call.is(3, "withvalues") => true,
        _ => return Err(SYNTAX.into()),
    };
    let count = if call.args.len() > 2 { Some(call.integer(2)?) } else { None };
    if count.is_some_and(|count| count < -DRAWS_MAX) {
        return Err(Failure::err(&format!("value is out of range: at most {DRAWS_MAX} draws")));
    }
    let mut all = everything(call, Trace::Read)?;
    let mut prng = Prng::new(call.now.micros.0 ^ call.session.client.id << 48);
    let Some(count) = count else {
        match all.len() {
            0 => call.out.null(),
            len => call.out.bulk(&all[prng.below(len as u64) as usize].0),
        }
        return Ok(());
    };
    let drawn: Vec<_> = if all.is_empty() {
        vec![]
    } else if count < 0 {
        (0..-count).map(|_| all[prng.below(all.len() as u64) as usize].clone()).collect()
    } else {
        let len = all.len();
        let wanted = (count as usize).min(len);
        for at in 0..wanted {
            all.swap(at, at + prng.below((len - at) as u64) as usize);
        }
        all.truncate(wanted);
        all
    };
    let nested = with_values && call.out.protocol() == Protocol::Resp3;
    call.out.array(if with_values && !nested { 2 * drawn.len() } else { drawn.len() });
    for (name, value) in drawn {
        if nested {
            call.out.array(2);
        }
        call.out.bulk(&name);
        if with_values {
            call.out.bulk(&value);
        }
    }
    Ok(())
}

/// All fields in one reply, as Redis does for hashes that it holds in one piece.
fn hscan(call: &mut Call<'_>) -> Done {
    let cursor = std::str::from_utf8(call.arg(2)).ok().and_then(|text| text.parse::<u64>().ok());
    cursor.ok_or("ERR invalid cursor")?;
    let (mut pattern, mut no_values, mut at) = (None, false, 3);
    while at < call.args.len() {
        if call.is(at, "novalues") {
            no_values = true;
            at += 1;
            continue;
        }
        let value = call.args.get(at + 1).ok_or(SYNTAX)?;
        if call.is(at, "match") {
            pattern = Some(value);
        } else if call.is(at, "count") {
            if parse_integer(value).ok_or(NOT_AN_INTEGER)? < 1 {
                return Err(SYNTAX.into());
            }
        } else {
            return Err(SYNTAX.into());
        }
        at += 2;
    }
    let mut all = everything(call, Trace::None)?;
    all.retain(|(name, _)| pattern.is_none_or(|pattern| glob::matches(pattern, name)));
    call.out.array(2);
    call.out.bulk(b"0");
    call.out.array(if no_values { all.len() } else { 2 * all.len() });
    for (name, value) in all {
        call.out.bulk(&name);
        if !no_values {
            call.out.bulk(&value);
        }
    }
    Ok(())
}
