//! The view of an item that a caller gets, and the changes that it may ask for.

use crate::slab::SizeClasses;
use crate::tree::Tree;
use crate::trees::{Trees, has_tree, number};
use base::{Bytes, TenantId};
use std::borrow::Cow;

/// A resident item, seen under its shard's lock.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The value.
    pub value: &'a [u8],
    /// The caller's kind of value, a number given with it; 0 unless one was given.
    pub kind: u8,
    /// When it dies, in Unix milliseconds; it is alive at that very millisecond still.
    pub expires: Option<u64>,
    /// Bytes of the key.
    pub key_len: usize,
    /// Accesses to the item's shard since the last one to the item.
    pub idle: u32,
    /// Accesses to the shard from the first to the item to the last, to a thousand.
    pub in_use: u32,
    /// Reads and overwrites since it became resident, up to 255.
    pub hits: u8,
    /// The penalty class, 1 to 16, or 0 where no fetch of the key was timed.
    pub penalty_class: u8,
    pub(crate) contents: u64,
    /// None of an item that has no memory.
    pub(crate) sizes: Option<&'a SizeClasses>,
    pub(crate) trees: Option<&'a Trees>,
}

impl<'a> Item<'a> {
    /// How an item would be seen that is not in a store: never used, and charged nothing.
    pub fn outside(value: &'a [u8], kind: u8, expires: Option<u64>) -> Self {
        Self {
            value,
            kind,
            expires,
            key_len: 0,
            idle: 0,
            in_use: 0,
            hits: 0,
            penalty_class: 0,
            contents: 0,
            sizes: None,
            trees: None,
        }
    }

    /// Bytes charged for the item, its header, rounding and tree included, its share of the table
    /// not. Few ask, and it takes a search: a hit would pay for that though nobody looked.
    pub fn charge(&self) -> Bytes {
        let chunk = self.sizes.map_or(0, |sizes| sizes.charge(self.contents));
        Bytes(chunk + self.tree().map_or(0, Tree::bytes))
    }

    /// The tree of a collection, whose kind has the bit [`TREE`](crate::TREE): the value is its
    /// number, of four bytes, and what the caller notes beside it.
    pub fn tree(&self) -> Option<&'a Tree> {
        let trees = self.trees.filter(|_| has_tree(self.kind))?;
        trees.get(number(self.value))
    }
}

/// An item met by a walk: [`Store::scan`](crate::Store::scan),
/// [`Store::random_key`](crate::Store::random_key).
#[derive(Clone, Copy, Debug)]
pub struct ScanItem<'a> {
    /// The tenant that owns it.
    pub tenant: TenantId,
    /// Its database.
    pub db: u8,
    /// Its key.
    pub key: &'a [u8],
    /// All else.
    pub item: Item<'a>,
}

/// The change of an item after [`Store::update`](crate::Store::update) showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'v> {
    /// It stays, or stays absent.
    Keep,
    /// It takes this value and this expiry, and comes into being if it was absent.
    Set {
        /// The new value.
        value: Cow<'v, [u8]>,
        /// The caller's kind of value, below 16.
        kind: u8,
        /// The new expiry, in Unix milliseconds.
        expires: Option<u64>,
    },
    /// As `Set`, but what is written only holds the place of a value that is being fetched: the
    /// fetch is not over.
    Hold {
        /// The new value.
        value: Cow<'v, [u8]>,
        /// The caller's kind of value, below 16.
        kind: u8,
        /// The new expiry, in Unix milliseconds.
        expires: Option<u64>,
    },
    /// The bytes are added to the end of its value; without an item they are the value.
    Append(&'v [u8]),
    /// The bytes of its value from there on become these, and nothing is copied. Nothing happens
    /// without an item, or where they would reach beyond its end.
    Patch(usize, Cow<'v, [u8]>),
    /// Its expiry becomes this. Nothing happens without an item.
    Expire(Option<u64>),
    /// It goes. Nothing happens without an item.
    Remove,
}

impl<'v> Change<'v> {
    /// Sets a borrowed value of kind 0.
    pub const fn set(value: &'v [u8], expires: Option<u64>) -> Self {
        Self::Set { value: Cow::Borrowed(value), kind: 0, expires }
    }

    /// Sets an owned value of kind 0.
    pub const fn set_owned(value: Vec<u8>, expires: Option<u64>) -> Self {
        Self::Set { value: Cow::Owned(value), kind: 0, expires }
    }
}
