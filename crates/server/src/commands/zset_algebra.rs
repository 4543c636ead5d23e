//! Operations on sorted sets: unions, intersections and differences, with weights.

use super::budget::Budget;
use super::collection_steps::{len, replace, together, walk};
use super::zset::{GROUP, Pair, reply_pairs};
use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, READ, WRITE};
use crate::facts::{Access, Keys, NO_KEY, access};
use crate::values::collection::set::Set;
use crate::values::collection::zset::{self, Zset};
use crate::values::text_value::SET;
use std::collections::HashMap;
use store::{Item, TREE};
use wire::resp::parse_double;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    reads("zunion", |call| reply(call, Algebra::Union), "Members that any has."),
    reads("zinter", |call| reply(call, Algebra::Inter), "Members that all have."),
    reads("zdiff", |call| reply(call, Algebra::Diff), "Members that only the first has."),
    stores("zunionstore", |call| store(call, Algebra::Union), "Stores the members that any has."),
    stores("zinterstore", |call| store(call, Algebra::Inter), "Stores the members that all have."),
    stores(
        "zdiffstore",
        |call| store(call, Algebra::Diff),
        "Stores the members that only the first has.",
    ),
    Command::new("zintercard", -3, READ, zintercard).keys(NO_KEY.and_counted(1)).doc(
        GROUP,
        "7.0.0",
        "Counts the members that all have.",
    ),
];

const fn reads(name: &'static str, run: crate::call::Handler, summary: &'static str) -> Command {
    Command::new(name, -3, READ, run).keys(NO_KEY.and_counted(1)).doc(GROUP, "6.2.0", summary)
}

const fn stores(name: &'static str, run: crate::call::Handler, summary: &'static str) -> Command {
    Command::new(name, -4, WRITE | DENY_OOM, run)
        .keys(Keys::new(1, 1, 1).and_counted(2))
        .accesses(store_access)
        .doc(GROUP, "2.0.0", summary)
}

fn store_access(_: &[&[u8]], at: usize) -> Access {
    if at == 1 { access::SETS } else { access::READS }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algebra {
    Union,
    Inter,
    Diff,
}

/// The function that combines the scores of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            // Infinities that cancel out add up to zero.
            Self::Sum if (a + b).is_nan() => 0.0,
            Self::Sum => a + b,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

/// The keys and options of a call.
struct Asked {
    /// The arguments that are keys, and the weight by which the scores of each are multiplied.
    keys: Vec<(usize, f64)>,
    aggregate: Aggregate,
    with_scores: bool,
}

impl Asked {
    /// Reads the options of a call with the number of keys at argument `at`.
    fn of(call: &Call<'_>, at: usize, algebra: Algebra, may_show: bool) -> Result<Self, Failure> {
        let keys = key_count(call, at)?;
        // A key of another type is reported before other errors.
        for place in at + 1..=at + keys {
            members(call, place)?;
        }
        let mut asked = Self {
            keys: (at + 1..=at + keys).map(|place| (place, 1.0)).collect(),
            aggregate: Aggregate::Sum,
            with_scores: false,
        };
        let mut at = at + 1 + keys;
        let weighs = algebra != Algebra::Diff;
        while at < call.args.len() {
            let left = call.args.len() - at - 1;
            if weighs && call.is(at, "weights") && left >= keys {
                for (number, (_, weight)) in asked.keys.iter_mut().enumerate() {
                    let given = parse_double(call.arg(at + 1 + number));
                    *weight = given.ok_or("ERR weight value is not a float")?;
                }
                at += keys;
            } else if weighs && call.is(at, "aggregate") && left >= 1 {
                at += 1;
                asked.aggregate = if call.is(at, "sum") {
                    Aggregate::Sum
                } else if call.is(at, "min") {
                    Aggregate::Min
                } else if call.is(at, "max") {
                    Aggregate::Max
                } else {
                    return Err(SYNTAX.into());
                };
            } else if may_show && call.is(at, "withscores") {
                asked.with_scores = true;
            } else {
                return Err(SYNTAX.into());
            }
            at += 1;
        }
        Ok(asked)
    }

    /// The total number of members of the keys.
    fn count(&self, call: &Call<'_>) -> Result<u64, Failure> {
        self.keys.iter().try_fold(0, |sum, (at, _)| Ok(sum + members(call, *at)?))
    }

    /// The members of the result, in the order of scores.
    fn pairs(
        &self,
        call: &Call<'_>,
        algebra: Algebra,
        mut budget: Budget,
    ) -> Result<Vec<Pair>, Failure> {
        let mut keys = self.keys.clone();
        let mut lens = vec![];
        for &(at, _) in &keys {
            lens.push(members(call, at)?);
        }
        if algebra == Algebra::Inter && lens.contains(&0) {
            return Ok(vec![]);
        }
        if algebra != Algebra::Diff {
            // The smallest comes first: fewer members are remembered, and sums are computed in
            // Redis' order.
            let first = self.keys[0].0;
            keys.sort_by_key(|(at, _)| lens[at - first]);
        }
        // By member: its score, and the number of keys that had it.
        let mut found: HashMap<Vec<u8>, (f64, usize)> = HashMap::new();
        for (number, &(at, weight)) in keys.iter().enumerate() {
            each(call, at, |member, score| {
                let score = if (score * weight).is_nan() { 0.0 } else { score * weight };
                match (found.get_mut(member), algebra) {
                    (Some((_, known)), Algebra::Diff) if number > 0 => *known = 2,
                    (Some((sum, known)), _) => {
                        *sum = self.aggregate.of(*sum, score);
                        *known += 1;
                    }
                    (None, Algebra::Inter | Algebra::Diff) if number > 0 => {}
                    (None, _) if !budget.takes(member.len()) => return false,
                    (None, _) => _ = found.insert(member.to_vec(), (score, 1)),
                }
                true
            })?;
            budget.check()?;
        }
        let wanted = match algebra {
            Algebra::Union => None,
            Algebra::Inter => Some(keys.len()),
            Algebra::Diff => Some(1),
        };
        let kept = found.into_iter();
        let kept = kept.filter(|(_, (_, known))| wanted.is_none_or(|wanted| *known == wanted));
        let mut pairs: Vec<Pair> = kept.map(|(member, (score, _))| (member, score)).collect();
        pairs.sort_by(|(a, x), (b, y)| x.total_cmp(y).then_with(|| a.cmp(b)));
        Ok(pairs)
    }
}

/// Whether a key holds a set. Each of its members has the score 1.
fn is_set(call: &Call<'_>, at: usize) -> bool {
    let is_set = |item: &Item<'_>| item.kind & !TREE == SET;
    call.server.store.glance(&call.key_at(at), call.now, is_set).unwrap_or(false)
}

/// The number of keys at argument `at`; the keys follow it.
fn key_count(call: &Call<'_>, at: usize) -> Result<usize, Failure> {
    let keys = call.integer(at)?;
    if keys < 1 {
        let name = String::from_utf8_lossy(call.arg(0)).to_ascii_lowercase();
        return Err(Failure::err(&format!("at least 1 input key is needed for '{name}' command")));
    }
    let keys = usize::try_from(keys).unwrap_or(usize::MAX);
    if keys > call.args.len() - at - 1 { Err(SYNTAX.into()) } else { Ok(keys) }
}

/// The number of members of a key, which holds a sorted set or a set.
fn members(call: &Call<'_>, at: usize) -> Result<u64, Failure> {
    let key = call.key_at(at);
    if is_set(call, at) { len::<Set>(call, &key) } else { len::<Zset>(call, &key) }
}

/// Shows each member of a key with its score, until `visit` returns false.
fn each(call: &Call<'_>, at: usize, mut visit: impl FnMut(&[u8], f64) -> bool) -> Done {
    let (key, whole) = (call.key_at(at), (0, u64::MAX, false));
    if is_set(call, at) {
        return walk::<Set>(call, &key, whole, |member| visit(member, 1.0));
    }
    walk::<Zset>(call, &key, whole, |body| {
        let (member, score) = zset::pair(body);
        visit(member, score)
    })
}

fn reply(call: &mut Call<'_>, algebra: Algebra) -> Done {
    let asked = Asked::of(call, 1, algebra, true)?;
    let count = asked.count(call)?;
    let budget = Budget::reply(call);
    let pairs = together(call, count, |call| asked.pairs(call, algebra, budget))?;
    reply_pairs(call, &pairs, asked.with_scores);
    Ok(())
}

fn store(call: &mut Call<'_>, algebra: Algebra) -> Done {
    let asked = Asked::of(call, 2, algebra, false)?;
    let count = asked.count(call)?;
    let event = match algebra {
        Algebra::Union => "zunionstore",
        Algebra::Inter => "zinterstore",
        Algebra::Diff => "zdiffstore",
    };
    let stored = together(call, count, |call| {
        let budget = match algebra {
            Algebra::Union => Budget::store(call, &call.key_at(1)),
            // These read more members than they store.
            Algebra::Inter | Algebra::Diff => Budget::reply(call),
        };
        let pairs = asked.pairs(call, algebra, budget)?;
        let bodies = pairs.iter().map(|(member, score)| zset::body(member, *score));
        let bodies: Vec<_> = bodies.collect();
        replace::<Zset>(call, call.arg(1), &bodies, (event_classes::ZSET, event))?;
        Ok(bodies.len())
    })?;
    call.out.integer(stored as i64);
    Ok(())
}

fn zintercard(call: &mut Call<'_>) -> Done {
    let count = key_count(call, 1)?;
    for place in 2..2 + count {
        members(call, place)?;
    }
    let limit = super::set_algebra::limit(call, 2 + count)?;
    let keys = (2..2 + count).map(|place| (place, 1.0)).collect();
    let asked = Asked { keys, aggregate: Aggregate::Sum, with_scores: false };
    let count = asked.count(call)?;
    let budget = Budget::reply(call);
    let found = together(call, count, |call| asked.pairs(call, Algebra::Inter, budget))?.len();
    call.out.integer(if limit > 0 { found.min(limit) } else { found } as i64);
    Ok(())
}
