//! Numbers with a fraction as text: the shortest that reads back as the same number, laid out as
//! Redis lays it out.

/// Zeros written behind the digits of a whole number before an exponent takes their place.
const ZEROS_MAX: i32 = 7;

/// Whole numbers up to half of what 64 bits hold are written out.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As redis-server 7.2 shows what ZADD was given.
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

    proptest! {
        #[test]
        fn reads_back(value: f64) {
            prop_assume!(!value.is_nan());
            prop_assert_eq!(format_double(value).parse::<f64>().unwrap(), value);
        }
    }
}
