//! Lists, sets and sorted sets: one piece of memory while they are small, a tree beyond.
//!
//! ```text
//!   flat, up to 4 KB     ┌─────┬───────┬─────┬───────┬──
//!                        │ len │ body… │ len │ body… │ …       in the order of the collection
//!                        └─────┴───────┴─────┴───────┴──
//!   beyond               a tree of the store (`store::Tree`) with the same bodies
//! ```
//!
//! | | body | order in one piece | order in the tree |
//! |---|---|---|---|
//! | list | an element | position | position |
//! | set | a member | order of insertion | a hash of the member |
//! | sorted set | score and member | score, then member | the same (`zset.rs`) |
//!
//! Each of them has a file for its differences. A collection that became a tree stays one until it
//! is empty. There are no empty collections: the key disappears with the last element.
//!
//! No command holds the lock for more than a bounded number of elements ([`STEP_ELEMENTS`],
//! [`STEP_BYTES`]). Hashes have values and expiries for their fields; they are in `values/hash/`.

mod encoding;
pub(crate) mod flat;
pub(crate) mod list;
mod saved;
pub(crate) mod set;
pub(crate) mod zset;

pub(crate) use encoding::encoding;
pub(crate) use saved::{copied, flat, gather, grown};

use super::hash;
use super::text_value::{LIST, SET, WRONG_TYPE, ZSET};
use flat::Flat;
use store::{Change, DetachedTree, Edit, Entry, Error, Item, Key, Now, Probe, TREE, Tree};

/// Bytes beyond which a collection of several elements is a tree. Up to here a write copies the
/// collection.
pub(crate) const FLAT_MAX: usize = 4 << 10;
/// Elements and bytes after which a command releases the lock.
pub(crate) use super::hash::{STEP_BYTES, STEP_FIELDS as STEP_ELEMENTS};

/// A collection to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    Flat(&'a [u8]),
    Tree(&'a Tree),
}

/// The properties of a kind of collection: sets, lists or sorted sets.
pub(crate) trait Shape {
    /// The kind of an item that holds such a collection in one piece.
    const KIND: u8;
    /// The number of entries that a tree has for each body.
    const COPIES: usize = 1;

    /// Adds a body behind all others. The bodies are added in the order of the collection.
    fn add(to: &mut dyn Grows, body: &[u8]) -> Result<(), Error>;

    /// The position of the first body among the entries of a tree.
    fn first(_: &Tree) -> u64 {
        0
    }
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

    /// Shows bodies of a set or a sorted set in the order of their members' hashes, from hash
    /// `from` on; `member` finds the member in a body. It shows `most` bodies or one step's bytes,
    /// and then all others with the last hash. Returns the hash at which to continue; `None` at the
    /// end. A collection in one piece is shown at once.
    pub(crate) fn scan(
        self,
        member: impl Fn(&[u8]) -> &[u8],
        from: u32,
        most: usize,
        mut visit: impl FnMut(&'a [u8]),
    ) -> Option<u32> {
        let tree = match self {
            Self::Flat(all) => {
                let is_ahead = |body: &&[u8]| from == 0 || by_member(member(body)) >= from;
                flat::bodies(all).filter(is_ahead).for_each(visit);
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
            visit(entry.body);
        }
        None
    }
}

/// Shows at most `most` bodies or one step's bytes, until `visit` returns false. Returns how many
/// it showed.
fn show<'a>(
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

/// The lowest rank in the order of scores. The ranks below it are hashes of members.
const BY_SCORE: u32 = 1 << 31;

/// The rank of a member: the upper 31 bits of its hash.
fn by_member(member: &[u8]) -> u32 {
    hash::rank(member) >> 1
}

/// A tree to which entries are added: a tree alone, one of an item, or one that is still being
/// built.
pub(crate) trait Grows {
    /// Writes an entry, and replaces the entry that the probe finds.
    fn put(&mut self, probe: &Probe<'_>, body: &[u8]) -> Result<(), Error>;
    /// Appends an entry of a list.
    fn push(&mut self, body: &[u8]) -> Result<(), Error>;
}

impl Grows for Tree {
    fn put(&mut self, probe: &Probe<'_>, body: &[u8]) -> Result<(), Error> {
        Self::put(self, probe, None, body);
        Ok(())
    }

    fn push(&mut self, body: &[u8]) -> Result<(), Error> {
        self.insert(self.len(), body);
        Ok(())
    }
}

impl Grows for Edit<'_, '_> {
    fn put(&mut self, probe: &Probe<'_>, body: &[u8]) -> Result<(), Error> {
        Edit::put(self, probe, None, body).map(drop)
    }

    fn push(&mut self, body: &[u8]) -> Result<(), Error> {
        self.insert(u64::MAX, body)
    }
}

/// A tree that is being built for a key.
pub(crate) struct OnItsWay<'l, 's> {
    pub(crate) loose: &'l mut DetachedTree<'s>,
    pub(crate) key: &'l Key<'l>,
    pub(crate) now: Now,
}

impl Grows for OnItsWay<'_, '_> {
    fn put(&mut self, probe: &Probe<'_>, body: &[u8]) -> Result<(), Error> {
        self.loose.put(self.key, self.now, probe, None, body)
    }

    fn push(&mut self, body: &[u8]) -> Result<(), Error> {
        self.loose.push(self.key, self.now, Entry { rank: 0, dies: None, body })
    }
}

/// A collection that is being changed.
#[derive(Debug)]
pub(crate) enum Held<'h, 's, 'k> {
    Flat(Flat),
    Tree(&'h mut Edit<'s, 'k>),
}

impl Held<'_, '_, '_> {
    /// The collection as it is now.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Flat(flat) => View::Flat(flat.bytes()),
            Self::Tree(edit) => edit.tree().map_or(View::EMPTY, View::Tree),
        }
    }

    /// Refuses a growth by `growth` bytes if the collection can never be that large.
    pub(crate) fn check_growth(&self, growth: u64) -> Result<(), Error> {
        match self {
            Self::Flat(_) => Ok(()),
            Self::Tree(edit) => edit.check_growth(growth),
        }
    }

    /// Removes the body at `position`, and shows it first. Returns whether there was one.
    pub(crate) fn remove_at<S: Shape>(
        &mut self,
        position: u64,
        mut visit: impl FnMut(&[u8]),
    ) -> bool {
        match self {
            Self::Flat(flat) => {
                if let Some(body) = flat::bodies(flat.bytes()).nth(position as usize) {
                    visit(body);
                }
                flat.remove_span(position, 1) == 1
            }
            Self::Tree(edit) => {
                let first = edit.tree().map_or(0, S::first);
                edit.remove_at(first + position, visit)
            }
        }
    }

    /// Removes `count` bodies from `position` on. From a tree it removes the last of them first,
    /// and perhaps fewer than `count`: the caller calls it again. Returns how many it removed.
    pub(crate) fn remove_span<S: Shape>(&mut self, position: u64, count: u64) -> u64 {
        match self {
            Self::Flat(flat) => flat.remove_span(position, count),
            Self::Tree(edit) => {
                let first = edit.tree().map_or(0, S::first);
                edit.remove_span(first + position, count)
            }
        }
    }
}

/// Lets `f` change a collection, an empty one if there is no item; `f` returns whether it did.
/// `counted` is false for each further step of one write, so that the write counts once.
pub(crate) fn change<S: Shape, R, E: From<&'static str> + From<store::Error>>(
    edit: &mut Edit<'_, '_>,
    counted: bool,
    f: impl FnOnce(&mut Held<'_, '_, '_>) -> Result<(bool, R), E>,
) -> Result<R, E> {
    let kind = edit.item().map(|item| item.kind);
    if kind == Some(S::KIND | TREE) {
        let result = f(&mut Held::Tree(edit));
        if edit.tree().is_some_and(Tree::is_empty) {
            edit.apply(&Change::Remove)?;
        } else if counted && matches!(result, Ok((true, _))) {
            edit.written();
        }
        return result.map(|(_, result)| result);
    }
    if kind.is_some_and(|kind| kind != S::KIND) {
        return Err(WRONG_TYPE.into());
    }
    let (bytes, expires) =
        edit.item().map_or((vec![], None), |item| (item.value.to_vec(), item.expires));
    let mut held = Held::Flat(Flat::new(bytes));
    let (changed, result) = f(&mut held)?;
    let Held::Flat(flat) = held else {
        return Ok(result);
    };
    if !changed {
        return Ok(result);
    }
    if flat.is_empty() {
        edit.apply(&Change::Remove)?;
    } else if flat.is_large() {
        let mut tree = Tree::default();
        flat::bodies(flat.bytes()).try_for_each(|body| S::add(&mut tree, body))?;
        edit.make_tree(tree, S::KIND, &[], expires)?;
        edit.written();
    } else {
        let value = flat.into_bytes().into();
        edit.apply(&Change::Set { value, kind: S::KIND, expires })?;
    }
    Ok(result)
}

/// The name of a kind in the reply of TYPE, with or without the bit of trees; `None` for strings.
pub(crate) const fn type_name(kind: u8) -> Option<&'static str> {
    match kind & !TREE {
        crate::values::text_value::HASH => Some("hash"),
        LIST => Some("list"),
        SET => Some("set"),
        ZSET => Some("zset"),
        _ => None,
    }
}
