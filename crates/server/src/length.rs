//! Lengths in front of bytes: seven bits a byte, the lowest first, so that short ones take one.

/// Takes a length off the front; none where there is no whole one.
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

/// Writes a length.
pub(crate) fn put_len(out: &mut Vec<u8>, mut len: usize) {
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
}
