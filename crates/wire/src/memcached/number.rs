//! Numbers in memcached's format: digits, leading zeros allowed, and nothing around them.

/// Parses a number without a sign.
pub fn parse_unsigned(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Parses a number that may have a minus sign.
pub fn parse_signed(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => 0i64.checked_sub_unsigned(parse_unsigned(digits)?),
        digits => i64::try_from(parse_unsigned(digits)?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_range() {
        assert_eq!(parse_unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_unsigned(b"18446744073709551616"), None);
        assert_eq!(parse_unsigned(b"007"), Some(7));
        assert_eq!(parse_signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_signed(b"9223372036854775808"), None);
        for text in [&b""[..], b"-", b"1 ", b"x", b"+1", b"--1"] {
            assert_eq!((parse_unsigned(text), parse_signed(text)), (None, None), "{text:?}");
        }
    }
}
