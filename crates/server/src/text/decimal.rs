//! Exact addition of decimal fractions.
//!
//! INCRBYFLOAT adds two texts and writes at most 17 digits behind the point. With decimal digits
//! 0.1 + 0.2 is the 0.3 that a user expects. Binary fractions of 64 bits would not give it.

use std::fmt;

/// The largest number of digits behind the point in a result.
const FRACTION_MAX: i32 = 17;
/// The largest exponent that is read: that of the 80-bit floats in other servers.
const EXPONENT_MAX: i32 = 4932;
/// The largest power of two, and the largest number of bits, that is read in hexadecimal. It is
/// beyond a double, and quickly computed.
const POWER_MAX: i32 = 2048;
/// The longest text of a number, in bytes, as in Redis. Longer ones would take long to compute.
const TEXT_MAX: usize = 5 << 10;

/// ± digits × 10^exponent. The most significant digit comes first, without leading zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i32,
}

impl Decimal {
    /// Reads a number such as `3`, `-1.50`, `.5`, `5.0e3` or `0x1.8p3`; `None` if the text is no
    /// such number.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] | rest => (false, rest),
        };
        if let [b'0', b'x' | b'X', rest @ ..] = text {
            return Some(Self { negative, ..Self::parse_hexadecimal(rest)? }.trimmed());
        }
        let end = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
        let (mantissa, exponent) = text.split_at(end);
        let exponent: i32 = match exponent {
            [] => 0,
            [_, rest @ ..] => std::str::from_utf8(rest).ok()?.parse().ok()?,
        };
        let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
        let (whole, fraction) = (&mantissa[..point], mantissa.get(point + 1..).unwrap_or_default());
        let digits: Vec<u8> =
            whole.iter().chain(fraction).map(|byte| byte.wrapping_sub(b'0')).collect();
        if digits.is_empty() || digits.iter().any(|&digit| digit > 9) {
            return None;
        }
        let number = Self {
            negative,
            exponent: exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?,
            digits,
        };
        let number = number.trimmed();
        let magnitude = number.digits.len() as i64 + i64::from(number.exponent);
        (number.digits.is_empty() || magnitude.abs() <= i64::from(EXPONENT_MAX)).then_some(number)
    }

    /// Reads hexadecimal digits with a point and a power of two, as C prints floats exactly.
    fn parse_hexadecimal(text: &[u8]) -> Option<Self> {
        let end = text.iter().position(|byte| matches!(byte, b'p' | b'P')).unwrap_or(text.len());
        let (mantissa, power) = text.split_at(end);
        let power: i32 = match power {
            [] => 0,
            [_, rest @ ..] => std::str::from_utf8(rest).ok()?.parse().ok()?,
        };
        let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
        let fraction = mantissa.len().saturating_sub(point + 1);
        let power = power.checked_sub(i32::try_from(4 * fraction).ok()?)?;
        if mantissa.len() > POWER_MAX as usize / 4 || power.abs() > POWER_MAX {
            return None;
        }
        let mut number = Self::default();
        let mut count = 0;
        for &byte in mantissa[..point].iter().chain(&mantissa[mantissa.len() - fraction..]) {
            number.scale(16, char::from(byte).to_digit(16)? as u8);
            count += 1;
        }
        // Each halving adds a decimal digit: 2^-n is 5^n * 10^-n.
        for _ in 0..power.abs() {
            number.scale(if power > 0 { 2 } else { 5 }, 0);
        }
        number.exponent = power.min(0);
        (count > 0).then(|| number.trimmed())
    }

    /// Multiplies the digits by `by` and adds `plus`.
    fn scale(&mut self, by: u8, plus: u8) {
        let mut carry = u16::from(plus);
        for digit in self.digits.iter_mut().rev() {
            carry += u16::from(*digit) * u16::from(by);
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            self.digits.insert(0, (carry % 10) as u8);
            carry /= 10;
        }
    }

    /// Whether a text is an infinite number, such as `inf` or `-Infinity`.
    pub(crate) fn is_infinite(text: &[u8]) -> bool {
        let text = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
        text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity")
    }

    /// Whether the number is larger than any number that is read.
    pub(crate) fn is_beyond(&self) -> bool {
        self.digits.len() as i64 + i64::from(self.exponent) > i64::from(EXPONENT_MAX)
    }

    /// Removes zeros from both ends of the digits.
    fn trimmed(mut self) -> Self {
        let zeros = self.digits.iter().take_while(|&&digit| digit == 0).count();
        self.digits.drain(..zeros);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        if self.digits.is_empty() { Self::default() } else { self }
    }

    /// The digits for the exponent `exponent`, which must not be above the number's own.
    fn at(&self, exponent: i32) -> Vec<u8> {
        let mut digits = self.digits.clone();
        if !digits.is_empty() {
            digits.resize(digits.len() + (self.exponent - exponent) as usize, 0);
        }
        digits
    }

    /// The sum of two numbers.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let (mut a, mut b) = (self.at(exponent), other.at(exponent));
        a.reverse();
        b.reverse();
        let len = a.len().max(b.len()) + 1;
        a.resize(len, 0);
        b.resize(len, 0);
        let mut negative = self.negative;
        let mut digits = vec![0; len];
        if self.negative == other.negative {
            let mut carry = 0;
            for at in 0..len {
                let sum = a[at] + b[at] + carry;
                (digits[at], carry) = (sum % 10, sum / 10);
            }
        } else {
            if a.iter().rev().lt(b.iter().rev()) {
                std::mem::swap(&mut a, &mut b);
                negative = other.negative;
            }
            let mut borrow = 0;
            for at in 0..len {
                let difference = 10 + a[at] - b[at] - borrow;
                (digits[at], borrow) = (difference % 10, 1 - difference / 10);
            }
        }
        digits.reverse();
        Self { negative, digits, exponent }.trimmed()
    }

    /// Rounds to the digits behind the point that a result may have, halves to even.
    fn rounded(&self) -> Self {
        let excess = -FRACTION_MAX - self.exponent;
        if excess <= 0 {
            return self.clone();
        }
        let keep = self.digits.len().saturating_sub(excess as usize);
        if excess as usize > self.digits.len() {
            return Self::default();
        }
        let (kept, cut) = self.digits.split_at(keep);
        let half = (cut[0], cut[1..].iter().any(|&digit| digit > 0));
        let odd = kept.last().is_some_and(|digit| digit % 2 == 1);
        let up = half.0 > 5 || half.0 == 5 && (half.1 || odd);
        let mut digits = kept.to_vec();
        if digits.is_empty() {
            digits.push(0);
        }
        let base = Self { negative: self.negative, digits, exponent: -FRACTION_MAX };
        let one = Self { negative: self.negative, digits: vec![1], exponent: -FRACTION_MAX };
        if up { base.plus(&one) } else { base.trimmed() }
    }
}

impl fmt::Display for Decimal {
    /// Plain digits, without an exponent and without trailing zeros behind the point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.rounded();
        if number.digits.is_empty() {
            return f.write_str("0");
        }
        if number.negative {
            f.write_str("-")?;
        }
        let text: String =
            number.at(number.exponent.min(0)).iter().map(|d| (b'0' + d) as char).collect();
        let fraction = (-number.exponent).max(0) as usize;
        if fraction == 0 {
            return f.write_str(&text);
        }
        let text = format!("{text:0>width$}", width = fraction + 1);
        let (whole, fraction) = text.split_at(text.len() - fraction);
        write!(f, "{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(a: &str, b: &str) -> Option<String> {
        Some(Decimal::parse(a.as_bytes())?.plus(&Decimal::parse(b.as_bytes())?).to_string())
    }

    #[test]
    fn sums_a_user_expects() {
        for (a, b, expected) in [
            ("0.1", "0.2", "0.3"),
            ("10.50", "0.1", "10.6"),
            ("10.6", "-5", "5.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("3", "-3.0", "0"),
            ("1", "-1.5", "-0.5"),
            ("0", "1e-17", "0.00000000000000001"),
            ("0", "1e-18", "0"),
            ("0", "6e-18", "0.00000000000000001"),
            ("999", "1", "1000"),
            (".5", "5.", "5.5"),
            ("+1", "0", "1"),
        ] {
            assert_eq!(sum(a, b).as_deref(), Some(expected), "{a} + {b}");
        }
        for (text, expected) in [
            ("0x10", "16"),
            ("-0X1p3", "-8"),
            ("0x.8", "0.5"),
            ("0x1.8p-1", "0.75"),
            ("0xffP+4", "4080"),
            ("0x0p9", "0"),
        ] {
            assert_eq!(sum(text, "0").as_deref(), Some(expected), "{text}");
        }
        for text in ["0x", "0x.", "0x1p", "0xg", "0x1p99999", "0x1.8.0", "0x-1"] {
            assert!(Decimal::parse(text.as_bytes()).is_none(), "{text}");
        }
        for text in ["inf", "-inf", "+Infinity", "INF"] {
            assert!(Decimal::is_infinite(text.as_bytes()), "{text}");
        }
        for text in ["", "-", "in", "nan", "infinit"] {
            assert!(!Decimal::is_infinite(text.as_bytes()), "{text}");
        }
        for text in ["", "a", "1a", ".", "1e", "--1", "1 ", " 1", "1e99999", "nan", "inf"] {
            assert!(Decimal::parse(text.as_bytes()).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whole_numbers_add_as_integers(a: i64, b: i64) {
            let expected = (i128::from(a) + i128::from(b)).to_string();
            prop_assert_eq!(sum(&a.to_string(), &b.to_string()), Some(expected));
        }

        /// A number that was written parses back to the same number.
        #[test]
        fn reads_what_it_writes(text in "-?[0-9]{0,20}\\.?[0-9]{0,25}(e-?[0-9]{1,2})?") {
            if let Some(number) = Decimal::parse(text.as_bytes()) {
                let written = number.to_string();
                let again = Decimal::parse(written.as_bytes()).unwrap();
                prop_assert_eq!(again.to_string(), written);
            }
        }
    }
}
