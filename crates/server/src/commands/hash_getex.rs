//! Commands that read or write fields and change their expiry in one step: HGETDEL, HGETEX, HSETEX.

use super::expiry_args::check_field;
use super::hash_life::first_field;
use super::hash_steps::{Trace, change, change_each, is_one_step, look, look_each};
use crate::call::expiry::{Expiry, ends};
use crate::call::{Call, Command, Done, Failure, OVERFLOW, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, WRITE};
use crate::facts::{ONE_KEY, access};
use crate::values::hash::Hash;

const GROUP: &str = "hash";
const SINCE: &str = "8.0.0";

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("hgetdel", -5, WRITE | FAST, hgetdel).keys(ONE_KEY).doc(
        GROUP,
        SINCE,
        "Returns the values of fields and removes the fields.",
    ),
    Command::new("hgetex", -5, WRITE | FAST, hgetex).keys(ONE_KEY).doc(
        GROUP,
        SINCE,
        "Returns the values of fields and sets their expiry.",
    ),
    Command::new("hsetex", -6, WRITE | DENY_OOM | FAST, hsetex)
        .keys(ONE_KEY)
        .access(access::CHANGES)
        .doc(GROUP, SINCE, "Sets fields and their expiry."),
];

/// The change of a field's expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The expiry stays as it is.
    Keep,
    /// The field loses its expiry.
    Persist,
    /// The field expires at this time, in Unix milliseconds.
    Until(u64),
}

/// The condition on fields that must hold before any is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Only {
    IfNone,
    IfAll,
}

/// The options before FIELDS, and the position of that word.
struct Options {
    then: Option<Then>,
    only: Option<Only>,
    /// Whether the key must exist (XX) or must not (NX).
    key: Option<bool>,
    fields_at: usize,
}

/// Reads the options. `keep` is the option without a time: a word, and its change of the expiry.
fn options(call: &Call<'_>, command: &str, keep: (&str, Then)) -> Result<Options, Failure> {
    let mut found = Options { then: None, only: None, key: None, fields_at: 2 };
    while !call.is(found.fields_at, "fields") && found.fields_at < call.args.len() {
        let at = found.fields_at;
        let then = match (Expiry::named(call.arg(at)), call.args.get(at + 1)) {
            (Some(life), Some(value)) => {
                let at = ends(life, value, call.now.unix_ms, command)?;
                Some(check_field(at as i64, command)? as u64)
            }
            _ => None,
        };
        let words = [("fnx", Only::IfNone), ("fxx", Only::IfAll)];
        let is = |word: &str| command == "hsetex" && call.is(at, word);
        let only = words.into_iter().find(|(word, _)| is(word)).map(|(_, only)| only);
        if let (Some(until), None) = (then, found.then) {
            found.then = Some(Then::Until(until));
            found.fields_at += 1;
        } else if call.is(at, keep.0) && found.then.is_none() {
            found.then = Some(keep.1);
        } else if only.is_some() && found.only.is_none() {
            found.only = only;
        } else if (is("nx") || is("xx")) && found.key.is_none() {
            found.key = Some(is("xx"));
        } else {
            return Err(SYNTAX.into());
        }
        found.fields_at += 1;
    }
    Ok(found)
}

/// Replies with the values of the fields from argument `first` on. `then` handles each field after
/// the read; `changes` is whether it changes fields that exist.
fn read(
    call: &mut Call<'_>,
    first: usize,
    changes: bool,
    then: impl Fn(&mut Hash<'_, '_, '_>, &[u8]) -> Done,
) -> Result<bool, Failure> {
    call.out.array(call.args.len() - first);
    let mut any = false;
    call.write(|call, out| {
        change_each(call, first, 1, |hash, at| {
            if out.is_over() {
                return Err(OVERFLOW.into());
            }
            let value = hash.get(call.arg(at)).map(|(value, _)| out.bulk(value));
            let found = value.is_some();
            if !found {
                out.null();
            }
            any |= found;
            then(hash, call.arg(at))?;
            Ok(changes && found)
        })
    })?;
    Ok(any)
}

fn hgetdel(call: &mut Call<'_>) -> Done {
    let first = first_field(call, 2, 1)?;
    let found = read(call, first, true, |hash, name| {
        hash.remove(name);
        Ok(())
    })?;
    if found {
        call.lost(event_classes::HASH, "hdel", call.arg(1));
    }
    Ok(())
}

fn hgetex(call: &mut Call<'_>) -> Done {
    let options = options(call, "hgetex", ("persist", Then::Persist))?;
    let first = first_field(call, options.fields_at, 1)?;
    let (now_ms, then) = (call.now.unix_ms, options.then.unwrap_or(Then::Keep));
    let found = read(call, first, then != Then::Keep, |hash, name| live(hash, name, then, now_ms))?;
    if found {
        notify_expiry(call, then);
    }
    Ok(())
}

fn hsetex(call: &mut Call<'_>) -> Done {
    let options = options(call, "hsetex", ("keepttl", Then::Keep))?;
    let first = first_field(call, options.fields_at, 2)?;
    let now_ms = call.now.unix_ms;
    let then = options.then.unwrap_or(Then::Persist);
    let allows = |exists: bool| options.only.is_none_or(|only| exists == (only == Only::IfAll));
    let begins = |exists: bool| options.key.is_none_or(|wanted| wanted == exists);
    let write = |hash: &mut Hash<'_, '_, '_>, at: usize| {
        hash.put(call.arg(at), call.arg(at + 1))?;
        live(hash, call.arg(at), then, now_ms)
    };
    let set = if is_one_step(call, first, 2) {
        change(call, |hash| {
            let pairs = || (first..call.args.len()).step_by(2);
            let allowed = begins(!hash.is_empty())
                && pairs().all(|at| allows(hash.get(call.arg(at)).is_some()));
            if allowed {
                pairs().try_for_each(|at| write(hash, at))?;
            }
            Ok((allowed, allowed))
        })?
    } else {
        let mut allowed = begins(look(call, Trace::None, |hash| hash.len(now_ms))? > 0);
        look_each(call, Trace::None, first, 2, |hash, at| {
            allowed &= allows(hash.find(call.arg(at), now_ms).is_some());
        })?;
        if allowed {
            change_each(call, first, 2, |hash, at| write(hash, at).map(|()| true))?;
        }
        allowed
    };
    if set {
        call.event(event_classes::HASH, "hset", call.arg(1));
        if matches!(then, Then::Until(_)) {
            notify_expiry(call, then);
        }
    }
    call.out.integer(i64::from(set));
    Ok(())
}

/// Sends the notification about a changed expiry.
fn notify_expiry(call: &Call<'_>, then: Then) {
    match then {
        Then::Keep => {}
        Then::Persist => call.event(event_classes::HASH, "hpersist", call.arg(1)),
        Then::Until(at) if at <= call.now.unix_ms => {
            call.lost(event_classes::HASH, "hdel", call.arg(1));
        }
        Then::Until(_) => call.event(event_classes::HASH, "hexpire", call.arg(1)),
    }
}

/// Changes the expiry of a field, if the field exists. A time that has passed removes the field.
fn live(hash: &mut Hash<'_, '_, '_>, name: &[u8], then: Then, now_ms: u64) -> Done {
    match then {
        Then::Keep => {}
        Then::Persist => hash.live(name, None)?,
        Then::Until(at) if at <= now_ms => _ = hash.remove(name),
        Then::Until(at) => hash.live(name, Some(at))?,
    }
    Ok(())
}
