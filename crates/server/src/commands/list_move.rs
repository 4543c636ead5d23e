//! Lists: commands that move elements from one list to another, or take from the first of several
//! lists that has any.

use super::collection_steps::{change, key_count, len, look, together};
use super::hash_steps::Trace;
use super::list::{End, shows, take};
use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, WRITE};
use crate::facts::{Access, Keys, NO_KEY, access};
use crate::values::collection::list::{self, List};
use std::ops::Range;
use wire::resp::parse_integer;

/// The source and the destination.
pub(super) const TWO_KEYS: Keys = Keys::new(1, 2, 1);

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("lmove", 5, WRITE | DENY_OOM, lmove).keys(TWO_KEYS).accesses(move_access).doc(
        "list",
        "6.2.0",
        "Moves an element from an end of one list to an end of another.",
    ),
    Command::new("rpoplpush", 3, WRITE | DENY_OOM, rpoplpush)
        .keys(TWO_KEYS)
        .accesses(move_access)
        .doc("list", "1.2.0", "Moves the last element of a list to the front of another."),
    Command::new("lmpop", -4, WRITE, lmpop).keys(NO_KEY.and_counted(1)).access(access::POPS).doc(
        "list",
        "7.0.0",
        "Removes and returns elements of the first list with elements.",
    ),
];

pub(super) fn move_access(_: &[&[u8]], at: usize) -> Access {
    if at == 1 { access::POPS } else { access::ADDS }
}

/// Moves an element from an end of the list at argument 1 to an end of the list at argument 2;
/// `None` if the source is empty. The caller makes sure that no other worker runs between.
pub(super) fn carry(call: &Call<'_>, from: End, to: End) -> Result<Option<Vec<u8>>, Failure> {
    let (source, destination) = (call.key_at(1), call.key_at(2));
    if len::<List>(call, &source)? == 0 {
        return Ok(None);
    }
    // Checks before any change that the destination is a list or does not exist.
    len::<List>(call, &destination)?;
    let mut element = None;
    look::<List, _>(call, &source, Trace::None, |view| {
        let at = if from == End::Left { 0 } else { view.len::<List>().saturating_sub(1) };
        element = view.at::<List>(at).map(<[u8]>::to_vec);
    })?;
    let Some(element) = element else {
        return Ok(None);
    };
    // First inserts it there, then removes it here: an element that finds no room stays in its
    // list.
    change::<List, _>(call, &destination, true, |held| {
        list::insert(held, to.position(), &element)?;
        Ok((true, ()))
    })?;
    take(call, &source, (from, 1), |_| true)?;
    call.event(event_classes::LIST, to.events().0, call.arg(2));
    Ok(Some(element))
}

fn reply(call: &mut Call<'_>, from: End, to: End) -> Done {
    match call.alone(|call| carry(call, from, to))? {
        Some(element) => call.out.bulk(&element),
        None => call.out.null(),
    }
    Ok(())
}

fn lmove(call: &mut Call<'_>) -> Done {
    let (from, to) = (End::at(call, 3)?, End::at(call, 4)?);
    reply(call, from, to)
}

fn rpoplpush(call: &mut Call<'_>) -> Done {
    reply(call, End::Right, End::Left)
}

/// The number of elements that COUNT at argument `at` asks for; one without COUNT.
pub(super) fn pop_count(call: &Call<'_>, at: usize) -> Result<u64, Failure> {
    match call.args.len() - at {
        0 => Ok(1),
        2 if call.is(at, "count") => {
            let count = parse_integer(call.arg(at + 1)).filter(|&count| count > 0);
            Ok(count.ok_or("ERR count should be greater than 0")? as u64)
        }
        _ => Err(SYNTAX.into()),
    }
}

/// Takes elements out of the first non-empty list among the keys that argument `at` counts, and
/// replies with them. Returns whether there was one.
pub(super) fn pop_first(call: &mut Call<'_>, at: usize) -> Result<bool, Failure> {
    let keys = key_count(call, at, SYNTAX)?;
    let behind = at + 1 + keys;
    if behind >= call.args.len() {
        return Err(SYNTAX.into());
    }
    let (end, count) = (End::at(call, behind)?, pop_count(call, behind + 1)?);
    together(call, count, |call| pop_of(call, at + 1..behind, end, count))
}

fn pop_of(call: &mut Call<'_>, keys: Range<usize>, end: End, count: u64) -> Result<bool, Failure> {
    for place in keys {
        let (mark, name) = (call.out.mark(), call.arg(place));
        let taken =
            call.write(|call, out| take(call, &call.key_at(place), (end, count), shows(out)))?;
        if taken > 0 {
            call.out.before(mark, |out| {
                out.array(2);
                out.bulk(name);
                out.array(taken as usize);
            });
            return Ok(true);
        }
    }
    Ok(false)
}

fn lmpop(call: &mut Call<'_>) -> Done {
    if !pop_first(call, 1)? {
        call.out.null_array();
    }
    Ok(())
}
