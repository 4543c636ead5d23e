//! The layout of a hash: the bodies of a tree's entries, their order, and the key's own expiry.

use super::packed;
use crate::text::varint::{put_len, take_len};
use crate::values::kind::HASH_TREE;
use crate::values::rank::rank;
use std::cmp::Ordering;
use store::{Change, Item, Probe};

/// Bytes beyond which a hash of several fields is a tree. Up to here a write copies the hash.
pub(crate) const PACKED_MAX: usize = 4 << 10;

/// The name and the value in an entry's body.
pub(super) fn parts(mut body: &[u8]) -> (&[u8], &[u8]) {
    let len = take_len(&mut body).unwrap_or_default();
    body.split_at_checked(len).unwrap_or_default()
}

/// The body of an entry.
pub(super) fn body(name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(5 + name.len() + value.len());
    put_len(&mut body, name.len());
    body.extend_from_slice(name);
    body.extend_from_slice(value);
    body
}

/// Calls `look` with a probe that finds this field.
pub(super) fn probe<R>(name: &[u8], look: impl FnOnce(&Probe<'_>) -> R) -> R {
    let order = |body: &[u8]| -> Ordering { parts(body).0.cmp(name) };
    look(&Probe { rank: rank(name), order: &order })
}

/// A stored expiry; 0 stands for none.
pub(super) fn some_life(at: u64) -> Option<u64> {
    (at > 0).then_some(at)
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
