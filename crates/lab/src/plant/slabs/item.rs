//! Items of a cache of slabs.

use base::Micros;

/// An item, with its place on its page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) key: u64,
    pub(super) class: u32,
    pub(super) page: u32,
    /// Its index among the items of the page.
    pub(super) at: u32,
    pub(super) last: u64,
    /// The class of its age at its last hit.
    pub(super) hit_class: u8,
    pub(super) expires: Micros,
}
