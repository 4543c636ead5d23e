//! Buffers that are kept for the next use, unless they have grown too large.

/// An empty buffer with a larger capacity is freed.
const KEEP_MAX: usize = 16 << 10;

/// Empties a buffer, and frees its memory if it has grown large.
pub(crate) fn give_back(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > KEEP_MAX {
        *buffer = vec![];
    }
}
