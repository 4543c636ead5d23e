//! Sorted sets: commands that remove members at the lower or upper end.

use super::collection_steps::{change, count_at, key_count, len, together};
use super::list_move::pop_count;
use super::zset::{GROUP, pair, pairs_begin};
use crate::call::{Call, Command, Done, Failure, SYNTAX, wrong_number};
use crate::facts::event_classes;
use crate::facts::flag::{FAST, WRITE};
use crate::facts::{NO_KEY, ONE_KEY, access};
use crate::values::collection::STEP_ELEMENTS;
use crate::values::collection::zset::{self, Zset};
use std::ops::Range;
use store::Key;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    pops(
        "zpopmin",
        |call| pop(call, End::Min),
        "Removes and returns the members with the lowest scores.",
    ),
    pops(
        "zpopmax",
        |call| pop(call, End::Max),
        "Removes and returns the members with the highest scores.",
    ),
    Command::new("zmpop", -4, WRITE, zmpop).keys(NO_KEY.and_counted(1)).access(access::POPS).doc(
        GROUP,
        "7.0.0",
        "Removes and returns members of the first sorted set with members.",
    ),
];

const fn pops(name: &'static str, run: crate::call::Handler, summary: &'static str) -> Command {
    let command = Command::new(name, -2, WRITE | FAST, run).keys(ONE_KEY).access(access::POPS);
    command.doc(GROUP, "5.0.0", summary)
}

/// An end of a sorted set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Min,
    Max,
}

impl End {
    const fn event(self) -> &'static str {
        if matches!(self, Self::Min) { "zpopmin" } else { "zpopmax" }
    }
}

/// Removes `count` members from an end, in steps, until `visit` returns false. Returns how many it
/// removed.
pub(super) fn take(
    call: &Call<'_>,
    key: &Key<'_>,
    (end, count): (End, u64),
    mut visit: impl FnMut(&[u8], f64) -> bool,
) -> Result<u64, Failure> {
    let (mut taken, mut goes_on) = (0, true);
    if count == 0 {
        len::<Zset>(call, key)?;
    }
    while taken < count && goes_on {
        let step = (count - taken).min(STEP_ELEMENTS as u64);
        let these = change::<Zset, _>(call, key, taken == 0, |held| {
            let mut show = |body: &[u8]| {
                let (member, score) = zset::pair(body);
                goes_on = visit(member, score);
                goes_on
            };
            let (view, len) = (held.view(), held.view().len::<Zset>());
            let these = if end == End::Min {
                view.walk::<Zset>(0, step, &mut show)
            } else {
                view.walk_back::<Zset>(len.saturating_sub(1), step, &mut show)
            };
            zset::remove_span(held, if end == End::Min { 0 } else { len - these }, these);
            Ok((these > 0, these))
        })?;
        taken += these;
        if these == 0 {
            break;
        }
    }
    if taken > 0 {
        call.lost(event_classes::ZSET, end.event(), key.bytes);
    }
    Ok(taken)
}

fn pop(call: &mut Call<'_>, end: End) -> Done {
    let count = match call.args.len() {
        2 => None,
        3 => Some(count_at(call, 2)?),
        _ => return Err(wrong_number(end.event())),
    };
    let mark = call.out.mark();
    let taken = call.write(|call, out| {
        take(call, &call.key_at(1), (end, count.unwrap_or(1)), |member, score| {
            if count.is_some() {
                pair(out, member, score, true);
            } else {
                // A call without COUNT replies member and score side by side, not as a pair, in
                // each version of RESP.
                out.bulk(member);
                out.double(score);
            }
            !out.is_over()
        })
    })?;
    call.out.before(mark, |out| match count {
        None => out.array(2 * taken as usize),
        Some(_) => pairs_begin(out, taken as usize, true),
    });
    Ok(())
}

/// Removes members from the first non-empty sorted set among the keys that argument `at` counts,
/// and replies with them. Returns whether there was one.
pub(super) fn pop_first(call: &mut Call<'_>, at: usize) -> Result<bool, Failure> {
    let keys = key_count(call, at, SYNTAX)?;
    let behind = at + 1 + keys;
    let end = if call.is(behind, "min") {
        End::Min
    } else if call.is(behind, "max") {
        End::Max
    } else {
        return Err(SYNTAX.into());
    };
    let count = pop_count(call, behind + 1)?;
    together(call, count, |call| pop_of(call, at + 1..behind, end, count))
}

fn pop_of(call: &mut Call<'_>, keys: Range<usize>, end: End, count: u64) -> Result<bool, Failure> {
    for place in keys {
        let (mark, name) = (call.out.mark(), call.arg(place));
        let taken = call.write(|call, out| {
            take(call, &call.key_at(place), (end, count), |member, score| {
                out.array(2);
                out.bulk(member);
                out.double(score);
                !out.is_over()
            })
        })?;
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

fn zmpop(call: &mut Call<'_>) -> Done {
    if !pop_first(call, 1)? {
        call.out.null_array();
    }
    Ok(())
}
