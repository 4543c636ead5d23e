//! Lengths in front of bytes, with seven bits in each byte, the lowest first. A short length takes
//! one byte.

/// Takes a length off the front; `None` if the bytes hold no whole length.
pub(crate) fn take_len(bytes: &mut &[u8]) -> Option<usize> {
    let (mut len, mut shift) = (0u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        len |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return usize::try_from(len).ok();
        }
        shift += 7;
        if shift > 28 {
            return None;
        }
    }
}

/// Appends a length.
pub(crate) fn put_len(out: &mut Vec<u8>, mut len: usize) {
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
}
