//! Numbers that cannot be mixed up: bytes, ticks, microseconds and ratios.
//!
//! A tick is one request: logical time, by which policies and models age. A microsecond is wall
//! time, used only for expiry and penalties. No conversion between the two is implicit.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl $name {
            /// The difference, or zero if `other` is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// As a float, for formulas.
            pub const fn as_f64(self) -> f64 {
                self.0 as f64
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                Self(all.map(|one| one.0).sum())
            }
        }
    };
}

quantity! {
    /// A number of bytes.
    Bytes
}
quantity! {
    /// Logical time: requests since the start.
    Tick
}
quantity! {
    /// Wall time in microseconds: a duration, or a point since an agreed start.
    Micros
}

impl Bytes {
    /// 1024 bytes.
    pub const KIB: Self = Self(1 << 10);
    /// 1024² bytes.
    pub const MIB: Self = Self(1 << 20);
    /// 1024³ bytes.
    pub const GIB: Self = Self(1 << 30);

    /// Parses a size as redis.conf writes it: a number, then one of `b k kb m mb g gb t tb` (`k` is
    /// 1000, `kb` is 1024), or `KiB MiB GiB TiB`, in any case.
    ///
    /// # Errors
    /// A sentence that names the text and the accepted units.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let split = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let scale: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" => 1_000,
            "kb" | "kib" => 1 << 10,
            "m" => 1_000_000,
            "mb" | "mib" => 1 << 20,
            "g" => 1_000_000_000,
            "gb" | "gib" => 1 << 30,
            "t" => 1_000_000_000_000,
            "tb" | "tib" => 1 << 40,
            _ => return Err(size_error(text)),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(scale).map(Self).ok_or_else(|| size_error(text));
        }
        match number.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Self((number * scale as f64) as u64)),
            _ => Err(size_error(text)),
        }
    }
}

impl Bytes {
    /// The size with the largest unit that is exact: `41mb`, `1536kb`, `1000`.
    pub fn written(self) -> String {
        let units = [(40, "tb"), (30, "gb"), (20, "mb"), (10, "kb")];
        let whole = |(shift, _): &(u32, &str)| self.0 > 0 && self.0.trailing_zeros() >= *shift;
        match units.into_iter().find(whole) {
            Some((shift, unit)) => format!("{}{unit}", self.0 >> shift),
            None => self.0.to_string(),
        }
    }
}

fn size_error(text: &str) -> String {
    format!("'{text}' is not a size: write a number and a unit, such as 512mb, 1.5gb or 4GiB")
}

impl fmt::Display for Bytes {
    /// Prints the largest binary unit in which the number is at least one, with three digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        let digits = match value {
            _ if unit == 0 => 0,
            v if v < 10.0 => 2,
            v if v < 100.0 => 1,
            _ => 0,
        };
        let text = format!("{value:.digits$} {}", UNITS[unit]);
        f.pad(&text)
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            us if us < 1_000 => format!("{us} µs"),
            us if us < 1_000_000 => format!("{:.2} ms", us as f64 / 1e3),
            us => format!("{:.2} s", us as f64 / 1e6),
        };
        f.pad(&text)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Tick {
    /// Later than every request.
    pub const NEVER: Self = Self(u64::MAX);

    /// Ticks from `earlier` to this one, or zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Micros {
    /// A duration of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000)
    }

    /// A duration of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000)
    }
}

/// Share of the reads that miss, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct MissRatio(pub f64);

impl MissRatio {
    /// Every read misses, as in a cache of size zero.
    pub const ALL: Self = Self(1.0);

    /// `misses` divided by `reads`; [`Self::ALL`] if there were no reads.
    pub fn of(misses: f64, reads: f64) -> Self {
        if reads > 0.0 { Self((misses / reads).clamp(0.0, 1.0)) } else { Self::ALL }
    }
}

impl fmt::Display for MissRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.4}", self.0);
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_written_as_it_is_read() {
        for (bytes, text) in [
            (0, "0"),
            (1_000, "1000"),
            (41 << 20, "41mb"),
            (1_536 << 10, "1536kb"),
            (1 << 40, "1tb"),
        ] {
            assert_eq!(Bytes(bytes).written(), text);
            assert_eq!(Bytes::parse(text), Ok(Bytes(bytes)));
        }
    }

    #[test]
    fn sizes_are_read_as_redis_reads_them() {
        for (text, bytes) in [
            ("0", 0),
            ("100", 100),
            ("1k", 1_000),
            ("1kb", 1_024),
            ("64MB", 64 << 20),
            ("1.5gb", 3 << 29),
            ("2 GiB", 2 << 30),
        ] {
            assert_eq!(Bytes::parse(text), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "gb", "-1", "1 pint", "1e999", "99999999999gb"] {
            assert!(Bytes::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_print_with_three_digits() {
        assert_eq!(Bytes(999).to_string(), "999 B");
        assert_eq!(Bytes(3 << 29).to_string(), "1.50 GiB");
        assert_eq!(Bytes(100 << 20).to_string(), "100 MiB");
    }
}
