//! Ranks: the order of fields and members in a tree.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// The seed for hashes of names. It differs in every run, so nobody can choose names with close
/// ranks.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

/// The rank of a field in the order of a tree; also that of a set's member.
pub(crate) fn rank(name: &[u8]) -> u32 {
    base::hash::bytes(*SEED, name) as u32
}

/// The rank of a member: the upper 31 bits of its hash.
pub(crate) fn by_member(member: &[u8]) -> u32 {
    rank(member) >> 1
}
