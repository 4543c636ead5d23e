//! An item chosen for eviction, and its slot.

/// A slot of a page of a class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageSlot {
    pub(crate) page: u32,
    pub(crate) slot: u32,
}

/// An item chosen for eviction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Victim {
    pub(crate) page: usize,
    pub(crate) slot: u32,
    pub(crate) addr: usize,
    /// Hash of its key. If the item was chosen ahead and has been replaced, the hash of the old
    /// key.
    pub(crate) hash: u64,
    /// `None` if it was not chosen by its rank.
    pub(crate) rank: Option<f32>,
    pub(crate) is_dead: bool,
}
