//! Memory of hash maps.

/// Memory of a map with room for `capacity` entries: an entry, a control byte, and an eighth of
/// the buckets kept free.
pub(crate) fn map_bytes<T>(capacity: usize) -> usize {
    (capacity * 8 / 7) * (size_of::<(u64, T)>() + 1)
}
