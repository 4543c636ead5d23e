//! The encoding in which Redis would hold a collection, for OBJECT ENCODING and clients that depend
//! on it.
//!
//! The settings for Redis' limits change only these names.

use super::body::SCORE;
use super::list::List;
use super::set::Set;
use super::shape::Shape;
use super::view::View;
use super::zset::Zset;
use crate::values::hash;
use crate::values::kind::{LIST, SET, ZSET};
use std::collections::BTreeMap;
use store::{Item, TREE, Tree};
use wire::resp::parse_integer;

/// The directives of Redis that are ignored otherwise, by name.
type Ignored = BTreeMap<String, String>;

/// The name of the encoding of an item's collection; `None` for a string.
pub(crate) fn encoding(item: &Item<'_>, ignored: &Ignored) -> Option<&'static str> {
    let limit = |name: &str, default: i64| {
        let given = ignored.get(name).and_then(|text| parse_integer(text.as_bytes()));
        given.unwrap_or(default)
    };
    let limits = |kind: &str, entries| {
        let entries = limit(&format!("{kind}-max-listpack-entries"), entries);
        (entries as u64, limit(&format!("{kind}-max-listpack-value"), 64) as usize)
    };
    match item.kind & !TREE {
        LIST => View::of::<List>(item).map(|view| list(view, limit("list-max-listpack-size", -2))),
        SET => View::of::<Set>(item).map(|view| {
            if is_intset(view, limit("set-max-intset-entries", 512) as u64) {
                return "intset";
            }
            if is_beyond::<Set>(view, limits("set", 128), 0) { "hashtable" } else { "listpack" }
        }),
        ZSET => View::of::<Zset>(item).map(|view| {
            let is_large = is_beyond::<Zset>(view, limits("zset", 128), SCORE);
            if is_large { "skiplist" } else { "listpack" }
        }),
        _ => hash::View::of(item).map(|view| {
            let (most, longest) = limits("hash", 512);
            view.encoding(most as usize, longest)
        }),
    }
}

/// Whether a collection has more than `most` elements, or an element with more than `longest`
/// bytes. The first `beside` bytes of each body do not count.
fn is_beyond<S: Shape>(view: View<'_>, (most, longest): (u64, usize), beside: usize) -> bool {
    view.len::<S>() > most || any::<S>(view, |body| body.len() - beside.min(body.len()) > longest)
}

fn any<S: Shape>(view: View<'_>, is_it: impl Fn(&[u8]) -> bool) -> bool {
    let (mut at, mut found) = (0, false);
    loop {
        let shown = view.walk::<S>(at, u64::MAX, |body| {
            found = is_it(body);
            !found
        });
        if found || shown == 0 {
            return found;
        }
        at += shown;
    }
}

fn is_intset(view: View<'_>, most: u64) -> bool {
    view.len::<Set>() <= most && !any::<Set>(view, |body| parse_integer(body).is_none())
}

/// A limit below zero is a number of bytes: -1 to -5 are 4, 8, 16, 32 and 64 KB.
fn list(view: View<'_>, limit: i64) -> &'static str {
    let bytes = match view {
        View::Flat(bytes) => bytes.len() as u64,
        View::Tree(tree) => Tree::bytes(tree),
    };
    let is_large = if limit >= 0 {
        view.len::<List>() > limit.max(1) as u64
    } else {
        bytes > (2 << 10) << limit.unsigned_abs().clamp(1, 5)
    };
    if is_large { "quicklist" } else { "listpack" }
}
