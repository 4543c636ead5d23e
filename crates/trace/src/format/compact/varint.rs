//! Integers in as few bytes as they need.

pub(super) fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Reads a varint from a column, which extends from `column.0` to `column.1`.
#[inline]
pub(super) fn varint(bytes: &[u8], column: &mut (usize, usize)) -> Option<u64> {
    let column_of = bytes.get(column.0..column.1)?;
    // Most numbers have one byte or two.
    match *column_of {
        [first, ..] if first < 0x80 => {
            column.0 += 1;
            return Some(u64::from(first));
        }
        [first, second, ..] if second < 0x80 => {
            column.0 += 2;
            return Some(u64::from(first & 0x7f) | u64::from(second) << 7);
        }
        _ => {}
    }
    let mut value = 0u64;
    for (shift, &byte) in (0..64).step_by(7).zip(column_of) {
        column.0 += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

pub(super) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
