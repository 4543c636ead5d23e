//! Numbers with a fraction as text. They are written as the shortest text that reads back as the
//! same number, in Redis's layout, and parsed as Redis parses arguments.

/// Most zeros written after the digits of a whole number before an exponent replaces them.
const ZEROS_MAX: i32 = 7;

/// Whole numbers up to half the range of 64 bits are written without an exponent.
const WHOLE_MAX: f64 = (i64::MAX / 2) as f64;

/// A number as text: `3`, `0.1`, `1e+21`, `inf`, `-inf`, `nan`.
pub fn format_double(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    if value.abs() < WHOLE_MAX && value.fract() == 0.0 {
        return (value as i64).to_string();
    }
    let text = format!("{:e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let count = digits.len() as i32;
    // The value is the digits times ten to this power.
    let power = exponent + 1 - count;
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if power >= 0 && exponent < count + ZEROS_MAX {
        return format!("{sign}{digits}{}", "0".repeat(power as usize));
    }
    if power < 0 && (power > -ZEROS_MAX || exponent.abs() < 4) {
        let point = count + power;
        if point <= 0 {
            return format!("{sign}0.{}{digits}", "0".repeat(-point as usize));
        }
        let (whole, rest) = digits.split_at(point as usize);
        return format!("{sign}{whole}.{rest}");
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}e{exponent:+}")
}

/// Parses a number. `None` for text that is not a number, and for a number outside the range of 64
/// bits: `1e400` is not infinite, and `1e-400` is not zero.
pub fn parse_double(text: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let has = |wanted: fn(&u8) -> bool| {
        let is_exponent = |byte: &u8| matches!(byte, b'e' | b'E');
        text.split(is_exponent).next().is_some_and(|mantissa| mantissa.iter().any(wanted))
    };
    let is_beyond = if number.is_infinite() {
        // Infinity as a word has no digit.
        has(u8::is_ascii_digit)
    } else {
        number == 0.0 && has(|byte| matches!(byte, b'1'..=b'9'))
    };
    (!number.is_nan() && !is_beyond).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The layout in which redis-server 7.2 shows the scores that ZADD received.
    #[test]
    fn is_laid_out_as_redis_does() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (3.0, "3"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e6, "1000000"),
            (1e7, "10000000"),
            (1e8, "100000000"),
            (123_456_789_012.0, "123456789012"),
            (370_370_367_037_037_056.0, "370370367037037056"),
            (1e21, "1e+21"),
            (0.000_012_34, "1.234e-5"),
            (1.5e-7, "1.5e-7"),
            (0.001, "0.001"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (17_179_869_184.0, "17179869184"),
            (2.345_678_901_234_567, "2.345678901234567"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(format_double(value), text);
        }
    }

    #[test]
    fn what_is_beyond_all_numbers_is_none() {
        for (text, number) in [
            ("1.7976931348623157e308", Some(f64::MAX)),
            ("1.8e308", None),
            ("1e400", None),
            ("-1e400", None),
            ("1e-400", None),
            ("-0.001e-400", None),
            ("0e-400", Some(0.0)),
            ("0.0E5", Some(0.0)),
            ("-0", Some(-0.0)),
            ("1e-310", Some(1e-310)),
            ("inf", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("+inf", Some(f64::INFINITY)),
            ("nan", None),
            ("", None),
            ("e5", None),
            (" 1", None),
            ("1 ", None),
        ] {
            assert_eq!(parse_double(text.as_bytes()), number, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reads_back(value: f64) {
            prop_assume!(!value.is_nan());
            prop_assert_eq!(format_double(value).parse::<f64>().unwrap(), value);
            prop_assert_eq!(parse_double(format_double(value).as_bytes()), Some(value));
        }
    }
}
