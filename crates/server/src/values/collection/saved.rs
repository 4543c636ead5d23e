//! Saving, restoring and copying collections, hashes included.

use super::flat as pieces;
use super::list::List;
use super::set::Set;
use super::shape::{FLAT_MAX, Grows, OnItsWay, Shape};
use super::zset::Zset;
use crate::values::hash;
use crate::values::kind::{HASH, LIST, SET, ZSET};
use crate::values::step::STEP_ELEMENTS;
use std::borrow::Cow;
use store::{DetachedTree, Entry, Error, Item, Key, Now, SMALL_TREE, Store, TREE, Tree};

/// How often a copy begins anew because the collection changed meanwhile.
const TRIES: usize = 8;

/// The position of a kind's first body in a tree.
fn first(kind: u8, tree: &Tree) -> u64 {
    if kind & !TREE == ZSET { Zset::first(tree) } else { 0 }
}

/// A collection as one piece of memory, as it is saved, whatever its kind and length. `None` for a
/// large tree: [`gather`] makes one piece of it.
pub(crate) fn flat<'a>(item: &Item<'a>) -> Option<Cow<'a, [u8]>> {
    if item.kind & !TREE == HASH {
        return hash::flat(item);
    }
    let Some(tree) = item.tree() else {
        return Some(item.value.into());
    };
    if tree.bytes() > SMALL_TREE {
        return None;
    }
    let mut out = vec![];
    let bodies = tree.from(first(item.kind, tree));
    bodies.for_each(|entry| pieces::push(&mut out, entry.body));
    Some(out.into())
}

/// Makes one piece of a tree of this kind, step by step, so that its shard is never locked for
/// long. `None` if the tree is gone. If the collection keeps changing meanwhile, the result may
/// have an element twice or not at all.
pub(crate) fn gather(store: &Store, key: &Key<'_>, kind: u8, now: Now) -> Option<Vec<u8>> {
    if kind & !TREE == HASH {
        return hash::gather(store, key, now);
    }
    let mut out = vec![];
    let whole = walk(store, key, now, first, |entry| {
        match entry {
            Some(entry) => pieces::push(&mut out, entry.body),
            None => out.clear(),
        }
        Ok(())
    });
    whole.ok().flatten().map(|()| out)
}

/// Shows the entries of a tree, step by step. It shows `None` before it begins anew, and returns
/// `None` if the tree is gone.
fn walk(
    store: &Store,
    key: &Key<'_>,
    now: Now,
    first: impl Fn(u8, &Tree) -> u64,
    mut visit: impl FnMut(Option<Entry<'_>>) -> Result<(), Error>,
) -> Result<Option<()>, Error> {
    let (mut tries, mut at, mut seen) = (0, 0, None);
    loop {
        let mut step = vec![];
        let found = store.peek(key, now, |item| {
            let tree = item.tree()?;
            let is_same = seen.is_none_or(|stamp| stamp == tree.stamp());
            if !is_same && tries < TRIES {
                return Some((tree.stamp(), false, true));
            }
            let from = at + first(item.kind, tree);
            let entries = tree.from(from).take(STEP_ELEMENTS);
            step.extend(entries.map(|entry| (entry.rank, entry.dies, entry.body.to_vec())));
            Some((tree.stamp(), from + step.len() as u64 >= tree.len(), false))
        });
        let Some((stamp, is_end, is_anew)) = found.flatten() else {
            return Ok(None);
        };
        seen = Some(stamp);
        if is_anew {
            (tries, at) = (tries + 1, 0);
            visit(None)?;
            continue;
        }
        at += step.len() as u64;
        for (rank, dies, body) in &step {
            visit(Some(Entry { rank: *rank, dies: *dies, body }))?;
        }
        if is_end {
            return Ok(Some(()));
        }
    }
}

/// Builds the tree of a collection that is one piece and too long to stay one, without a lock. The
/// key's tenant pays for it. Also returns the note to keep in the item beside the tree; `None` for
/// any other item.
pub(crate) fn grown<'s>(
    store: &'s Store,
    key: &Key<'_>,
    item: &Item<'_>,
    now: Now,
) -> Result<Option<(DetachedTree<'s>, Vec<u8>)>, Error> {
    let add: fn(&mut dyn Grows, &[u8]) -> Result<(), Error> = match item.kind {
        HASH => {
            let grown = hash::grown(store, key, item, now)?;
            return Ok(grown.map(|loose| (loose, hash::note(hash::life(item)).to_vec())));
        }
        LIST => List::add,
        SET => Set::add,
        ZSET => Zset::add,
        _ => return Ok(None),
    };
    let is_one = || pieces::bodies(item.value).nth(1).is_none();
    if item.value.len() <= FLAT_MAX || is_one() {
        return Ok(None);
    }
    let mut loose = store.loose(key);
    let mut grows = OnItsWay { loose: &mut loose, key, now };
    pieces::bodies(item.value).try_for_each(|body| add(&mut grows, body))?;
    Ok(Some((loose, vec![])))
}

/// Copies a tree for another key, step by step and without a lock of its own; `None` if the tree is
/// gone.
pub(crate) fn copied<'s>(
    store: &'s Store,
    from: &Key<'_>,
    to: &Key<'_>,
    now: Now,
) -> Result<Option<DetachedTree<'s>>, Error> {
    let mut loose = store.loose(to);
    let whole = walk(
        store,
        from,
        now,
        |_, _| 0,
        |entry| {
            match entry {
                Some(entry) => loose.push(to, now, entry)?,
                None => loose = store.loose(to),
            }
            Ok(())
        },
    )?;
    Ok(whole.map(|()| loose))
}
