//! Sets of sets: what several have in common, what any has, what the first has alone.

use super::elements::{all, key_count, len, look_each, replace, together};
use super::flag::{DENY_OOM, READ, WRITE};
use super::{ALL_KEYS, Access, Call, Command, Done, Failure, Keys, NO_KEY, SYNTAX, access};
use crate::collection::set::{self, Set};
use crate::notify;
use std::collections::HashSet;
use std::ops::Range;

/// This family.
pub(super) const COMMANDS: &[Command] = &[
    reads("sinter", |call| reply(call, Algebra::Inter), "What all sets have in common."),
    reads("sunion", |call| reply(call, Algebra::Union), "What any of the sets has."),
    reads("sdiff", |call| reply(call, Algebra::Diff), "What the first set has alone."),
    stores("sinterstore", |call| store(call, Algebra::Inter), "Stores what all sets share."),
    stores("sunionstore", |call| store(call, Algebra::Union), "Stores what any set has."),
    stores("sdiffstore", |call| store(call, Algebra::Diff), "Stores what the first has alone."),
    Command::new("sintercard", -3, READ, sintercard).keys(NO_KEY.and_counted(1)).doc(
        "set",
        "7.0.0",
        "Counts what all sets have in common.",
    ),
];

const fn reads(name: &'static str, run: super::Handler, summary: &'static str) -> Command {
    Command::new(name, -2, READ, run).keys(ALL_KEYS).doc("set", "1.0.0", summary)
}

const fn stores(name: &'static str, run: super::Handler, summary: &'static str) -> Command {
    Command::new(name, -3, WRITE | DENY_OOM, run)
        .keys(Keys::new(1, -1, 1))
        .accesses(store_access)
        .doc("set", "1.0.0", summary)
}

fn store_access(_: &[&[u8]], at: usize) -> Access {
    if at == 1 { access::SETS } else { access::READS }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algebra {
    Inter,
    Union,
    Diff,
}

/// Leaves of the members those that are in the set of a key, or are not.
fn keep(
    call: &Call<'_>,
    key: usize,
    members: &mut Vec<Vec<u8>>,
    in_it: bool,
) -> Result<(), Failure> {
    let key = call.key_at(key);
    let found = look_each::<Set, _, _>(call, &key, members, set::contains)?;
    let mut found = found.into_iter();
    members.retain(|_| found.next() == Some(in_it));
    Ok(())
}

/// The members that come of the sets at these arguments.
fn members(call: &Call<'_>, keys: Range<usize>, algebra: Algebra) -> Result<Vec<Vec<u8>>, Failure> {
    // All of them are sets, or nothing is done.
    let lens: Vec<u64> =
        keys.clone().map(|at| len::<Set>(call, &call.key_at(at))).collect::<Result<_, _>>()?;
    let mut order: Vec<usize> = keys.clone().collect();
    match algebra {
        Algebra::Union => {
            let (mut seen, mut found) = (HashSet::new(), vec![]);
            for at in order {
                for member in all::<Set>(call, &call.key_at(at))? {
                    if seen.insert(member.clone()) {
                        found.push(member);
                    }
                }
            }
            Ok(found)
        }
        Algebra::Inter => {
            if lens.contains(&0) {
                return Ok(vec![]);
            }
            order.sort_by_key(|at| lens[at - keys.start]);
            let mut found = all::<Set>(call, &call.key_at(order[0]))?;
            for &at in &order[1..] {
                keep(call, at, &mut found, true)?;
            }
            Ok(found)
        }
        Algebra::Diff => {
            let mut found = all::<Set>(call, &call.key_at(order[0]))?;
            for &at in &order[1..] {
                keep(call, at, &mut found, false)?;
            }
            Ok(found)
        }
    }
}

/// How many members the sets at these arguments have.
fn count(call: &Call<'_>, mut keys: Range<usize>) -> Result<u64, Failure> {
    keys.try_fold(0, |sum, at| Ok(sum + len::<Set>(call, &call.key_at(at))?))
}

fn reply(call: &mut Call<'_>, algebra: Algebra) -> Done {
    let keys = 1..call.args.len();
    let count = count(call, keys.clone())?;
    let found = together(call, count, |call| members(call, keys, algebra))?;
    call.out.set(found.len());
    for member in found {
        call.out.bulk(&member);
    }
    Ok(())
}

fn store(call: &mut Call<'_>, algebra: Algebra) -> Done {
    let keys = 2..call.args.len();
    let count = count(call, keys.clone())?;
    let event = match algebra {
        Algebra::Inter => "sinterstore",
        Algebra::Union => "sunionstore",
        Algebra::Diff => "sdiffstore",
    };
    let stored = together(call, count, |call| {
        let found = members(call, keys, algebra)?;
        replace::<Set>(call, call.arg(1), &found, (notify::SET, event))?;
        Ok(found.len())
    })?;
    call.out.integer(stored as i64);
    Ok(())
}

/// What LIMIT at argument `at` says, if it is there; 0 for all.
pub(super) fn limit(call: &Call<'_>, at: usize) -> Result<usize, Failure> {
    match call.args.len() - at {
        0 => Ok(0),
        2 if call.is(at, "limit") => {
            let limit = call.integer(at + 1).ok().filter(|&limit| limit >= 0);
            Ok(limit.ok_or("ERR LIMIT can't be negative")? as usize)
        }
        _ => Err(SYNTAX.into()),
    }
}

const BEYOND: &str = "ERR Number of keys can't be greater than number of args";

fn sintercard(call: &mut Call<'_>) -> Done {
    let count = key_count(call, 1, BEYOND)?;
    let limit = limit(call, 2 + count)?;
    let keys = 2..2 + count;
    let elements = self::count(call, keys.clone())?;
    let found = together(call, elements, |call| members(call, keys, Algebra::Inter))?.len();
    call.out.integer(if limit > 0 { found.min(limit) } else { found } as i64);
    Ok(())
}
