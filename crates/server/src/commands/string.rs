//! Strings: commands that read and write values.

use crate::call::expiry::{Expiry, ends};
use crate::call::size_check::{self, Room};
use crate::call::{Call, Command, Done, Failure, NOT_AN_INTEGER, SYNTAX, wrong_number};
use crate::facts::event_classes;
use crate::facts::flag::{BRIEF, DENY_OOM, FAST, READ, UNTRACED, WRITE};
use crate::facts::{ALL_KEYS, Access, KEY_VALUES, ONE_KEY, access};
use crate::values::text_value::{STRING, WRONG_TYPE, rewrite, string};
use base::Micros;
use std::ops::Range;
use store::{Change, Item, Key};

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("get", 2, READ | FAST, get).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "The value of a key.",
    ),
    Command::new("set", -3, WRITE | DENY_OOM | BRIEF, set)
        .keys(ONE_KEY)
        .accesses(set_access)
        .value(1)
        .doc("string", "1.0.0", "Sets the value of a key, whatever it held."),
    Command::new("setex", 4, WRITE | DENY_OOM | BRIEF, setex)
        .keys(ONE_KEY)
        .access(access::SETS)
        .value(2)
        .doc("string", "2.0.0", "Sets a value and its time to live, in seconds."),
    Command::new("psetex", 4, WRITE | DENY_OOM | BRIEF, psetex)
        .keys(ONE_KEY)
        .access(access::SETS)
        .value(2)
        .doc("string", "2.6.0", "Sets a value and its time to live, in milliseconds."),
    Command::new("setnx", 3, WRITE | DENY_OOM | FAST, setnx)
        .keys(ONE_KEY)
        .access(access::INSERTS)
        .value(1)
        .doc("string", "1.0.0", "Sets a value if the key does not exist."),
    Command::new("getset", 3, WRITE | DENY_OOM | FAST, getset).keys(ONE_KEY).value(1).doc(
        "string",
        "1.0.0",
        "Sets a value and returns the old one.",
    ),
    Command::new("getdel", 2, WRITE | FAST, getdel).keys(ONE_KEY).access(access::TAKES).doc(
        "string",
        "6.2.0",
        "Returns a value and removes the key.",
    ),
    Command::new("getex", -2, WRITE | FAST, getex).keys(ONE_KEY).doc(
        "string",
        "6.2.0",
        "Returns a value and sets its expiry.",
    ),
    Command::new("mget", -2, READ | FAST, mget).keys(ALL_KEYS).doc(
        "string",
        "1.0.0",
        "The values of several keys.",
    ),
    Command::new("mset", -3, WRITE | DENY_OOM, mset)
        .keys(KEY_VALUES)
        .access(access::SETS)
        .value(1)
        .doc("string", "1.0.1", "Sets several values."),
    Command::new("msetnx", -3, WRITE | DENY_OOM, msetnx)
        .keys(KEY_VALUES)
        .access(access::INSERTS)
        .value(1)
        .doc("string", "1.0.1", "Sets several values if none of the keys exists."),
    Command::new("append", 3, WRITE | DENY_OOM | FAST, append)
        .keys(ONE_KEY)
        .access(access::ADDS)
        .value(1)
        .doc("string", "2.0.0", "Adds bytes to the end of a value."),
    Command::new("strlen", 2, READ | FAST | UNTRACED, strlen)
        .keys(ONE_KEY)
        .access(access::ASKS)
        .doc("string", "2.2.0", "The length of a value."),
    Command::new("getrange", 4, READ, getrange).keys(ONE_KEY).doc(
        "string",
        "2.4.0",
        "Part of a value.",
    ),
    Command::new("substr", 4, READ, getrange).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "Part of a value; an old name of GETRANGE.",
    ),
    Command::new("setrange", 4, WRITE | DENY_OOM, setrange)
        .keys(ONE_KEY)
        .access(access::CHANGES)
        .doc("string", "2.2.0", "Overwrites part of a value."),
];

/// SET reveals the old value only with GET.
fn set_access(args: &[&[u8]], _: usize) -> Access {
    let asks = args.iter().skip(3).any(|arg| arg.eq_ignore_ascii_case(b"get"));
    if asks { access::BOTH } else { access::SETS }
}

/// A key that StackExchange.Redis reads on every connect to choose among masters. It is no
/// workload.
const TIE_BREAKER: &[u8] = b"__Booksleeve_TieBreak";

/// Reads a value into the reply. The read has no effect on recency if the client asked for that
/// (CLIENT NO-TOUCH). Returns false, and writes nothing, if the key holds another type; a missing
/// key gets a null.
#[inline]
fn reply_value(call: &mut Call<'_>, bytes: &[u8]) -> bool {
    let key = call.key(bytes);
    let out = &mut call.out;
    let mut is_string = true;
    let read = |item: &Item<'_>| {
        if item.kind == STRING {
            out.bulk(item.value);
        } else {
            is_string = string(item).map(|value| out.bulk(value)).is_ok();
        }
    };
    let found = if call.session.no_touch || bytes == TIE_BREAKER {
        call.server.store.peek(&key, call.now, read)
    } else {
        call.server.store.get(&key, call.now, read)
    };
    if found.is_none() {
        call.out.null();
    }
    is_string
}

fn get(call: &mut Call<'_>) -> Done {
    if reply_value(call, call.arg(1)) { Ok(()) } else { Err(WRONG_TYPE.into()) }
}

fn mget(call: &mut Call<'_>) -> Done {
    call.out.array(call.args.len() - 1);
    for key in call.args.iter_from(1) {
        if call.out.is_over() {
            break;
        }
        if !reply_value(call, key) {
            call.out.null();
        }
    }
    Ok(())
}

/// The change that sets a value, or a removal if the expiry has passed already.
fn change(value: &[u8], expires: Option<u64>, now_ms: u64) -> Change<'_> {
    match expires {
        Some(at) if at <= now_ms => Change::Remove,
        _ => Change::set(value, expires),
    }
}

/// The options of SET and GETEX.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of the command")]
struct Options<'a> {
    if_absent: bool,
    if_present: bool,
    keep_ttl: bool,
    persist: bool,
    get: bool,
    /// The cost of a miss in microseconds, as a hint of the client.
    cost: Option<Micros>,
    life: Option<(Expiry, &'a [u8])>,
}

/// Reads the options from argument `first` on. SET and GETEX have different ones.
fn options<'a>(call: &Call<'a>, first: usize, is_set: bool) -> Result<Options<'a>, Failure> {
    let mut found = Options::default();
    let mut at = first;
    while at < call.args.len() {
        // A repeated option replaces the earlier one, as in Redis.
        let one_life = |life| {
            let same = found.life.is_none_or(|(known, _)| known == life);
            same && !found.keep_ttl && !found.persist
        };
        let next = call.args.get(at + 1);
        if let (true, true, Some(value)) =
            (is_set && found.cost.is_none(), call.is(at, "cost"), next)
        {
            let cost = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            found.cost = Some(Micros(cost.ok_or(NOT_AN_INTEGER)?));
            at += 2;
            continue;
        }
        match (Expiry::named(call.arg(at)), next) {
            (Some(life), Some(value)) if one_life(life) => {
                found.life = Some((life, value));
                at += 2;
                continue;
            }
            _ if is_set && call.is(at, "nx") && !found.if_present => found.if_absent = true,
            _ if is_set && call.is(at, "xx") && !found.if_absent => found.if_present = true,
            _ if is_set && call.is(at, "get") => found.get = true,
            _ if is_set && call.is(at, "keepttl") && found.life.is_none() => found.keep_ttl = true,
            _ if !is_set && call.is(at, "persist") && found.life.is_none() => found.persist = true,
            _ => return Err(SYNTAX.into()),
        }
        at += 1;
    }
    Ok(found)
}

fn set(call: &mut Call<'_>) -> Done {
    let (key, value) = (call.key_at(1), call.arg(2));
    // Only a SET without NX, XX, GET or KEEPTTL lets the store decline the value.
    let offered = Key { may_be_declined: true, ..key };
    if call.args.len() == 3 {
        call.server.store.set(&offered, value, None, call.now)?;
        call.event(event_classes::STRING, "set", call.arg(1));
        return call.ok();
    }
    let options = options(call, 3, true)?;
    let now_ms = call.now.unix_ms;
    let expires = match options.life {
        Some((life, value)) => Some(ends(life, value, now_ms, "set")?),
        None => None,
    };
    let plain = !options.if_absent && !options.if_present && !options.keep_ttl && !options.get;
    if plain && expires.is_none_or(|at| at > now_ms) {
        match options.cost {
            Some(cost) => {
                call.server.store.set_with_hint(&offered, value, expires, cost, call.now)?;
            }
            None => call.server.store.set(&offered, value, expires, call.now)?,
        }
        tell_set(call, call.arg(1), expires);
        return call.ok();
    }
    let get = options.get;
    let update = |item: Option<&Item<'_>>| {
        let old = get.then(|| item.map(|item| string(item).map(<[u8]>::to_vec)));
        if let Some(Some(Err(wrong))) = old {
            return (Change::Keep, (false, Some(Some(Err(wrong)))));
        }
        if options.if_absent && item.is_some() || options.if_present && item.is_none() {
            return (Change::Keep, (false, old));
        }
        let kept = item.and_then(|item| item.expires).filter(|_| options.keep_ttl);
        (change(value, expires.or(kept), now_ms), (true, old))
    };
    let (done, old) = match options.cost {
        Some(cost) => call.server.store.update_with_hint(&key, cost, call.now, update)?,
        None => call.server.store.update(&key, call.now, update)?,
    };
    if done {
        tell_set(call, call.arg(1), expires);
    }
    match old {
        Some(Some(old)) => call.out.bulk(&old?),
        None if done => return call.ok(),
        _ => call.out.null(),
    }
    Ok(())
}

/// Sends the notifications for a written key, and for its expiry if it has one.
fn tell_set(call: &Call<'_>, key: &[u8], expires: Option<u64>) {
    call.event(event_classes::STRING, "set", key);
    if expires.is_some() {
        call.event(event_classes::GENERIC, "expire", key);
    }
}

fn set_for(call: &mut Call<'_>, life: Expiry, command: &str) -> Done {
    let now_ms = call.now.unix_ms;
    let expires = ends(life, call.arg(2), now_ms, command)?;
    call.server.store.set(&call.key_at(1), call.arg(3), Some(expires), call.now)?;
    tell_set(call, call.arg(1), Some(expires));
    call.ok()
}

fn setex(call: &mut Call<'_>) -> Done {
    set_for(call, Expiry::Seconds, "setex")
}

fn psetex(call: &mut Call<'_>) -> Done {
    set_for(call, Expiry::Millis, "psetex")
}

fn setnx(call: &mut Call<'_>) -> Done {
    let value = call.arg(2);
    let set = call.server.store.update(&call.key_at(1), call.now, |item| match item {
        Some(_) => (Change::Keep, false),
        None => (Change::set(value, None), true),
    })?;
    if set {
        tell_set(call, call.arg(1), None);
    }
    call.out.integer(i64::from(set));
    Ok(())
}

/// Replies with a value that a command copied or removed under the lock.
fn reply_taken(call: &mut Call<'_>, value: Taken) -> Done {
    match value? {
        Some(value) => call.out.bulk(&value),
        None => call.out.null(),
    }
    Ok(())
}

/// The value that was there, `None` without a key, or the error for another type.
type Taken = Result<Option<Vec<u8>>, &'static str>;

fn taken(item: Option<&Item<'_>>) -> Taken {
    item.map(|item| string(item).map(<[u8]>::to_vec)).transpose()
}

/// The change; no change if the key holds no string.
fn unless_wrong<'v>(taken: &Taken, change: Change<'v>) -> Change<'v> {
    if taken.is_ok() { change } else { Change::Keep }
}

fn getset(call: &mut Call<'_>) -> Done {
    let value = call.arg(2);
    let store = &call.server.store;
    let old = store.get_and_update(&call.key_at(1), call.now, |item| {
        let old = taken(item);
        (unless_wrong(&old, Change::set(value, None)), old)
    })?;
    if old.is_ok() {
        tell_set(call, call.arg(1), None);
    }
    reply_taken(call, old)
}

fn getdel(call: &mut Call<'_>) -> Done {
    let store = &call.server.store;
    let old = store.get_and_update(&call.key_at(1), call.now, |item| {
        let old = taken(item);
        (unless_wrong(&old, Change::Remove), old)
    })?;
    if matches!(old, Ok(Some(_))) {
        call.event(event_classes::GENERIC, "del", call.arg(1));
    }
    reply_taken(call, old)
}

fn getex(call: &mut Call<'_>) -> Done {
    let options = options(call, 2, false)?;
    let now_ms = call.now.unix_ms;
    let expires = options.life.map(|(life, value)| ends(life, value, now_ms, "getex")).transpose();
    let store = &call.server.store;
    let mut had_life = false;
    let value = store.get_and_update(&call.key_at(1), call.now, |item| {
        had_life = item.is_some_and(|item| item.expires.is_some());
        let change = match expires {
            Ok(Some(at)) if at <= now_ms => Change::Remove,
            Ok(Some(at)) => Change::Expire(Some(at)),
            Ok(None) if options.persist => Change::Expire(None),
            Ok(None) | Err(_) => Change::Keep,
        };
        let old = taken(item);
        (unless_wrong(&old, change), old)
    })?;
    if matches!(value, Ok(Some(_))) {
        match expires {
            // A wrong time is an error only if the key holds a string.
            Err(wrong) => return Err(wrong),
            Ok(Some(at)) if at <= now_ms => call.event(event_classes::GENERIC, "del", call.arg(1)),
            Ok(Some(_)) => call.event(event_classes::GENERIC, "expire", call.arg(1)),
            Ok(None) if options.persist && had_life => {
                call.event(event_classes::GENERIC, "persist", call.arg(1));
            }
            Ok(None) => {}
        }
    }
    reply_taken(call, value)
}

/// Checks that MSET has a value for each key.
fn check_pairs(call: &Call<'_>, name: &str) -> Done {
    if call.args.len().is_multiple_of(2) { Err(wrong_number(name)) } else { Ok(()) }
}

/// Refuses pairs that have no room together, before the first of them is set.
fn check_room(call: &Call<'_>) -> Done {
    let pairs = || (1..call.args.len()).step_by(2);
    let bytes = |at| store::charge(call.arg(at).len(), call.arg(at + 1).len(), false) as usize;
    if size_check::is_small(pairs().map(bytes).sum()) {
        return Ok(());
    }
    let mut needs: Vec<(Key<'_>, u64)> = vec![];
    for at in pairs() {
        let (key, len) = (call.key_at(at), call.arg(at + 1).len());
        room(call, &key, len).check(0, len)?;
        let need = store::charge(key.bytes.len(), len, false);
        match needs.iter_mut().find(|(known, _)| known.tenant == key.tenant) {
            Some((_, sum)) => *sum += need,
            None => needs.push((key, need)),
        }
    }
    for (key, need) in needs {
        let room = room(call, &key, need as usize);
        if room.check_growth(need).is_err() {
            // The items that they replace may free enough room.
            let own = pairs().map(|at| call.key_at(at)).filter(|own| own.tenant == key.tenant);
            let held = |key| call.server.store.glance(&key, call.now, |item| item.charge().0);
            let left: u64 = own.filter_map(held).sum();
            room.check_growth(need.saturating_sub(left))?;
        }
    }
    Ok(())
}

fn set_pairs(call: &Call<'_>) -> Done {
    check_room(call)?;
    for at in (1..call.args.len()).step_by(2) {
        call.server.store.set(&call.key_at(at), call.arg(at + 1), None, call.now)?;
        tell_set(call, call.arg(at), None);
    }
    Ok(())
}

fn mset(call: &mut Call<'_>) -> Done {
    check_pairs(call, "mset")?;
    call.alone(|call| set_pairs(call))?;
    call.ok()
}

fn msetnx(call: &mut Call<'_>) -> Done {
    check_pairs(call, "msetnx")?;
    let absent = call.alone(|call| {
        let absent = (1..call.args.len())
            .step_by(2)
            .all(|at| call.server.store.glance(&call.key_at(at), call.now, |_| ()).is_none());
        if absent { set_pairs(call).map(|()| true) } else { Ok(false) }
    })?;
    call.out.integer(i64::from(absent));
    Ok(())
}

/// Refuses a value longer than the longest allowed argument.
pub(super) fn check_len(call: &Call<'_>, len: usize) -> Done {
    if len as u64 > call.view.settings.proto_max_bulk_len.0 {
        return Err("ERR string exceeds maximum allowed size (proto-max-bulk-len)".into());
    }
    Ok(())
}

/// The room for a value of a key, of at least `len` bytes.
pub(super) fn room(call: &Call<'_>, key: &Key<'_>, len: usize) -> Room {
    Room::of(&call.server.store, call.view, key.tenant, len)
}

fn append(call: &mut Call<'_>) -> Done {
    let bytes = call.arg(2);
    let key = call.key_at(1);
    let room = room(call, &key, bytes.len());
    let max = call.view.settings.proto_max_bulk_len.0;
    let len = call.server.store.update(&key, call.now, |item| {
        let old = match item.map_or(Ok(&b""[..]), string) {
            Ok(old) => old,
            Err(wrong) => return (Change::Keep, Err(wrong.into())),
        };
        let len = old.len() + bytes.len();
        if len as u64 > max {
            return (Change::Keep, Ok(len));
        }
        if let Err(error) = room.check(old.len(), len) {
            return (Change::Keep, Err(Failure::from(error)));
        }
        let change = match item {
            Some(item) if item.kind != STRING => {
                rewrite(Some(item), [old, bytes].concat(), || call.server.memcached.next_cas())
            }
            _ => Change::Append(bytes),
        };
        (change, Ok(len))
    })??;
    check_len(call, len)?;
    call.event(event_classes::STRING, "append", call.arg(1));
    call.out.integer(len as i64);
    Ok(())
}

fn strlen(call: &mut Call<'_>) -> Done {
    let (store, key) = (&call.server.store, call.key_at(1));
    let plain = |item: &Item<'_>| (item.kind == STRING).then(|| item.value_len());
    if let Some(Some(len)) = store.glance(&key, call.now, plain) {
        call.out.integer(len as i64);
        return Ok(());
    }
    let len = |item: &Item<'_>| string(item).map(<[u8]>::len);
    let len = store.peek(&key, call.now, len).unwrap_or(Ok(0))?;
    call.out.integer(len as i64);
    Ok(())
}

fn getrange(call: &mut Call<'_>) -> Done {
    let (start, end) = (call.integer(2)?, call.integer(3)?);
    let key = call.key_at(1);
    let out = &mut call.out;
    let found = call.server.store.get(&key, call.now, |item| {
        let value = string(item)?;
        let len = value.len() as i64;
        let clamp = |at: i64| if at < 0 { (len + at).max(0) } else { at };
        let (from, to) = (clamp(start), clamp(end).min(len - 1));
        let empty = start < 0 && end < 0 && start > end || from > to || len == 0;
        out.bulk(if empty { b"" } else { &value[from as usize..=to as usize] });
        Ok::<_, &str>(())
    });
    match found {
        None => call.out.bulk(b""),
        Some(done) => done?,
    }
    Ok(())
}

fn setrange(call: &mut Call<'_>) -> Done {
    let offset = call.integer(2)?;
    let bytes = call.arg(3);
    let Ok(offset) = usize::try_from(offset) else {
        return Err("ERR offset is out of range".into());
    };
    if bytes.is_empty() {
        return strlen(call);
    }
    check_len(call, offset.saturating_add(bytes.len()))?;
    let key = call.key_at(1);
    let end = offset + bytes.len();
    let ((), len) = splice(call, &key, offset..end, |part| part.copy_from_slice(bytes))?;
    call.event(event_classes::STRING, "setrange", call.arg(1));
    call.out.integer(len as i64);
    Ok(())
}

/// Lets `f` change a range of a string's bytes, after zeros have filled a shorter string up to its
/// end. Returns the result and the length. An existing range of a string without flags is changed
/// in place, so a long value is not copied.
pub(super) fn splice<R>(
    call: &Call<'_>,
    key: &Key<'_>,
    at: Range<usize>,
    f: impl FnOnce(&mut [u8]) -> R,
) -> Result<(R, usize), Failure> {
    let room = room(call, key, at.end);
    call.server.store.update(key, call.now, |item| {
        let old = match item.map_or(Ok(&b""[..]), string) {
            Ok(old) => old,
            Err(wrong) => return (Change::Keep, Err(wrong.into())),
        };
        if item.is_some_and(|item| item.kind == STRING) && at.end <= old.len() {
            let mut part = old[at.clone()].to_vec();
            let result = f(&mut part);
            return (Change::Patch(at.start, part.into()), Ok((result, old.len())));
        }
        // The check comes before the copy, so a refused command takes no memory.
        if let Err(error) = room.check(old.len(), at.end) {
            return (Change::Keep, Err(Failure::from(error)));
        }
        let len = old.len().max(at.end);
        let mut value = Vec::with_capacity(len);
        value.extend_from_slice(old);
        value.resize(len, 0);
        let result = f(&mut value[at]);
        (rewrite(item, value, || call.server.memcached.next_cas()), Ok((result, len)))
    })?
}

/// Lets `f` change the bytes of a string, an empty one if the key does not exist. `f` may make it
/// `long` bytes long, and returns whether it changed it.
pub(super) fn modify<R>(
    call: &Call<'_>,
    key: &Key<'_>,
    long: usize,
    f: impl FnOnce(&mut Vec<u8>) -> (bool, R),
) -> Result<R, Failure> {
    let room = room(call, key, long);
    call.server.store.update(key, call.now, |item| {
        let old = match item.map_or(Ok(&b""[..]), string) {
            Ok(old) => old,
            Err(wrong) => return (Change::Keep, Err(wrong.into())),
        };
        // The check comes before the copy, so a refused command takes no memory.
        if let Err(error) = room.check(old.len(), long) {
            return (Change::Keep, Err(Failure::from(error)));
        }
        let mut value = Vec::with_capacity(old.len().max(long));
        value.extend_from_slice(old);
        let (changed, result) = f(&mut value);
        let change = if changed {
            rewrite(item, value, || call.server.memcached.next_cas())
        } else {
            Change::Keep
        };
        (change, Ok(result))
    })?
}
