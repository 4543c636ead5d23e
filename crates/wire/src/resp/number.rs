//! Integers in the form that RESP and the counting commands accept.

/// Parses a whole number strictly: an optional `-`, no `+`, no leading zeros, no blanks, nothing
/// outside 64 bits. A parsed number prints as the same text, so a counter can be stored as a
/// string.
#[inline]
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut value = 0u64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // At most nineteen digits: below 10¹⁹, which fits 64 bits without a sign.
        value = value * 10 + u64::from(digit);
    }
    if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every accepted text prints as it was written, and every printed number is accepted.
        #[test]
        fn reads_exactly_what_prints(value: i64, text in "[-+]?0?[0-9]{0,20}[ x]?") {
            prop_assert_eq!(parse_integer(value.to_string().as_bytes()), Some(value));
            if let Some(read) = parse_integer(text.as_bytes()) {
                prop_assert_eq!(read.to_string(), text);
            }
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        for (text, value) in [
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("-9223372036854775808", Some(i64::MIN)),
            ("-9223372036854775809", None),
            ("99999999999999999999", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("007", None),
        ] {
            assert_eq!(parse_integer(text.as_bytes()), value, "{text}");
        }
    }
}
