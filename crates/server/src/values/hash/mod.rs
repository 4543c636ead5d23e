//! Hashes: fields and their values, in one piece of memory or in a tree.
//!
//! A small hash, and a hash with one field of any length, is one piece like any other value
//! (`packed.rs`). Beyond [`PACKED_MAX`] a hash is a tree of the store (`store::Tree`), with its
//! entries in the order of a hash of their names:
//!
//! ```text
//!    the item's value            an entry's body
//!   ┌────────┬────────────────┐ ┌──────────┬───────┬────────┐
//!   │ number │ the key's life │ │ name_len │ name… │ value… │
//!   └────────┴────────────────┘ └──────────┴───────┴────────┘
//!     4        8                  1 to 5
//! ```
//!
//! So a field is found, set or removed in O(log n) at any size. A cursor is a place in an order
//! that does not change: HSCAN shows each field that exists all the time exactly once. A hash that
//! became a tree stays one until it is empty.
//!
//! No command holds the lock for more than a bounded number of fields ([`STEP_FIELDS`],
//! [`STEP_BYTES`]). A command on more fields releases the lock between its steps.
//!
//! Fields may expire before their key. An expired field is not shown, and the next command that
//! meets it removes it. If every field has an expiry, the item's own expiry is that of the last
//! field. So the sweep removes the whole item like any expired one. The key's own expiry is kept
//! aside.

mod change;
mod packed;

pub(crate) use change::{Hash, change};

use super::text_value::{HASH, HASH_TREE};
use crate::text::varint::{put_len, take_len};
use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use store::{Change, Entry, Item, Probe, SMALL_TREE, Tree};

/// Bytes beyond which a hash of several fields is a tree. Up to here a write copies the hash.
pub(crate) const PACKED_MAX: usize = 4 << 10;
/// Fields and bytes after which a command releases the lock.
pub(crate) const STEP_FIELDS: usize = 128;
pub(crate) const STEP_BYTES: usize = 64 << 10;

/// The seed for hashes of names. It differs in every run, so nobody can choose names with close
/// ranks.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

/// The rank of a field in the order of a tree; also that of a set's member.
pub(crate) fn rank(name: &[u8]) -> u32 {
    base::hash::bytes(*SEED, name) as u32
}

/// The name and the value in an entry's body.
fn parts(mut body: &[u8]) -> (&[u8], &[u8]) {
    let len = take_len(&mut body).unwrap_or_default();
    body.split_at_checked(len).unwrap_or_default()
}

/// The body of an entry.
fn body(name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(5 + name.len() + value.len());
    put_len(&mut body, name.len());
    body.extend_from_slice(name);
    body.extend_from_slice(value);
    body
}

/// Calls `look` with a probe that finds this field.
fn probe<R>(name: &[u8], look: impl FnOnce(&Probe<'_>) -> R) -> R {
    let order = |body: &[u8]| -> Ordering { parts(body).0.cmp(name) };
    look(&Probe { rank: rank(name), order: &order })
}

/// A stored expiry; 0 stands for none.
fn some_life(at: u64) -> Option<u64> {
    (at > 0).then_some(at)
}

/// A hash to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    Packed(&'a [u8]),
    Tree(&'a Tree),
}

/// A field, its value, and its expiry in Unix milliseconds.
pub(crate) type Field<'a> = (&'a [u8], &'a [u8], Option<u64>);

fn field(entry: Entry<'_>) -> Field<'_> {
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

/// The note in the item beside the number of its tree: the key's own expiry.
pub(crate) fn note(life: Option<u64>) -> [u8; 8] {
    life.unwrap_or(0).to_le_bytes()
}

/// The expiry of a hash's item. `life` is the key's expiry, and `last` that of the last field if
/// all fields expire, because the last field takes the key with it.
pub(crate) fn ends(life: Option<u64>, last: Option<u64>) -> Option<u64> {
    [life, last].into_iter().flatten().min()
}

/// The key's own expiry.
pub(crate) fn life(item: &Item<'_>) -> Option<u64> {
    if item.kind == HASH_TREE {
        let life = item.value.get(4..).and_then(<[u8]>::first_chunk);
        return life.and_then(|life| some_life(u64::from_le_bytes(*life)));
    }
    packed::life(item)
}

/// The change that sets the key's expiry.
pub(crate) fn live_until(item: &Item<'_>, at: Option<u64>) -> Change<'static> {
    let (Some(tree), Some(number)) = (item.tree(), item.value.get(..4)) else {
        return packed::live_until(item, at);
    };
    let value = [number, &note(at)].concat();
    Change::Hold { value: value.into(), kind: item.kind, expires: ends(at, tree.ends()) }
}

/// A hash as one piece of memory, as it is saved, of any form and length. `None` for a large tree:
/// [`gather`] makes one piece of it.
pub(crate) fn flat<'a>(item: &Item<'a>) -> Option<std::borrow::Cow<'a, [u8]>> {
    let Some(tree) = item.tree() else {
        return Some(item.value.into());
    };
    if tree.bytes() > SMALL_TREE {
        return None;
    }
    let mut writer = packed::Writer::new(life(item));
    tree.from_rank(0).map(field).for_each(|field| writer.add(field));
    Some(writer.finish().into())
}

/// Makes one piece of a hash that is a tree, step by step, so that its shard is never locked for
/// long; `None` if the hash is gone. A field that changes meanwhile is in the result or not.
pub(crate) fn gather(
    store: &store::Store,
    key: &store::Key<'_>,
    now: store::Now,
) -> Option<Vec<u8>> {
    let mut writer = None;
    let mut next = Some(0);
    while let Some(from) = next {
        let step = store.peek(key, now, |item| {
            let writer = writer.get_or_insert_with(|| packed::Writer::new(life(item)));
            let view = View::of(item)?;
            Some(view.walk(from, STEP_FIELDS, now.unix_ms, |field| writer.add(field)))
        });
        next = step.flatten()?;
    }
    writer.map(packed::Writer::finish)
}

/// Builds the tree of a hash that is one piece and too long to stay one, without a lock. The key's
/// tenant pays for it; `None` for any other item.
pub(crate) fn grown<'s>(
    store: &'s store::Store,
    key: &store::Key<'_>,
    item: &Item<'_>,
    now: store::Now,
) -> Result<Option<store::DetachedTree<'s>>, store::Error> {
    let mut fields = packed::fields(item.value, now.unix_ms);
    let is_one = || packed::fields(item.value, now.unix_ms).nth(1).is_none();
    if item.kind != HASH || item.value.len() <= PACKED_MAX || is_one() {
        return Ok(None);
    }
    let mut loose = store.loose(key);
    fields.try_for_each(|(name, value, dies)| {
        probe(name, |probe| loose.put(key, now, probe, dies, &body(name, value)))
    })?;
    Ok(Some(loose))
}
