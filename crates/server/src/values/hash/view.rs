//! A hash to read, in one piece or in a tree.

use super::layout::{parts, probe};
use super::packed;
use crate::values::kind::{HASH, HASH_TREE};
use crate::values::rank::rank;
use crate::values::step::STEP_BYTES;
use store::{Entry, Item, Tree};

/// A hash to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    Packed(&'a [u8]),
    Tree(&'a Tree),
}

/// A field, its value, and its expiry in Unix milliseconds.
pub(crate) type Field<'a> = (&'a [u8], &'a [u8], Option<u64>);

pub(super) fn field(entry: Entry<'_>) -> Field<'_> {
    let (name, value) = parts(entry.body);
    (name, value, entry.dies)
}

impl<'a> View<'a> {
    /// The hash of an item; `None` for an item that is no hash.
    pub(crate) fn of(item: &Item<'a>) -> Option<Self> {
        match item.kind {
            HASH => Some(Self::Packed(item.value)),
            HASH_TREE => item.tree().map(Self::Tree),
            _ => None,
        }
    }

    /// The value of a field, and its expiry.
    pub(crate) fn find(self, name: &[u8], now_ms: u64) -> Option<(&'a [u8], Option<u64>)> {
        let found = match self {
            Self::Packed(value) => packed::fields(value, now_ms).find(|found| found.0 == name),
            Self::Tree(tree) => {
                let found = probe(name, |probe| tree.get(probe));
                found.filter(|entry| !entry.is_dead(now_ms)).map(field)
            }
        };
        found.map(|(_, value, dies)| (value, dies))
    }

    /// The number of fields. In a tree, expired fields count until they are removed.
    pub(crate) fn len(self, now_ms: u64) -> u64 {
        match self {
            Self::Packed(value) => packed::fields(value, now_ms).count() as u64,
            Self::Tree(tree) => tree.len(),
        }
    }

    /// The field at `position`.
    pub(crate) fn at(self, position: u64, now_ms: u64) -> Option<Field<'a>> {
        match self {
            Self::Packed(value) => packed::fields(value, now_ms).nth(position as usize),
            Self::Tree(tree) => tree.at(position).map(field),
        }
    }

    /// Shows the fields that have not expired, from place `from` in the order on. It shows about
    /// `most` fields or one step's bytes, and then all others with the last rank. Returns the place
    /// at which to continue; `None` at the end. A hash in one piece is shown at once.
    pub(crate) fn walk(
        self,
        from: u32,
        most: usize,
        now_ms: u64,
        mut visit: impl FnMut(Field<'a>),
    ) -> Option<u32> {
        let tree = match self {
            Self::Packed(value) => {
                let all = packed::fields(value, now_ms);
                all.filter(|field| from == 0 || rank(field.0) >= from).for_each(visit);
                return None;
            }
            Self::Tree(tree) => tree,
        };
        let (mut shown, mut bytes, mut last) = (0, 0, None);
        for entry in tree.from_rank(from) {
            if (shown >= most || bytes >= STEP_BYTES) && last != Some(entry.rank) {
                return Some(entry.rank);
            }
            (shown, bytes, last) = (shown + 1, bytes + entry.body.len(), Some(entry.rank));
            if !entry.is_dead(now_ms) {
                visit(field(entry));
            }
        }
        None
    }

    /// The earliest expiry of a field, in Unix milliseconds.
    pub(crate) fn next_death(self, now_ms: u64) -> Option<u64> {
        match self {
            Self::Packed(value) => packed::fields(value, now_ms).filter_map(|field| field.2).min(),
            Self::Tree(tree) => tree.next_death(),
        }
    }

    /// Whether a field has expired and is still stored.
    pub(crate) fn has_dead(self, now_ms: u64) -> bool {
        match self {
            Self::Packed(value) => packed::has_dead(value, now_ms),
            Self::Tree(tree) => tree.has_dead(now_ms),
        }
    }

    /// A fingerprint of the fields that have not expired.
    pub(crate) fn print(self, now_ms: u64) -> u64 {
        match self {
            Self::Packed(value) => {
                let live = packed::fields(value, now_ms).map(|field| field.0.len() as u64 + 1);
                base::hash::bytes(live.sum(), value)
            }
            Self::Tree(tree) => {
                base::hash::mix(tree.stamp() << 1 | u64::from(tree.has_dead(now_ms)))
            }
        }
    }

    /// The encoding in which Redis would hold it: in one piece up to `most` fields whose names and
    /// values have at most `longest` bytes.
    pub(crate) fn encoding(self, most: usize, longest: usize) -> &'static str {
        let is_long = |field: Field<'_>| field.0.len().max(field.1.len()) > longest;
        let (is_large, lives) = match self {
            Self::Packed(value) => {
                let mut all = packed::fields(value, 0).take(most.saturating_add(1)).enumerate();
                let is_large = all.any(|(at, field)| at == most || is_long(field));
                (is_large, packed::has_lives(value))
            }
            Self::Tree(tree) => {
                let is_large = tree.len() > most as u64;
                let long = || tree.from_rank(0).map(field).any(is_long);
                (is_large || long(), tree.next_death().is_some())
            }
        };
        match (is_large, lives) {
            (true, _) => "hashtable",
            (false, true) => "listpackex",
            (false, false) => "listpack",
        }
    }
}
