//! The kinds of values.

use store::TREE;

/// Plain bytes.
pub(crate) const STRING: u8 = 0;
/// Bytes with a head.
pub(crate) const FLAGGED: u8 = 1;
/// Fields and their values.
pub(crate) const HASH: u8 = 2;
/// Fields and their values, in a tree.
pub(crate) const HASH_TREE: u8 = HASH | TREE;
/// Elements in order, members, and members in the order of scores (`collection/`). The bit of trees
/// marks their form as a tree.
pub(crate) const LIST: u8 = 3;
pub(crate) const SET: u8 = 4;
pub(crate) const ZSET: u8 = 5;

/// The error of a command for one type if the key holds another type.
pub(crate) const WRONG_TYPE: &str =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

/// The name of a kind in the reply of TYPE, with or without the bit of trees; `None` for strings.
pub(crate) const fn type_name(kind: u8) -> Option<&'static str> {
    match kind & !TREE {
        HASH => Some("hash"),
        LIST => Some("list"),
        SET => Some("set"),
        ZSET => Some("zset"),
        _ => None,
    }
}
