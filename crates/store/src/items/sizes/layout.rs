//! Layout of a page: head, tags, chunks.

/// Bytes before the tags: one line.
pub(crate) const HEAD: u64 = 64;
/// Bytes of a tag.
pub(crate) const TAG: u64 = 4;

/// Chunks, the head and tags are multiples of this, which is the alignment of items.
pub(crate) const STEP: u64 = 4;

/// Bytes of a chunk in a page of `page` bytes with `slots` slots.
pub(crate) const fn chunk_of(page: u64, slots: u64) -> u64 {
    ((page - HEAD) / slots - TAG) & !(STEP - 1)
}
