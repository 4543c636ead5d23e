//! SORT: the elements of a list, a set or a sorted set in the order of their values, or of the
//! values of other keys.
//!
//! ```text
//!   SORT ids BY price:* GET name:*      an element takes the place of the star
//!   SORT ids GET item:*->name           behind an arrow stands the field of a hash
//! ```

use super::budget::Budget;
use super::collection_steps::{all, replace, together};
use crate::call::{Call, Command, Done, Failure, NOT_AN_INTEGER, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, READ, WRITE};
use crate::facts::{Access, ONE_KEY, access};
use crate::values::collection::list::List;
use crate::values::collection::set::Set;
use crate::values::collection::zset::{self, Zset};
use crate::values::hash::View;
use crate::values::text_value::{self, LIST, SET, WRONG_TYPE, ZSET};
use std::cmp::Ordering;
use store::{Item, TREE};
use wire::resp::{parse_double, parse_integer};
use wire::slots::{slot, slot_of_pattern};

/// SORT may read any key that a pattern names.
const CATEGORIES: &[&str] = &["set", "sortedset", "list", "dangerous"];

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("sort", -2, WRITE | DENY_OOM, |call| sort(call, true))
        .keys(ONE_KEY.and_behind("store"))
        .accesses(sort_access)
        .categories(CATEGORIES)
        .doc("generic", "1.0.0", "Sorts the elements of a collection."),
    Command::new("sort_ro", -2, READ, |call| sort(call, false))
        .keys(ONE_KEY)
        .categories(CATEGORIES)
        .doc("generic", "7.0.0", "SORT without STORE."),
];

fn sort_access(_: &[&[u8]], at: usize) -> Access {
    if at == 1 { access::READS } else { access::SETS }
}

/// The options of a call.
#[derive(Default)]
struct Asked<'a> {
    by: Option<&'a [u8]>,
    gets: Vec<&'a [u8]>,
    limit: Option<(i64, i64)>,
    descending: bool,
    alpha: bool,
    store: Option<&'a [u8]>,
}

impl<'a> Asked<'a> {
    fn of(call: &Call<'a>, may_store: bool) -> Result<Self, Failure> {
        let (mut asked, mut at) = (Self::default(), 2);
        while at < call.args.len() {
            let left = call.args.len() - at - 1;
            if call.is(at, "asc") {
                asked.descending = false;
            } else if call.is(at, "desc") {
                asked.descending = true;
            } else if call.is(at, "alpha") {
                asked.alpha = true;
            } else if call.is(at, "limit") && left >= 2 {
                let number = |at| parse_integer(call.arg(at)).ok_or(NOT_AN_INTEGER);
                asked.limit = Some((number(at + 1)?, number(at + 2)?));
                at += 2;
            } else if call.is(at, "store") && left >= 1 && may_store {
                asked.store = Some(call.arg(at + 1));
                at += 1;
            } else if call.is(at, "by") && left >= 1 {
                asked.by = Some(call.arg(at + 1));
                at += 1;
            } else if call.is(at, "get") && left >= 1 {
                asked.gets.push(call.arg(at + 1));
                at += 1;
            } else {
                return Err(SYNTAX.into());
            }
            at += 1;
        }
        asked.check(call)?;
        Ok(asked)
    }

    /// Checks the patterns: no permission covers the keys that they name, and the keys may belong
    /// to another server.
    fn check(&self, call: &Call<'_>) -> Done {
        let by = self.by.filter(|by| by.contains(&b'*')).map(|by| ("BY", by));
        let gets = self.gets.iter().filter(|get| **get != b"#").map(|get| ("GET", *get));
        let args: Vec<&[u8]> = call.args.iter_from(0).collect();
        let own = slot(call.arg(1));
        for (option, pattern) in by.into_iter().chain(gets) {
            let why = if call.view.cluster.is_some() && slot_of_pattern(pattern) != Some(own) {
                "in Cluster mode when keys formed by the pattern may be in different slots."
            } else if !call.session.reads_all(&args) {
                "due to insufficient ACL permissions."
            } else {
                continue;
            };
            return Err(Failure::err(&format!("{option} option of SORT denied {why}")));
        }
        Ok(())
    }

    /// Whether the elements keep their order.
    fn is_unsorted(&self) -> bool {
        self.by.is_some_and(|by| !by.contains(&b'*'))
    }

    /// The limit for the bytes gathered for the result.
    fn budget(&self, call: &Call<'_>) -> Budget {
        self.store.map_or_else(|| Budget::reply(call), |to| Budget::store(call, &call.key(to)))
    }

    /// The elements of the result, in their order.
    fn elements(&self, call: &Call<'_>) -> Result<Vec<Vec<u8>>, Failure> {
        let kind = |item: &Item<'_>| item.kind & !TREE;
        let (key, now) = (call.key_at(1), call.now);
        let kind = call.server.store.peek(&key, now, kind);
        // With GET the elements are only intermediate, so the limit of a reply bounds them, not the
        // room at the destination.
        let mut budget = if self.gets.is_empty() { self.budget(call) } else { Budget::reply(call) };
        let mut elements = match kind {
            None => vec![],
            Some(LIST) => all::<List>(call, &key, &mut budget)?,
            Some(SET) => all::<Set>(call, &key, &mut budget)?,
            Some(ZSET) => {
                let mut bodies = all::<Zset>(call, &key, &mut budget)?;
                for body in &mut bodies {
                    let member = body.len() - zset::pair(body).0.len();
                    body.drain(..member);
                }
                bodies
            }
            Some(_) => return Err(WRONG_TYPE.into()),
        };
        if !self.is_unsorted() {
            elements = self.sorted(call, elements)?;
        } else if kind == Some(SET) && (self.store.is_some() || call.session.scripted) {
            // A stored result, and the view of a script, must not depend on the form in which the
            // set is held.
            elements.sort_unstable_by(|a, b| self.way(a.cmp(b)));
        } else if kind == Some(ZSET) && self.descending {
            elements.reverse();
        }
        let len = elements.len() as i64;
        let (offset, count) = self.limit.unwrap_or((0, -1));
        let from = offset.clamp(0, len);
        let until = if count < 0 { len } else { from.saturating_add(count).min(len) };
        Ok(elements.drain(from as usize..until as usize).collect())
    }

    /// The order of the call: ascending or descending.
    const fn way(&self, order: Ordering) -> Ordering {
        if self.descending { order.reverse() } else { order }
    }

    /// The elements in the order of their weights. Numbers are parsed in place; texts are copied to
    /// compare them.
    fn sorted(&self, call: &Call<'_>, mut elements: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Failure> {
        let way = |order| self.way(order);
        let Some(by) = self.by else {
            if self.alpha {
                elements.sort_by(|a, b| way(a.cmp(b)));
                return Ok(elements);
            }
            let weighs = |element: Vec<u8>| Ok((weight(Some(&element))?, element));
            let weighed = elements.into_iter().map(weighs).collect::<Result<_, Failure>>()?;
            return Ok(in_order(weighed, |a: &f64, b| a.total_cmp(b), way));
        };
        if self.alpha {
            let mut budget = Budget::reply(call);
            let mut weighed = vec![];
            for element in elements {
                let text = value_of(call, by, &element, |value| {
                    value.filter(|value| budget.takes(value.len())).map(<[u8]>::to_vec)
                });
                budget.check()?;
                weighed.push((text, element));
            }
            return Ok(in_order(weighed, Ord::cmp, way));
        }
        let weighs = |element: Vec<u8>| Ok((value_of(call, by, &element, weight)?, element));
        let weighed = elements.into_iter().map(weighs).collect::<Result<_, Failure>>()?;
        Ok(in_order(weighed, |a: &f64, b| a.total_cmp(b), way))
    }

    /// Shows the reply for each element, until `visit` returns false.
    fn each(
        &self,
        call: &Call<'_>,
        elements: &[Vec<u8>],
        mut visit: impl FnMut(Option<&[u8]>) -> bool,
    ) {
        for element in elements {
            let goes_on = if self.gets.is_empty() {
                visit(Some(element))
            } else {
                self.gets.iter().all(|get| value_of(call, get, element, &mut visit))
            };
            if !goes_on {
                return;
            }
        }
    }
}

/// The weight as a number; 0 if the value is missing.
fn weight(value: Option<&[u8]>) -> Result<f64, Failure> {
    let Some(value) = value else { return Ok(0.0) };
    let number = parse_double(value.trim_ascii_start());
    let number = number.filter(|number| !number.is_subnormal());
    number.ok_or_else(|| "ERR One or more scores can't be converted into double".into())
}

/// Elements in the order of their weights. Equal weights are ordered by the elements.
fn in_order<W>(
    mut weighed: Vec<(W, Vec<u8>)>,
    compare: impl Fn(&W, &W) -> Ordering,
    way: impl Fn(Ordering) -> Ordering,
) -> Vec<Vec<u8>> {
    weighed.sort_by(|(a, x), (b, y)| way(compare(a, b).then_with(|| x.cmp(y))));
    weighed.into_iter().map(|(_, element)| element).collect()
}

/// Shows the value that a pattern names for an element to `f`.
fn value_of<R>(
    call: &Call<'_>,
    pattern: &[u8],
    element: &[u8],
    f: impl FnOnce(Option<&[u8]>) -> R,
) -> R {
    if pattern == b"#" {
        return f(Some(element));
    }
    let Some(star) = pattern.iter().position(|&byte| byte == b'*') else {
        return f(None);
    };
    let arrow = pattern.windows(2).rposition(|pair| pair == b"->");
    let arrow = arrow.filter(|&at| at > star && at + 2 < pattern.len());
    let key = &pattern[star + 1..arrow.unwrap_or(pattern.len())];
    let key = [&pattern[..star], element, key].concat();
    let mut f = Some(f);
    let mut show = |value: Option<&[u8]>| f.take().map(|f| f(value));
    let found = call.server.store.get(&call.key(&key), call.now, |item| match arrow {
        Some(at) => {
            let field = &pattern[at + 2..];
            let value = View::of(item).and_then(|hash| hash.find(field, call.now.unix_ms));
            show(value.map(|(value, _)| value))
        }
        None => show(text_value::string(item).ok()),
    });
    found.flatten().or_else(|| show(None)).expect("it is shown once, found or not")
}

fn sort(call: &mut Call<'_>, may_store: bool) -> Done {
    let asked = Asked::of(call, may_store)?;
    let count = call.server.store.peek(&call.key_at(1), call.now, |item| {
        item.tree().map_or(item.value.len(), |tree| tree.len() as usize)
    });
    let stored = together(call, count.unwrap_or(0) as u64, |call| {
        let elements = asked.elements(call)?;
        if let Some(to) = asked.store {
            let (mut bodies, mut budget) = (vec![], asked.budget(call));
            asked.each(call, &elements, |value| {
                let value = value.unwrap_or_default();
                let takes = budget.takes(value.len());
                if takes {
                    bodies.push(value.to_vec());
                }
                takes
            });
            budget.check()?;
            replace::<List>(call, to, &bodies, (event_classes::LIST, "sortstore"))?;
            return Ok(Some(bodies.len()));
        }
        call.out.array(elements.len() * asked.gets.len().max(1));
        call.write(|call, out| {
            asked.each(call, &elements, |value| {
                match value {
                    Some(value) => out.bulk(value),
                    None => out.null(),
                }
                !out.is_over()
            });
            Ok(())
        })?;
        Ok(None)
    })?;
    if let Some(count) = stored {
        call.out.integer(count as i64);
    }
    Ok(())
}
