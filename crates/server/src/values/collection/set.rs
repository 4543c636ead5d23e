//! Sets: members, each once.

use super::held::Held;
use super::shape::{Grows, Shape};
use super::view::View;
use crate::values::kind::SET;
use crate::values::rank::by_member;
use std::cmp::Ordering;
use store::{Error, Probe};

/// The shape of sets: the kind of their items, and how members are added.
pub(crate) enum Set {}

impl Shape for Set {
    const KIND: u8 = SET;

    fn add(to: &mut dyn Grows, body: &[u8]) -> Result<(), Error> {
        probe(body, |probe| to.put(probe, body))
    }
}

fn probe<R>(member: &[u8], look: impl FnOnce(&Probe<'_>) -> R) -> R {
    let order = |body: &[u8]| -> Ordering { body.cmp(member) };
    look(&Probe { rank: by_member(member), order: &order })
}

/// Whether a set has a member.
pub(crate) fn contains(view: View<'_>, member: &[u8]) -> bool {
    probe(member, |probe| view.has(member, probe))
}

/// Adds a member. Returns whether it is new.
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

/// Removes a member. Returns whether it was in the set.
pub(crate) fn remove(held: &mut Held<'_, '_, '_>, member: &[u8]) -> bool {
    match held {
        Held::Flat(flat) => {
            let at = flat.position(|body| body == member);
            at.is_some_and(|at| flat.remove_span(at, 1) == 1)
        }
        Held::Tree(edit) => probe(member, |probe| edit.remove(probe)),
    }
}
