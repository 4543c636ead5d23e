//! Numbers as text: in the form of C's `%.14g`, or in the fewest digits that identify them.

/// Writes a number with up to `digits` significant digits.
pub(super) fn general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let digits = digits.max(1);
    let scientific = format!("{:.*e}", digits - 1, value);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let behind = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.behind$}")).to_owned()
}

/// Removes zeros at the end of a fraction, and a point without digits behind it.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Writes a number in the fewest digits that read back as the same number, with an exponent if
/// there would be many zeros.
pub(super) fn shortest(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return general(value, 17);
    }
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let sign = if value < 0.0 { "-" } else { "" };
    // The exponent of the last digit.
    let last = exponent - (digits.len() as i32 - 1);
    if last >= 0 && exponent < digits.len() as i32 + 7
        || last < 0 && (last > -7 || exponent.abs() < 4)
    {
        return format!("{value}");
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let plus = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}{point}{rest}e{plus}{}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_does() {
        for (value, digits, text) in [
            (0.0, 14, "0"),
            (-0.0, 14, "-0"),
            (3.0, 14, "3"),
            (0.1, 14, "0.1"),
            (0.1, 17, "0.10000000000000001"),
            (1e14, 14, "1e+14"),
            (123_456_789_012_345.0, 14, "1.2345678901234e+14"),
            (12_345_678_901_234.0, 14, "12345678901234"),
            (0.0001, 14, "0.0001"),
            (0.00001, 14, "1e-05"),
            (1e300, 17, "1.0000000000000001e+300"),
            (999.999, 3, "1e+03"),
            (f64::INFINITY, 14, "inf"),
        ] {
            assert_eq!(general(value, digits), text);
        }
    }

    #[test]
    fn the_fewest_digits_tell_a_number() {
        for (value, text) in [
            (0.1, "0.1"),
            (-1.5e-7, "-1.5e-7"),
            (1e300, "1e+300"),
            (1e20, "1e+20"),
            (3.5, "3.5"),
            (1e-5, "0.00001"),
            (0.001_234_567_891, "0.001234567891"),
        ] {
            assert_eq!(shortest(value), text);
        }
    }
}
