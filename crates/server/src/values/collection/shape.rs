//! The differences between lists, sets and sorted sets, and the trees that they are written to.

use store::{DetachedTree, Edit, Entry, Error, Key, Now, Probe, Tree};

/// Bytes beyond which a collection of several elements is a tree. Up to here a write copies the
/// collection.
pub(crate) const FLAT_MAX: usize = 4 << 10;

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

/// A tree to which entries are added: a tree alone, one of an item, or one that is still being
/// built.
pub(crate) trait Grows {
    /// The tree as it is now.
    fn tree(&self) -> Option<&Tree>;
    /// Writes an entry, and replaces the entry that the probe finds.
    fn put(&mut self, probe: &Probe<'_>, body: &[u8]) -> Result<(), Error>;
    /// Appends an entry of a list.
    fn push(&mut self, body: &[u8]) -> Result<(), Error>;
}

impl Grows for Tree {
    fn tree(&self) -> Option<&Tree> {
        Some(self)
    }

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
    fn tree(&self) -> Option<&Tree> {
        Edit::tree(self)
    }

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
    fn tree(&self) -> Option<&Tree> {
        self.loose.tree()
    }

    fn put(&mut self, probe: &Probe<'_>, body: &[u8]) -> Result<(), Error> {
        self.loose.put(self.key, self.now, probe, None, body)
    }

    fn push(&mut self, body: &[u8]) -> Result<(), Error> {
        self.loose.push(self.key, self.now, Entry { rank: 0, dies: None, body })
    }
}
