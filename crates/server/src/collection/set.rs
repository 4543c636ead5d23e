//! Sets: members, each once.

use super::{Grows, Held, Shape, View, flat, scan_tree};
use crate::hash::rank;
use crate::value::SET;
use std::cmp::Ordering;
use store::{Error, Probe};

/// What a set is.
pub(crate) enum Set {}

impl Shape for Set {
    const KIND: u8 = SET;

    fn add(to: &mut dyn Grows, body: &[u8]) -> Result<(), Error> {
        probe(body, |probe| to.put(probe, body)).map(drop)
    }
}

fn probe<R>(member: &[u8], look: impl FnOnce(&Probe<'_>) -> R) -> R {
    let order = |body: &[u8]| -> Ordering { body.cmp(member) };
    look(&Probe { rank: rank(member) >> 1, order: &order })
}

/// Whether a set has a member.
pub(crate) fn contains(view: View<'_>, member: &[u8]) -> bool {
    match view {
        View::Flat(bytes) => flat::bodies(bytes).any(|body| body == member),
        View::Tree(tree) => probe(member, |probe| tree.get(probe)).is_some(),
    }
}

/// Puts a member in; whether it is new.
pub(crate) fn add(held: &mut Held<'_, '_, '_>, member: &[u8]) -> Result<bool, Error> {
    if contains(held.view(), member) {
        return Ok(false);
    }
    match held {
        Held::Flat(flat) => flat.push(member),
        Held::Tree(edit) => _ = probe(member, |probe| edit.put(probe, None, member))?,
    }
    Ok(true)
}

/// Takes a member out; whether it was there.
pub(crate) fn remove(held: &mut Held<'_, '_, '_>, member: &[u8]) -> bool {
    match held {
        Held::Flat(flat) => {
            let at = flat::bodies(flat.bytes()).position(|body| body == member);
            at.is_some_and(|at| flat.remove_span(at as u64, 1) == 1)
        }
        Held::Tree(edit) => probe(member, |probe| edit.remove(probe)),
    }
}

/// Shows members from this place in the order on, so many of them or a step's bytes, and all that
/// stand at the last place. Returns where to go on; none at the end. A set of one piece is shown at
/// once.
pub(crate) fn scan(
    view: View<'_>,
    from: u32,
    most: usize,
    visit: impl FnMut(&[u8]),
) -> Option<u32> {
    match view {
        View::Flat(bytes) => {
            let is_ahead = |member: &&[u8]| from == 0 || rank(member) >> 1 >= from;
            flat::bodies(bytes).filter(is_ahead).for_each(visit);
            None
        }
        View::Tree(tree) => scan_tree(tree, from..u32::MAX, most, visit),
    }
}
