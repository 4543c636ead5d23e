//! A collection to read.

use super::body::BY_SCORE;
use super::flat;
use super::shape::Shape;
use crate::values::rank::by_member;
use crate::values::step::STEP_BYTES;
use store::{Item, Probe, TREE, Tree};

/// A collection to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    Flat(&'a [u8]),
    Tree(&'a Tree),
}

impl<'a> View<'a> {
    /// The empty collection.
    pub(crate) const EMPTY: View<'static> = View::Flat(b"");

    /// The collection of an item; `None` for an item of another kind.
    pub(crate) fn of<S: Shape>(item: &Item<'a>) -> Option<Self> {
        if item.kind == S::KIND {
            return Some(Self::Flat(item.value));
        }
        item.tree().filter(|_| item.kind == S::KIND | TREE).map(Self::Tree)
    }

    /// The number of elements.
    pub(crate) fn len<S: Shape>(self) -> u64 {
        match self {
            Self::Flat(bytes) => flat::bodies(bytes).count() as u64,
            Self::Tree(tree) => tree.len() - S::first(tree),
        }
    }

    /// The body at `position`, counted from 0.
    pub(crate) fn at<S: Shape>(self, position: u64) -> Option<&'a [u8]> {
        match self {
            Self::Flat(bytes) => flat::bodies(bytes).nth(position as usize),
            Self::Tree(tree) => tree.at(S::first(tree) + position).map(|entry| entry.body),
        }
    }

    /// Whether a body is in the collection; `probe` finds it in a tree.
    pub(crate) fn has(self, body: &[u8], probe: &Probe<'_>) -> bool {
        match self {
            Self::Flat(bytes) => flat::bodies(bytes).any(|one| one == body),
            Self::Tree(tree) => tree.get(probe).is_some(),
        }
    }

    /// Shows bodies from position `from` on, until `visit` returns false. It shows at most `most`
    /// bodies or one step's bytes, and returns how many it showed.
    pub(crate) fn walk<S: Shape>(
        self,
        from: u64,
        most: u64,
        visit: impl FnMut(&'a [u8]) -> bool,
    ) -> u64 {
        match self {
            Self::Flat(all) => show(flat::bodies(all).skip(from as usize), most, visit),
            Self::Tree(tree) => {
                let entries = tree.from(S::first(tree).saturating_add(from));
                show(entries.map(|entry| entry.body), most, visit)
            }
        }
    }

    /// [`View::walk`] backwards, from position `from` on.
    pub(crate) fn walk_back<S: Shape>(
        self,
        from: u64,
        most: u64,
        visit: impl FnMut(&'a [u8]) -> bool,
    ) -> u64 {
        let most = most.min(from.saturating_add(1)).min(self.len::<S>());
        match self {
            Self::Flat(all) => {
                let until = usize::try_from(from).unwrap_or(usize::MAX).saturating_add(1);
                let bodies: Vec<&[u8]> = flat::bodies(all).take(until).collect();
                show(bodies.into_iter().rev(), most, visit)
            }
            Self::Tree(tree) => {
                let entries = tree.back_from(S::first(tree).saturating_add(from));
                show(entries.map(|entry| entry.body), most, visit)
            }
        }
    }

    /// Shows the members of a set, or the places of a sorted set, each with its hash and in the
    /// order of the hashes, from hash `from` on. It shows `most` of them or one step's bytes, and
    /// then all others with the last hash. Returns the hash at which to continue; `None` at the
    /// end. The bodies of a collection in one piece are shown at once, with hash 0; `member` finds
    /// the member in such a body.
    pub(crate) fn scan(
        self,
        member: impl Fn(&[u8]) -> &[u8],
        from: u32,
        most: usize,
        mut visit: impl FnMut(u32, &'a [u8]),
    ) -> Option<u32> {
        let tree = match self {
            Self::Flat(all) => {
                let is_ahead = |body: &&[u8]| from == 0 || by_member(member(body)) >= from;
                flat::bodies(all).filter(is_ahead).for_each(|body| visit(0, body));
                return None;
            }
            Self::Tree(tree) => tree,
        };
        let (mut shown, mut bytes, mut last) = (0, 0, None);
        for entry in tree.from_rank(from).take_while(|entry| entry.rank < BY_SCORE) {
            if (shown >= most || bytes >= STEP_BYTES) && last != Some(entry.rank) {
                return Some(entry.rank);
            }
            (shown, bytes, last) = (shown + 1, bytes + entry.body.len(), Some(entry.rank));
            visit(entry.rank, entry.body);
        }
        None
    }
}

/// Shows at most `most` bodies or one step's bytes, until `visit` returns false. Returns how many
/// it showed.
pub(super) fn show<'a>(
    mut bodies: impl Iterator<Item = &'a [u8]>,
    most: u64,
    mut visit: impl FnMut(&'a [u8]) -> bool,
) -> u64 {
    let (mut shown, mut bytes) = (0, 0);
    while shown < most
        && bytes < STEP_BYTES
        && let Some(body) = bodies.next()
    {
        (shown, bytes) = (shown + 1, bytes + body.len());
        if !visit(body) {
            break;
        }
    }
    shown
}
