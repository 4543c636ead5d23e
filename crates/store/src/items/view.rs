//! The caller's view of an item, and the changes that it can request.

use crate::items::sizes::size_classes::SizeClasses;
use crate::items::trees::tree::Tree;
use crate::items::trees::trees::{Trees, has_tree, number};
use base::{Bytes, TenantId};
use std::borrow::Cow;

/// A resident item, as it is under its shard's lock.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The value.
    pub value: &'a [u8],
    /// The caller's kind of value, a number given with the value; 0 by default.
    pub kind: u8,
    /// Its expiry, in Unix milliseconds. The item is alive until the end of that millisecond.
    pub expires: Option<u64>,
    /// Bytes of the key.
    pub key_len: usize,
    /// Accesses to the item's shard since the last one to the item.
    pub idle: u32,
    /// Accesses to the shard between the first and the last to the item, to the nearest thousand.
    pub in_use: u32,
    /// Reads since it became resident, up to 255. Overwrites count as well, unless the rank in
    /// force learns from watched keys.
    pub hits: u8,
    /// The penalty class, 1 to 16, or 0 if no fetch of the key was timed.
    pub penalty_class: u8,
    pub(crate) contents: u64,
    /// Whether the value is not yet decompressed.
    pub(crate) is_compressed: bool,
    /// Bytes of a compressed value that is not shown; 0 if the value is shown.
    pub(crate) hidden: usize,
    /// `None` for an item outside a store.
    pub(crate) sizes: Option<&'a SizeClasses>,
    pub(crate) trees: Option<&'a Trees>,
}

impl<'a> Item<'a> {
    /// The view of an item outside a store: never used, and charged nothing.
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
            is_compressed: false,
            hidden: 0,
            sizes: None,
            trees: None,
        }
    }

    /// Bytes of the value, even if it is not shown.
    pub const fn value_len(&self) -> usize {
        if self.hidden > 0 { self.hidden } else { self.value.len() }
    }

    /// Bytes charged for the item, including its header, rounding and tree, without its share of
    /// the table. Computed on request, because it takes a search that most hits do not need.
    pub fn charge(&self) -> Bytes {
        let chunk = self.sizes.map_or(0, |sizes| sizes.charge(self.contents));
        Bytes(chunk + self.tree().map_or(0, Tree::bytes))
    }

    /// The tree of a collection, whose kind has the bit [`TREE`](crate::TREE). The value is the
    /// tree's number, four bytes, followed by the caller's note.
    pub fn tree(&self) -> Option<&'a Tree> {
        let trees = self.trees.filter(|_| has_tree(self.kind))?;
        trees.get(number(self.value))
    }
}

/// An item that a walk shows: [`Store::scan`](crate::Store::scan),
/// [`Store::random_key`](crate::Store::random_key).
#[derive(Clone, Copy, Debug)]
pub struct ScanItem<'a> {
    /// The tenant that owns it.
    pub tenant: TenantId,
    /// Its database.
    pub db: u8,
    /// Its key.
    pub key: &'a [u8],
    /// The item itself.
    pub item: Item<'a>,
}

/// The change of an item after [`Store::update`](crate::Store::update) showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'v> {
    /// No change: the item stays, or stays absent.
    Keep,
    /// The item gets this value and this expiry; it is created if it was absent.
    Set {
        /// The new value.
        value: Cow<'v, [u8]>,
        /// The caller's kind of value, below 16.
        kind: u8,
        /// The new expiry, in Unix milliseconds.
        expires: Option<u64>,
    },
    /// Like `Set`, but the value only holds the place of a value that is being fetched: the fetch
    /// continues.
    Hold {
        /// The new value.
        value: Cow<'v, [u8]>,
        /// The caller's kind of value, below 16.
        kind: u8,
        /// The new expiry, in Unix milliseconds.
        expires: Option<u64>,
    },
    /// The bytes are appended to the value; without an item they become its value.
    Append(&'v [u8]),
    /// These bytes replace those of the value from this offset on, in place. Nothing happens
    /// without an item, or if they would reach beyond the end of the value.
    Patch(usize, Cow<'v, [u8]>),
    /// The item gets this expiry. Nothing happens without an item.
    Expire(Option<u64>),
    /// The item is removed. Nothing happens without an item.
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

/// An item of an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved<'a> {
    /// The value.
    pub value: &'a [u8],
    /// Whether the value is compressed, with a number of a dictionary that is held
    /// ([`HeldDictionary`](crate::HeldDictionary)).
    pub is_compressed: bool,
    /// The caller's kind of value, below 16.
    pub kind: u8,
    /// Its expiry, in Unix milliseconds.
    pub expires: Option<u64>,
    /// Its [`Item::idle`](crate::Item::idle) when it was saved.
    pub idle: u32,
    /// Its [`Item::in_use`](crate::Item::in_use).
    pub in_use: u32,
    /// Its [`Item::hits`](crate::Item::hits).
    pub hits: u8,
    /// Its [`Item::penalty_class`](crate::Item::penalty_class).
    pub penalty_class: u8,
    /// A lower bound of its tenant's items per shard.
    pub beside: usize,
}
