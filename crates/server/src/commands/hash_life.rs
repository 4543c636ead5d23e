//! The expiry of fields of hashes.

use super::expiry_args::{Conditions, check_field};
use super::hash_steps::{Trace, change_each, look_each};
use crate::call::expiry::moment;
use crate::call::{Call, Command, Done, Failure};
use crate::facts::event_classes;
use crate::facts::flag::{FAST, READ, UNTRACED, WRITE};
use crate::facts::{ONE_KEY, access};
use wire::resp::parse_integer;

const GROUP: &str = "hash";
const SINCE: &str = "7.4.0";

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    writes("hexpire", -6, hexpire, "Sets the time to live of fields, in seconds."),
    writes("hpexpire", -6, hpexpire, "Sets the time to live of fields, in milliseconds."),
    writes("hexpireat", -6, hexpireat, "Sets the expiry times of fields, in Unix seconds."),
    writes("hpexpireat", -6, hpexpireat, "Sets the expiry times of fields, in Unix milliseconds."),
    writes("hpersist", -5, hpersist, "Removes the expiry of fields."),
    reads("httl", httl, "The remaining time to live of fields, in seconds."),
    reads("hpttl", hpttl, "The remaining time to live of fields, in milliseconds."),
    reads("hexpiretime", hexpiretime, "The expiry times of fields, in Unix seconds."),
    reads("hpexpiretime", hpexpiretime, "The expiry times of fields, in Unix milliseconds."),
];

const fn writes(
    name: &'static str,
    arity: i32,
    run: crate::call::Handler,
    summary: &'static str,
) -> Command {
    let command = Command::new(name, arity, WRITE | FAST, run).keys(ONE_KEY);
    command.access(access::CHANGES).doc(GROUP, SINCE, summary)
}

const fn reads(name: &'static str, run: crate::call::Handler, summary: &'static str) -> Command {
    Command::new(name, -5, READ | FAST | UNTRACED, run).keys(ONE_KEY).doc(GROUP, SINCE, summary)
}

/// The replies for a field that does not exist, that has no expiry, whose expiry a condition kept,
/// that was changed, and that was removed.
const ABSENT: i64 = -2;
const ENDLESS: i64 = -1;
const KEPT: i64 = 0;
const CHANGED: i64 = 1;
const REMOVED: i64 = 2;

/// The argument of the first field behind `FIELDS count` at argument `at`. Each field has `each`
/// arguments.
pub(super) fn first_field(call: &Call<'_>, at: usize, each: usize) -> Result<usize, Failure> {
    if !call.is(at, "fields") {
        return Err("ERR Mandatory argument FIELDS is missing or not at the right position".into());
    }
    let count = call.args.get(at + 1).and_then(parse_integer).filter(|&count| count > 0);
    let count = count.ok_or("ERR Parameter `numFields` should be greater than 0")?;
    let arguments = (count as usize).checked_mul(each);
    if arguments != Some(call.args.len() - (at + 2)) {
        return Err("ERR The `numfields` parameter must match the number of arguments".into());
    }
    Ok(at + 2)
}

fn reply(call: &mut Call<'_>, answers: &[i64]) -> Done {
    call.out.array(answers.len());
    for &answer in answers {
        call.out.integer(answer);
    }
    Ok(())
}

fn set_lives(call: &mut Call<'_>, scale: i64, relative: bool, name: &str) -> Done {
    let now_ms = call.now.unix_ms;
    let number = call.integer(2)?;
    if number < 0 {
        return Err("ERR invalid expire time, must be >= 0".into());
    }
    let at = check_field(moment(number, scale, relative, now_ms, name)?, name)?;
    let mut conditions = Conditions::default();
    let fields_at = if conditions.add(call.arg(3)) { 4 } else { 3 };
    let first = first_field(call, fields_at, 1)?;
    let mut answers = vec![];
    change_each(call, first, 1, |hash, field| {
        let name = call.arg(field);
        let answer = match hash.get(name) {
            None => ABSENT,
            Some((_, dies)) if !conditions.allow(dies, at) => KEPT,
            Some(_) if at <= now_ms as i64 => {
                hash.remove(name);
                REMOVED
            }
            Some(_) => {
                hash.live(name, Some(at as u64))?;
                CHANGED
            }
        };
        answers.push(answer);
        Ok(matches!(answer, CHANGED | REMOVED))
    })?;
    if answers.contains(&CHANGED) {
        call.event(event_classes::HASH, "hexpire", call.arg(1));
    }
    if answers.contains(&REMOVED) {
        call.lost(event_classes::HASH, "hdel", call.arg(1));
    }
    reply(call, &answers)
}

fn hexpire(call: &mut Call<'_>) -> Done {
    set_lives(call, 1_000, true, "hexpire")
}

fn hpexpire(call: &mut Call<'_>) -> Done {
    set_lives(call, 1, true, "hpexpire")
}

fn hexpireat(call: &mut Call<'_>) -> Done {
    set_lives(call, 1_000, false, "hexpireat")
}

fn hpexpireat(call: &mut Call<'_>) -> Done {
    set_lives(call, 1, false, "hpexpireat")
}

fn hpersist(call: &mut Call<'_>) -> Done {
    let first = first_field(call, 2, 1)?;
    let mut answers = vec![];
    change_each(call, first, 1, |hash, field| {
        let name = call.arg(field);
        let answer = match hash.get(name) {
            None => ABSENT,
            Some((_, None)) => ENDLESS,
            Some((_, Some(_))) => {
                hash.live(name, None)?;
                CHANGED
            }
        };
        answers.push(answer);
        Ok(answer == CHANGED)
    })?;
    if answers.contains(&CHANGED) {
        call.event(event_classes::HASH, "hpersist", call.arg(1));
    }
    reply(call, &answers)
}

fn reply_lives(call: &mut Call<'_>, show: impl Fn(u64) -> u64) -> Done {
    let first = first_field(call, 2, 1)?;
    let now_ms = call.now.unix_ms;
    let mut answers = vec![];
    look_each(call, Trace::None, first, 1, |hash, field| {
        answers.push(match hash.find(call.arg(field), now_ms) {
            None => ABSENT,
            Some((_, None)) => ENDLESS,
            Some((_, Some(at))) => show(at) as i64,
        });
    })?;
    reply(call, &answers)
}

fn httl(call: &mut Call<'_>) -> Done {
    let now_ms = call.now.unix_ms;
    reply_lives(call, |at| at.saturating_sub(now_ms).div_ceil(1_000))
}

fn hpttl(call: &mut Call<'_>) -> Done {
    let now_ms = call.now.unix_ms;
    reply_lives(call, |at| at.saturating_sub(now_ms))
}

fn hexpiretime(call: &mut Call<'_>) -> Done {
    reply_lives(call, |at| at.div_ceil(1_000))
}

fn hpexpiretime(call: &mut Call<'_>) -> Done {
    reply_lives(call, |at| at)
}
