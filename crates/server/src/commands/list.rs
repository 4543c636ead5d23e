//! Lists: commands that add and remove elements at either end, or address them by position.

use super::budget::Growth;
use super::collection_steps::{change, count_at, len, look, reply_len, walk};
use super::hash_steps::{Trace, step_end};
use super::string::room;
use crate::call::{Call, Command, Done, Failure, SYNTAX, wrong_number};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, READ, UNTRACED, WRITE};
use crate::facts::{ONE_KEY, access};
use crate::values::collection::list::{self, List};
use crate::values::collection::{STEP_ELEMENTS, View};
use store::Key;
use wire::resp::Encoder;

const GROUP: &str = "list";

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    pushes("lpush", |call| push(call, End::Left, true), "1.0.0", "Inserts elements at the front."),
    pushes("rpush", |call| push(call, End::Right, true), "1.0.0", "Inserts elements at the end."),
    pushes("lpushx", |call| push(call, End::Left, false), "2.2.0", "LPUSH, if the list exists."),
    pushes("rpushx", |call| push(call, End::Right, false), "2.2.0", "RPUSH, if the list exists."),
    pops("lpop", |call| pop(call, End::Left), "Removes and returns elements at the front."),
    pops("rpop", |call| pop(call, End::Right), "Removes and returns elements at the end."),
    Command::new("llen", 2, READ | FAST | UNTRACED, reply_len::<List>)
        .keys(ONE_KEY)
        .access(access::ASKS)
        .doc(GROUP, "1.0.0", "Counts the elements."),
    Command::new("lindex", 3, READ, lindex).keys(ONE_KEY).doc(
        GROUP,
        "1.0.0",
        "The element at a position.",
    ),
    Command::new("lrange", 4, READ, lrange).keys(ONE_KEY).doc(
        GROUP,
        "1.0.0",
        "The elements from one position to another.",
    ),
    Command::new("lset", 4, WRITE | DENY_OOM, lset).keys(ONE_KEY).access(access::CHANGES).doc(
        GROUP,
        "1.0.0",
        "Replaces an element.",
    ),
    Command::new("ltrim", 4, WRITE, ltrim).keys(ONE_KEY).access(access::DROPS).doc(
        GROUP,
        "1.0.0",
        "Keeps only the elements from one position to another.",
    ),
];

const fn pushes(
    name: &'static str,
    run: crate::call::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    let command = Command::new(name, -3, WRITE | DENY_OOM | FAST, run);
    command.keys(ONE_KEY).access(access::ADDS).doc(GROUP, since, summary)
}

const fn pops(name: &'static str, run: crate::call::Handler, summary: &'static str) -> Command {
    let command = Command::new(name, -2, WRITE | FAST, run);
    command.keys(ONE_KEY).access(access::POPS).doc(GROUP, "1.0.0", summary)
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Left,
    Right,
}

impl End {
    /// The end that the word at argument `at` names.
    pub(super) fn at(call: &Call<'_>, at: usize) -> Result<Self, Failure> {
        if call.is(at, "left") {
            Ok(Self::Left)
        } else if call.is(at, "right") {
            Ok(Self::Right)
        } else {
            Err(SYNTAX.into())
        }
    }

    /// The position at which an element is inserted at this end.
    pub(super) const fn position(self) -> u64 {
        if matches!(self, Self::Left) { 0 } else { u64::MAX }
    }

    /// The names of the notifications for an element added and removed at this end.
    pub(super) const fn events(self) -> (&'static str, &'static str) {
        if matches!(self, Self::Left) { ("lpush", "lpop") } else { ("rpush", "rpop") }
    }
}

fn push(call: &mut Call<'_>, end: End, makes: bool) -> Done {
    let (key, mut at, mut count) = (call.key_at(1), 2, 0);
    let growth = Growth::of(call, &key, 2, 1, 1);
    while at < call.args.len() {
        let until = step_end(call, at, 1);
        count = change::<List, _>(call, &key, at == 2, |held| {
            if !makes && held.view().len::<List>() == 0 {
                return Ok((false, 0));
            }
            if at == 2 {
                growth.check(call, |_| true, |growth| held.check_growth(growth))?;
            }
            for at in at..until {
                list::insert(held, end.position(), call.arg(at))?;
            }
            Ok((true, held.view().len::<List>()))
        })?;
        at = until;
    }
    if count > 0 {
        call.event(event_classes::LIST, end.events().0, call.arg(1));
    }
    call.out.integer(count as i64);
    Ok(())
}

/// Removes `count` elements from an end of a list, in steps, until `visit` returns false. Returns
/// how many it removed.
pub(super) fn take(
    call: &Call<'_>,
    key: &Key<'_>,
    (end, count): (End, u64),
    mut visit: impl FnMut(&[u8]) -> bool,
) -> Result<u64, Failure> {
    let (mut taken, mut goes_on) = (0, true);
    while taken < count && goes_on {
        let step = (count - taken).min(STEP_ELEMENTS as u64);
        let these = change::<List, _>(call, key, taken == 0, |held| {
            let len = held.view().len::<List>();
            if step == 1 {
                let at = if end == End::Left { 0 } else { len.saturating_sub(1) };
                let is_gone = held.remove_at::<List>(at, |element| goes_on = visit(element));
                return Ok((is_gone, u64::from(is_gone)));
            }
            let mut show = |element: &[u8]| {
                goes_on = visit(element);
                goes_on
            };
            let view = held.view();
            let these = if end == End::Left {
                view.walk::<List>(0, step, &mut show)
            } else {
                view.walk_back::<List>(len.saturating_sub(1), step, &mut show)
            };
            let mut left = these;
            while left > 0 {
                let first = if end == End::Left { 0 } else { len - these };
                left -= held.remove_span::<List>(first, left);
            }
            Ok((these > 0, these))
        })?;
        taken += these;
        if these == 0 {
            break;
        }
    }
    if taken > 0 {
        call.lost(event_classes::LIST, end.events().1, key.bytes);
    }
    Ok(taken)
}

/// Writes each element that is shown, until the reply reaches its limit.
pub(super) fn shows(out: &mut Encoder<'_>) -> impl FnMut(&[u8]) -> bool {
    |element| {
        out.bulk(element);
        !out.is_over()
    }
}

fn pop(call: &mut Call<'_>, end: End) -> Done {
    let count = match call.args.len() {
        2 => None,
        3 => Some(count_at(call, 2)?),
        _ => return Err(wrong_number(end.events().1)),
    };
    let key = call.key_at(1);
    if count == Some(0) {
        let is_there = len::<List>(call, &key)? > 0;
        if is_there {
            call.out.array(0);
        } else {
            call.out.null_array();
        }
        return Ok(());
    }
    let mark = call.out.mark();
    let taken = call.write(|call, out| take(call, &key, (end, count.unwrap_or(1)), shows(out)))?;
    match (taken, count) {
        (0, None) => call.out.null(),
        (0, Some(_)) => call.out.null_array(),
        (_, None) => {}
        (_, Some(_)) => call.out.before(mark, |out| out.array(taken as usize)),
    }
    Ok(())
}

/// The position that a number means; a negative number counts from the end.
fn position(number: i64, len: u64) -> Option<u64> {
    let at = if number < 0 { number.checked_add_unsigned(len)? } else { number };
    u64::try_from(at).ok().filter(|&at| at < len)
}

/// The first position of a range and its number of positions; negative numbers count from the end.
pub(super) fn range(start: i64, stop: i64, len: u64) -> (u64, u64) {
    let from_end = |number: i64| {
        if number < 0 { number.saturating_add_unsigned(len) } else { number }
    };
    let (start, stop) = (from_end(start).max(0), from_end(stop).min(len as i64 - 1));
    if start > stop { (0, 0) } else { (start as u64, (stop - start) as u64 + 1) }
}

fn lindex(call: &mut Call<'_>) -> Done {
    let key = call.key_at(1);
    if len::<List>(call, &key)? == 0 {
        call.out.null();
        return Ok(());
    }
    let number = call.integer(2)?;
    let found = look::<List, _>(call, &key, Trace::Read, |view: View<'_>| {
        let at = position(number, view.len::<List>())?;
        view.at::<List>(at).map(<[u8]>::to_vec)
    })?;
    match found {
        Some(element) => call.out.bulk(&element),
        None => call.out.null(),
    }
    Ok(())
}

fn lrange(call: &mut Call<'_>) -> Done {
    let (start, stop, key) = (call.integer(2)?, call.integer(3)?, call.key_at(1));
    let (from, count) = range(start, stop, len::<List>(call, &key)?);
    let (mark, mut shown) = (call.out.mark(), 0);
    call.write(|call, out| {
        walk::<List>(call, &key, (from, count, false), |element| {
            out.bulk(element);
            shown += 1;
            !out.is_over()
        })
    })?;
    call.out.before(mark, |out| out.array(shown));
    Ok(())
}

fn lset(call: &mut Call<'_>) -> Done {
    let (key, element) = (call.key_at(1), call.arg(3));
    if call.server.store.glance(&key, call.now, |_| ()).is_none() {
        return Err("ERR no such key".into());
    }
    len::<List>(call, &key)?;
    let number = call.integer(2)?;
    room(call, &key, element.len()).check(0, element.len())?;
    change::<List, _>(call, &key, true, |held| {
        let at = position(number, held.view().len::<List>()).ok_or("ERR index out of range")?;
        list::replace(held, at, element)?;
        Ok((true, ()))
    })?;
    call.event(event_classes::LIST, "lset", call.arg(1));
    call.ok()
}

/// Removes `count` elements from `position` on, in steps.
fn cut(call: &Call<'_>, key: &Key<'_>, position: u64, count: u64, counted: bool) -> Done {
    let (mut left, mut counted) = (count, counted);
    while left > 0 {
        let gone = change::<List, _>(call, key, counted, |held| {
            let gone = held.remove_span::<List>(position, left);
            Ok((gone > 0, gone))
        })?;
        if gone == 0 {
            break;
        }
        (left, counted) = (left - gone, false);
    }
    Ok(())
}

fn ltrim(call: &mut Call<'_>) -> Done {
    let (start, stop, key) = (call.integer(2)?, call.integer(3)?, call.key_at(1));
    let len = len::<List>(call, &key)?;
    let (from, count) = range(start, stop, len);
    let behind = len - from - count;
    cut(call, &key, from + count, behind, true)?;
    cut(call, &key, 0, from, behind == 0)?;
    if len > 0 {
        call.lost(event_classes::LIST, "ltrim", call.arg(1));
    }
    call.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_from_both_ends() {
        for (start, stop, len, found) in [
            (0, -1, 5, (0, 5)),
            (1, 1, 5, (1, 1)),
            (-2, 9, 5, (3, 2)),
            (-9, 0, 5, (0, 1)),
            (3, 2, 5, (0, 0)),
            (5, 9, 5, (0, 0)),
            (0, -1, 0, (0, 0)),
            (i64::MIN, i64::MAX, 3, (0, 3)),
        ] {
            assert_eq!(range(start, stop, len), found, "{start} {stop} {len}");
        }
        assert_eq!(position(-1, 3), Some(2));
        assert_eq!(position(3, 3), None);
        assert_eq!(position(i64::MIN, 3), None);
    }
}
