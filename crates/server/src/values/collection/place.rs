//! Places: the members of a sorted set in the order of their hashes, without a second copy of them.
//!
//! ```text
//!   place               ┌──────┬────────┬─────────┐   head: the bytes of the score, and whether
//!                       │ head │ score… │ member… │         the member follows
//!                       └──────┴────────┴─────────┘   score: without the zeros at its end
//! ```
//!
//! A place lies under a hash of its member. The member follows only in a *long* place. A short one
//! leads to its member by the score: the member is the one with this hash among the bodies with
//! this score. So that nobody searches many bodies, all places of a score are long from the moment
//! on when more than [`FEW`] members have it, or two of them the same hash.

use super::body::{SCORE, body, by_score, first_of, pair};
use super::shape::Grows;
use crate::values::rank::by_member;
use smallvec::SmallVec;
use std::cmp::Ordering;
use store::{Error, Probe, Tree};

/// Members with the same score up to which their places are short. With more, every step of a
/// ZSCAN looks at more bodies; with fewer, more scores of few digits have long places.
const FEW: usize = 8;
/// The bit of a head which says that the member follows.
const IS_LONG: u8 = 16;

/// The bytes of a place.
type Bytes = SmallVec<[u8; 40]>;

/// A place as it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place<'a> {
    score: u64,
    member: Option<&'a [u8]>,
}

impl<'a> Place<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let (&head, rest) = bytes.split_first().unwrap_or((&0, &[]));
        let (short, member) = rest.split_at_checked((head & !IS_LONG).into()).unwrap_or_default();
        let mut score = [0; SCORE];
        score.iter_mut().zip(short).for_each(|(to, from)| *to = *from);
        let member = (head & IS_LONG != 0).then_some(member);
        Self { score: u64::from_be_bytes(score), member }
    }

    /// Compares places of one hash. A short one is equal to every other with its score.
    fn cmp(self, other: Self) -> Ordering {
        self.score.cmp(&other.score).then_with(|| match (self.member, other.member) {
            (Some(own), Some(others)) => own.cmp(others),
            _ => Ordering::Equal,
        })
    }

    fn bytes(self) -> Bytes {
        let score = self.score.to_be_bytes();
        let len = SCORE - self.score.trailing_zeros() as usize / 8;
        let mut bytes = Bytes::new();
        bytes.push(len as u8 | if self.member.is_some() { IS_LONG } else { 0 });
        bytes.extend_from_slice(&score[..len]);
        bytes.extend_from_slice(self.member.unwrap_or_default());
        bytes
    }
}

/// The score of a member, and what a write of its place needs to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) score: f64,
    /// Whether no other place has the same hash.
    is_alone: bool,
}

impl Found {
    /// A member of a sorted set in one piece.
    pub(super) const fn alone(score: f64) -> Self {
        Self { score, is_alone: true }
    }
}

/// Finds a member.
pub(super) fn find(tree: &Tree, member: &[u8]) -> Option<Found> {
    let rank = by_member(member);
    let (mut found, mut places) = (None, 0);
    for entry in tree.from_rank(rank).take_while(|entry| entry.rank == rank) {
        places += 1;
        let place = Place::of(entry.body);
        let score = f64::from_bits(place.score);
        let is_it = || match place.member {
            Some(other) => other == member,
            None => by_score(&body(member, score), |probe| tree.get(probe)).is_some(),
        };
        if found.is_none() && is_it() {
            found = Some(score);
        }
    }
    found.map(|score| Found { score, is_alone: places == 1 })
}

/// The member and the score of a place with this rank; `None` for a place that has no member.
pub(super) fn pair_at<'a>(tree: &'a Tree, rank: u32, place: &'a [u8]) -> Option<(&'a [u8], f64)> {
    let place = Place::of(place);
    let score = f64::from_bits(place.score);
    let member = place.member.or_else(|| {
        let mut members = ties(tree, score).take(FEW);
        members.find(|member| by_member(member) == rank)
    });
    member.map(|member| (member, score))
}

/// The members with a score.
fn ties(tree: &Tree, score: f64) -> impl Iterator<Item = &[u8]> {
    let pairs = first_of(score, |probe| tree.from_place(probe)).map(|entry| pair(entry.body));
    pairs.take_while(move |(_, other)| *other == score).map(|(member, _)| member)
}

/// Shows the probe for the place of a member.
fn probed<R>(member: &[u8], score: f64, look: impl FnOnce(&Probe<'_>) -> R) -> R {
    let place = Place { score: score.to_bits(), member: Some(member) };
    let order = |bytes: &[u8]| Place::of(bytes).cmp(place);
    look(&Probe { rank: by_member(member), order: &order })
}

/// Writes the place of a member whose body is in the tree. `old` is the place that it replaces.
/// Returns whether the old place is still to be removed.
pub(super) fn put(
    to: &mut dyn Grows,
    member: &[u8],
    score: f64,
    old: Option<Found>,
) -> Result<bool, Error> {
    let is_long = lengthen(to, member, score)?;
    let place = Place { score: score.to_bits(), member: is_long.then_some(member) };
    let bytes = place.bytes();
    if old.is_some_and(|old| old.is_alone) {
        let probe = Probe { rank: by_member(member), order: &|_| Ordering::Equal };
        return to.put(&probe, &bytes).map(|()| false);
    }
    probed(member, score, |probe| to.put(probe, &bytes))?;
    Ok(old.is_some())
}

/// Makes the places of a score long, if there is a reason since this member has it. Returns whether
/// the member's place has to be long.
fn lengthen(to: &mut dyn Grows, member: &[u8], score: f64) -> Result<bool, Error> {
    let Some(tree) = to.tree() else { return Ok(false) };
    let all: SmallVec<[&[u8]; FEW + 2]> = ties(tree, score).take(FEW + 2).collect();
    let is_twin = |other: &&[u8]| *other != member && by_member(other) == by_member(member);
    let is_long = all.len() > FEW || all.iter().any(is_twin);
    // With still more members, all places are long already.
    if is_long && all.len() < FEW + 2 {
        let others = all.into_iter().filter(|other| *other != member);
        let others: Vec<Vec<u8>> = others.map(<[u8]>::to_vec).collect();
        for other in others {
            let place = Place { score: score.to_bits(), member: Some(&other) };
            probed(&other, score, |probe| to.put(probe, &place.bytes()))?;
        }
    }
    Ok(is_long)
}

/// Shows the probe with which the place of a member is removed.
pub(super) fn by_place<R>(body: &[u8], look: impl FnOnce(&Probe<'_>) -> R) -> R {
    let (member, score) = pair(body);
    probed(member, score, look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_place_is_read_as_it_was_written(score: u64, member: Option<Vec<u8>>) {
            let place = Place { score, member: member.as_deref() };
            let bytes = place.bytes();
            prop_assert_eq!(Place::of(&bytes), place);
        }
    }
}
