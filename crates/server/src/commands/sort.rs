//! SORT: the elements of a list, a set or a sorted set in the order of their values, or of values
//! that stand elsewhere.
//!
//! ```text
//!   SORT ids BY price:* GET name:*      an element takes the place of the star
//!   SORT ids GET item:*->name           behind an arrow stands the field of a hash
//! ```

use super::elements::{all, replace, together};
use super::flag::{DENY_OOM, READ, WRITE};
use super::{Access, Call, Command, Done, Failure, NOT_AN_INTEGER, ONE_KEY, SYNTAX, access};
use crate::collection::list::List;
use crate::collection::set::Set;
use crate::collection::zset::{self, Zset};
use crate::hash::View;
use crate::notify;
use crate::value::{self, LIST, SET, WRONG_TYPE, ZSET};
use std::cmp::Ordering;
use store::{Item, TREE};
use wire::resp::parse_integer;

/// It may look at any key that a pattern names.
const CATEGORIES: &[&str] = &["set", "sortedset", "list", "dangerous"];

/// This family.
pub(super) const COMMANDS: &[Command] = &[
    Command::new("sort", -2, WRITE | DENY_OOM, |call| sort(call, true))
        .keys(ONE_KEY.and_behind("store"))
        .accesses(sort_access)
        .categories(CATEGORIES)
        .doc("generic", "1.0.0", "The elements of a collection in an order."),
    Command::new("sort_ro", -2, READ, |call| sort(call, false))
        .keys(ONE_KEY)
        .categories(CATEGORIES)
        .doc("generic", "7.0.0", "SORT, which stores nothing."),
];

fn sort_access(_: &[&[u8]], at: usize) -> Access {
    if at == 1 { access::READS } else { access::SETS }
}

/// What a call is asked.
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

    /// Patterns name keys that no right was asked for.
    fn check(&self, call: &Call<'_>) -> Done {
        let denied = |option: &str| {
            let text =
                format!("{option} option of SORT denied due to insufficient ACL permissions");
            Err(Failure::err(&text))
        };
        if call.session.limited && self.by.is_some_and(|by| by.contains(&b'*')) {
            return denied("BY");
        }
        if call.session.limited && self.gets.iter().any(|get| *get != b"#") {
            return denied("GET");
        }
        Ok(())
    }

    /// Whether the elements stay as they are.
    fn is_unsorted(&self) -> bool {
        self.by.is_some_and(|by| !by.contains(&b'*'))
    }

    /// The elements that are wanted, in their order.
    fn elements(&self, call: &Call<'_>) -> Result<Vec<Vec<u8>>, Failure> {
        let kind = |item: &Item<'_>| item.kind & !TREE;
        let (key, now) = (call.key_at(1), call.now);
        let kind = call.shared.store.peek(&key, now, kind);
        let mut elements = match kind {
            None => vec![],
            Some(LIST) => all::<List>(call, &key)?,
            Some(SET) => all::<Set>(call, &key)?,
            Some(ZSET) => {
                let bodies = all::<Zset>(call, &key)?;
                bodies.iter().map(|body| zset::pair(body).0.to_vec()).collect()
            }
            Some(_) => return Err(WRONG_TYPE.into()),
        };
        if !self.is_unsorted() {
            elements = self.sorted(call, elements)?;
        } else if kind == Some(SET) && self.store.is_some() {
            // What is stored is the same however the set is held.
            elements.sort_unstable();
        } else if kind == Some(ZSET) && self.descending {
            elements.reverse();
        }
        let len = elements.len() as i64;
        let (offset, count) = self.limit.unwrap_or((0, -1));
        let from = offset.clamp(0, len);
        let until = if count < 0 { len } else { from.saturating_add(count).min(len) };
        Ok(elements.drain(from as usize..until as usize).collect())
    }

    fn sorted(&self, call: &Call<'_>, elements: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Failure> {
        let of = |element: &[u8]| match self.by {
            Some(by) => value_of(call, by, element),
            None => Some(element.to_vec()),
        };
        let way = |order: Ordering| if self.descending { order.reverse() } else { order };
        if self.alpha {
            let mut pairs: Vec<_> = elements.into_iter().map(|e| (of(&e), e)).collect();
            pairs.sort_by(|(a, x), (b, y)| way(a.cmp(b).then_with(|| x.cmp(y))));
            return Ok(pairs.into_iter().map(|(_, element)| element).collect());
        }
        let mut pairs = vec![];
        for element in elements {
            let score = match of(&element) {
                None => 0.0,
                Some(value) => {
                    let text = std::str::from_utf8(&value).unwrap_or_default().trim_start();
                    let number = text.parse().ok().filter(|number: &f64| !number.is_nan());
                    number.ok_or("ERR One or more scores can't be converted into double")?
                }
            };
            pairs.push((score, element));
        }
        pairs.sort_by(|(a, x), (b, y)| way(a.total_cmp(b).then_with(|| x.cmp(y))));
        Ok(pairs.into_iter().map(|(_, element)| element).collect())
    }

    /// What is replied of each element, and how many replies they are.
    fn shown(&self, call: &Call<'_>, elements: Vec<Vec<u8>>) -> Vec<Option<Vec<u8>>> {
        if self.gets.is_empty() {
            return elements.into_iter().map(Some).collect();
        }
        let of = |element: Vec<u8>| {
            self.gets.iter().map(move |get| value_of(call, get, &element)).collect::<Vec<_>>()
        };
        elements.into_iter().flat_map(of).collect()
    }
}

/// The value that a pattern names of an element.
fn value_of(call: &Call<'_>, pattern: &[u8], element: &[u8]) -> Option<Vec<u8>> {
    if pattern == b"#" {
        return Some(element.to_vec());
    }
    let star = pattern.iter().position(|&byte| byte == b'*')?;
    let arrow = pattern.windows(2).rposition(|pair| pair == b"->");
    let arrow = arrow.filter(|&at| at > star && at + 2 < pattern.len());
    let key = &pattern[star + 1..arrow.unwrap_or(pattern.len())];
    let key = [&pattern[..star], element, key].concat();
    let read = |item: &Item<'_>| match arrow {
        Some(at) => {
            let (value, _) = View::of(item)?.find(&pattern[at + 2..], call.now.unix_ms)?;
            Some(value.to_vec())
        }
        None => value::string(item).ok().map(<[u8]>::to_vec),
    };
    call.shared.store.get(&call.key(&key), call.now, read).flatten()
}

fn sort(call: &mut Call<'_>, may_store: bool) -> Done {
    let asked = Asked::of(call, may_store)?;
    let count = call.shared.store.peek(&call.key_at(1), call.now, |item| {
        item.tree().map_or(item.value.len(), |tree| tree.len() as usize)
    });
    let stored = together(call, count.unwrap_or(0) as u64, |call| {
        let elements = asked.elements(call)?;
        let shown = asked.shown(call, elements);
        if let Some(to) = asked.store {
            let bodies: Vec<_> = shown.into_iter().map(Option::unwrap_or_default).collect();
            replace::<List>(call, to, &bodies, (notify::LIST, "sortstore"))?;
            return Ok(Some(bodies.len()));
        }
        call.out.array(shown.len());
        for value in shown {
            match value {
                Some(value) => call.out.bulk(&value),
                None => call.out.null(),
            }
        }
        Ok(None)
    })?;
    if let Some(count) = stored {
        call.out.integer(count as i64);
    }
    Ok(())
}
