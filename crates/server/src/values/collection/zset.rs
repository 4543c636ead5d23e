//! Sorted sets: members, each once, in the order of their scores.
//!
//! ```text
//!   body                ┌───────┬─────────┐
//!                       │ score │ member… │      the score so that bytes compare as numbers do
//!                       └───────┴─────────┘
//!
//!   the tree            rank 0 ───────────── 2³¹ ─────────────── 2³²
//!                       places                bodies
//!                       a hash of the member  the upper half of the score
//! ```
//!
//! A tree has two orders, one after the other: the *places* of members (`place.rs`), each under a
//! hash of its member, and the bodies, by score. A place has the score, with which the body is
//! found, so that a member is stored once. So each of these takes O(log n): to find the score of a
//! member, the position of a score, and the member at a position. A cursor over members is a place
//! in an order that does not depend on their scores.

use super::body::{by_score, ordered, parts, rank_of_score};
use super::flat;
use super::held::Held;
use super::place::{self, Found};
use super::shape::{Grows, Shape};
use super::view::View;
use crate::values::kind::ZSET;
use crate::values::step::STEP_ELEMENTS;
use std::cmp::Ordering;
use store::{Edit, Error, Probe, Tree};

pub(crate) use super::body::{body, pair};

/// The shape of sorted sets: the kind of their items, and how members are added to both orders.
pub(crate) enum Zset {}

impl Shape for Zset {
    const KIND: u8 = ZSET;
    /// A place and a body.
    const COPIES: usize = 2;

    fn add(to: &mut dyn Grows, body: &[u8]) -> Result<(), Error> {
        by_score(body, |probe| to.put(probe, body))?;
        let (member, score) = pair(body);
        place::put(to, member, score, None).map(drop)
    }

    /// The first half of the entries are places.
    fn first(tree: &Tree) -> u64 {
        tree.len() / 2
    }
}

/// Finds a member.
pub(crate) fn find(view: View<'_>, member: &[u8]) -> Option<Found> {
    match view {
        View::Flat(bytes) => {
            let mut pairs = flat::bodies(bytes).map(pair);
            pairs.find(|(other, _)| *other == member).map(|(_, score)| Found::alone(score))
        }
        View::Tree(tree) => place::find(tree, member),
    }
}

/// The score of a member.
pub(crate) fn score(view: View<'_>, member: &[u8]) -> Option<f64> {
    find(view, member).map(|found| found.score)
}

/// The number of members before a member, and its score.
pub(crate) fn position(view: View<'_>, member: &[u8]) -> Option<(u64, f64)> {
    let score = score(view, member)?;
    let body = body(member, score);
    let before = match view {
        View::Flat(bytes) => flat::bodies(bytes).take_while(|other| *other != body).count() as u64,
        View::Tree(tree) => by_score(&body, |probe| tree.position(probe)) - Zset::first(tree),
    };
    Some((before, score))
}

/// A place between members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Edge<'a> {
    /// Before all.
    Start,
    /// Behind all.
    End,
    /// Before the first member with this score.
    Score(f64),
    /// Behind the last member with this score.
    BehindScore(f64),
    /// Before this member, in a set where all members have the same score.
    Member(&'a [u8]),
    /// Behind this member, in such a set.
    BehindMember(&'a [u8]),
}

/// The number of members before a place.
pub(crate) fn before(view: View<'_>, edge: Edge<'_>) -> u64 {
    match edge {
        Edge::Start => 0,
        Edge::End => view.len::<Zset>(),
        Edge::Score(score) => before_score(view, &ordered(score), Ordering::Greater),
        Edge::BehindScore(score) => before_score(view, &ordered(score), Ordering::Less),
        Edge::Member(member) => before_member(view, |other| other < member),
        Edge::BehindMember(member) => before_member(view, |other| other <= member),
    }
}

/// The number of members with a lower score. Members with the same score count if `equal` is
/// `Less`.
fn before_score(view: View<'_>, score: &[u8], equal: Ordering) -> u64 {
    let order = |body: &[u8]| parts(body).0.cmp(score).then(equal);
    match view {
        View::Flat(bytes) => {
            flat::bodies(bytes).take_while(|body| order(body) == Ordering::Less).count() as u64
        }
        View::Tree(tree) => {
            let probe = Probe { rank: rank_of_score(score), order: &order };
            tree.position(&probe) - Zset::first(tree)
        }
    }
}

/// The number of members before a place in the order of names. All members must have the same
/// score.
fn before_member(view: View<'_>, is_before: impl Fn(&[u8]) -> bool) -> u64 {
    let (mut from, mut until) = (0, view.len::<Zset>());
    while from < until {
        let middle = from.midpoint(until);
        if view.at::<Zset>(middle).is_some_and(|body| is_before(parts(body).1)) {
            from = middle + 1;
        } else {
            until = middle;
        }
    }
    from
}

/// Sets the score of a member that was found so, and adds the member if it was not found.
pub(crate) fn put(
    held: &mut Held<'_, '_, '_>,
    member: &[u8],
    score: f64,
    found: Option<Found>,
) -> Result<(), Error> {
    let old = found.map(|found| body(member, found.score));
    let new = body(member, score);
    if old.as_ref() == Some(&new) {
        return Ok(());
    }
    match held {
        Held::Flat(flat) => {
            if let Some(old) = old {
                let at = flat.position(|body| body == old);
                flat.remove_span(at.unwrap_or(u64::MAX), 1);
            }
            let before = flat::bodies(flat.bytes()).take_while(|body| *body < &new[..]).count();
            flat.insert(before as u64, &new);
        }
        Held::Tree(edit) => {
            let added = by_score(&new, |probe| edit.put(probe, None, &new));
            let added = added.and_then(|_| place::put(*edit, member, pair(&new).1, found));
            let is_left = match added {
                Ok(is_left) => is_left,
                Err(error) => {
                    by_score(&new, |probe| edit.remove_found(probe));
                    return Err(error);
                }
            };
            if let Some(old) = old {
                by_score(&old, |probe| edit.remove_found(probe));
                if is_left {
                    place::by_place(&old, |probe| edit.remove_found(probe));
                }
            }
        }
    }
    Ok(())
}

/// Removes a body and its place.
fn unlink(edit: &mut Edit<'_, '_>, body: &[u8]) {
    by_score(body, |probe| edit.remove_found(probe));
    place::by_place(body, |probe| edit.remove_found(probe));
}

/// Removes a member. Returns whether it was in the set.
pub(crate) fn remove(held: &mut Held<'_, '_, '_>, member: &[u8]) -> bool {
    let Some(score) = score(held.view(), member) else {
        return false;
    };
    let body = body(member, score);
    match held {
        Held::Flat(flat) => {
            let at = flat.position(|other| other == body);
            flat.remove_span(at.unwrap_or(u64::MAX), 1);
        }
        Held::Tree(edit) => unlink(edit, &body),
    }
    true
}

/// Removes `count` members from `position` on, or as many of them as one step may. Returns how many
/// it removed.
pub(crate) fn remove_span(held: &mut Held<'_, '_, '_>, position: u64, count: u64) -> u64 {
    let mut bodies = vec![];
    match held {
        Held::Flat(flat) => return flat.remove_span(position, count),
        Held::Tree(edit) => {
            let view = edit.tree().map_or(View::EMPTY, View::Tree);
            let most = count.min(STEP_ELEMENTS as u64);
            view.walk::<Zset>(position, most, |body| {
                bodies.push(body.to_vec());
                true
            });
            for body in &bodies {
                unlink(edit, body);
            }
        }
    }
    bodies.len() as u64
}

/// Shows members and scores in the order of the members' hashes, as [`View::scan`] does.
pub(crate) fn scan(
    view: View<'_>,
    from: u32,
    most: usize,
    mut visit: impl FnMut(&[u8], f64),
) -> Option<u32> {
    view.scan(
        |body| pair(body).0,
        from,
        most,
        |rank, body| {
            let found = match view {
                View::Flat(_) => Some(pair(body)),
                View::Tree(tree) => place::pair_at(tree, rank, body),
            };
            if let Some((member, score)) = found {
                visit(member, score);
            }
        },
    )
}

#[cfg(test)]
#[path = "zset_tests.rs"]
mod changes;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Compares a tree with a map: scores, positions and both orders.
        #[test]
        fn a_tree_has_both_orders(
            pairs in prop::collection::btree_map(
                prop::collection::vec(any::<u8>(), 1..4), -4i8..4, 0..200),
            edge in -5i8..5,
        ) {
            let model: BTreeMap<Vec<u8>, f64> =
                pairs.into_iter().map(|(member, score)| (member, f64::from(score))).collect();
            let mut tree = Tree::default();
            for (member, score) in &model {
                Zset::add(&mut tree, &body(member, *score)).unwrap();
            }
            let view = View::Tree(&tree);
            let mut sorted: Vec<Vec<u8>> = model.iter().map(|(m, s)| body(m, *s)).collect();
            sorted.sort();
            prop_assert_eq!(view.len::<Zset>(), sorted.len() as u64);
            for (at, wanted) in sorted.iter().enumerate() {
                let (member, of) = pair(wanted);
                prop_assert_eq!(view.at::<Zset>(at as u64), Some(&wanted[..]));
                prop_assert_eq!(position(view, member), Some((at as u64, of)));
                prop_assert_eq!(score(view, member), Some(of));
            }
            prop_assert_eq!(score(view, b"none"), None);
            let edge = f64::from(edge);
            let below = model.values().filter(|&&score| score < edge).count() as u64;
            let until = model.values().filter(|&&score| score <= edge).count() as u64;
            prop_assert_eq!(before(view, Edge::Score(edge)), below);
            prop_assert_eq!(before(view, Edge::BehindScore(edge)), until);
        }
    }
}
