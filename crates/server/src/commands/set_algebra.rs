//! Set operations: intersection, union and difference.

use super::budget::Budget;
use super::collection_steps::{key_count, len, look, look_each, replace, together, walk};
use super::hash_steps::Trace;
use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, READ, WRITE};
use crate::facts::{ALL_KEYS, Access, Keys, NO_KEY, access};
use crate::values::collection::STEP_ELEMENTS;
use crate::values::collection::set::{self, Set};
use std::collections::HashSet;
use std::ops::Range;
use store::Key;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    reads("sinter", |call| reply(call, Algebra::Inter), "The members that all sets have."),
    reads("sunion", |call| reply(call, Algebra::Union), "The members that any of the sets has."),
    reads("sdiff", |call| reply(call, Algebra::Diff), "The members that only the first set has."),
    stores(
        "sinterstore",
        |call| store(call, Algebra::Inter),
        "Stores the members that all sets have.",
    ),
    stores(
        "sunionstore",
        |call| store(call, Algebra::Union),
        "Stores the members that any set has.",
    ),
    stores(
        "sdiffstore",
        |call| store(call, Algebra::Diff),
        "Stores the members that only the first has.",
    ),
    Command::new("sintercard", -3, READ, sintercard).keys(NO_KEY.and_counted(1)).doc(
        "set",
        "7.0.0",
        "Counts the members that all sets have.",
    ),
];

const fn reads(name: &'static str, run: crate::call::Handler, summary: &'static str) -> Command {
    Command::new(name, -2, READ, run).keys(ALL_KEYS).doc("set", "1.0.0", summary)
}

const fn stores(name: &'static str, run: crate::call::Handler, summary: &'static str) -> Command {
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

/// The members of the first set that are in each other set, or in none of them, as `keys` demands.
/// It reads the first set in steps, so it keeps only the members that it found.
fn sifted(
    call: &Call<'_>,
    keys: &[(Key<'_>, bool)],
    budget: &mut Budget,
) -> Result<Vec<Vec<u8>>, Failure> {
    let Some(((first, _), others)) = keys.split_first() else {
        return Ok(vec![]);
    };
    let (mut found, mut from, mut trace) = (vec![], 0, Trace::Read);
    loop {
        let mut step: Vec<Vec<u8>> = vec![];
        let looked = look::<Set, _>(call, first, trace, |view| {
            view.walk::<Set>(from, STEP_ELEMENTS as u64, |member| {
                step.push(member.to_vec());
                true
            })
        })?;
        if looked == 0 {
            return Ok(found);
        }
        for (key, in_it) in others {
            let mut has = look_each::<Set, _, _>(call, key, &step, set::contains)?.into_iter();
            step.retain(|_| has.next() == Some(*in_it));
        }
        if step.iter().any(|member| !budget.takes(member.len())) {
            budget.check()?;
        }
        found.append(&mut step);
        (from, trace) = (from + looked, Trace::None);
    }
}

/// The members of the result for the sets at these arguments.
fn members(
    call: &Call<'_>,
    keys: Range<usize>,
    algebra: Algebra,
    mut budget: Budget,
) -> Result<Vec<Vec<u8>>, Failure> {
    // All of the keys must hold sets, or nothing is done.
    let lens: Vec<u64> =
        keys.clone().map(|at| len::<Set>(call, &call.key_at(at))).collect::<Result<_, _>>()?;
    let mut order: Vec<usize> = keys.clone().collect();
    match algebra {
        Algebra::Union => {
            let mut found: HashSet<Vec<u8>> = HashSet::new();
            for at in order {
                walk::<Set>(call, &call.key_at(at), (0, u64::MAX, false), |member| {
                    let is_new = !found.contains(member);
                    let takes = !is_new || budget.takes(member.len());
                    if is_new && takes {
                        found.insert(member.to_vec());
                    }
                    takes
                })?;
                budget.check()?;
            }
            Ok(found.into_iter().collect())
        }
        Algebra::Inter => {
            if lens.contains(&0) {
                return Ok(vec![]);
            }
            order.sort_by_key(|at| lens[at - keys.start]);
            let keys: Vec<_> = order.iter().map(|&at| (call.key_at(at), true)).collect();
            sifted(call, &keys, &mut budget)
        }
        Algebra::Diff => {
            let keys: Vec<_> = order.iter().map(|&at| (call.key_at(at), false)).collect();
            sifted(call, &keys, &mut budget)
        }
    }
}

/// The total number of members of the sets at these arguments.
fn count(call: &Call<'_>, mut keys: Range<usize>) -> Result<u64, Failure> {
    keys.try_fold(0, |sum, at| Ok(sum + len::<Set>(call, &call.key_at(at))?))
}

fn reply(call: &mut Call<'_>, algebra: Algebra) -> Done {
    let keys = 1..call.args.len();
    let count = count(call, keys.clone())?;
    let budget = Budget::reply(call);
    let found = together(call, count, |call| members(call, keys, algebra, budget))?;
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
        let budget = Budget::store(call, &call.key_at(1));
        let found = members(call, keys, algebra, budget)?;
        replace::<Set>(call, call.arg(1), &found, (event_classes::SET, event))?;
        Ok(found.len())
    })?;
    call.out.integer(stored as i64);
    Ok(())
}

/// The number in LIMIT at argument `at`; 0 (no limit) if the option is missing.
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
    let budget = Budget::reply(call);
    let found = together(call, elements, |call| members(call, keys, Algebra::Inter, budget))?.len();
    call.out.integer(if limit > 0 { found.min(limit) } else { found } as i64);
    Ok(())
}
