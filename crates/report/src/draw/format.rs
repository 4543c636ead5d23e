//! Numbers as text with a unit, and with no more digits than matter.

use crate::words;

/// The format of the numbers of an axis or a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A plain number of about three digits: `1.25`, `48.2 k`.
    #[default]
    Number,
    /// A number of things, of which there is no half: `12`, `48.2 k`.
    Count,
    /// A ratio from 0 to 1 as per cent: `12.5 %`.
    Percent,
    /// Bytes in powers of 1024: `1.5 MiB`.
    Bytes,
    /// Microseconds: `250 µs`, `1.25 ms`, `3 s`.
    Micros,
    /// Unix seconds as the local time: `11-26 14:47:51`.
    Clock {
        /// The offset of local time from UTC, in seconds.
        utc_offset_s: i32,
    },
}

impl Format {
    /// `value` with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Number => scaled(value, 1000.0, &["", " k", " M", " G", " T"]),
            Self::Count => Self::Number.show(value.round()),
            Self::Percent => format!("{} %", digits(value * 100.0)),
            Self::Bytes => scaled(value, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"]),
            Self::Micros if value.abs() < 1e6 => scaled(value, 1000.0, &[" µs", " ms"]),
            Self::Micros => scaled(value / 1e6, 1000.0, &[" s", " ks"]),
            Self::Clock { utc_offset_s } => clock_time(value, utc_offset_s, 1.0),
        }
    }

    /// `value` rounded as in sentences and tables. Marks of an axis need more digits.
    pub fn told(self, value: f64) -> String {
        match self {
            Self::Percent => words::percent(value),
            Self::Bytes => words::size(value.max(0.0) as u64),
            Self::Micros => words::wait(value),
            Self::Number | Self::Count | Self::Clock { .. } => self.show(value),
        }
    }
}

/// A number of bytes in powers of 1024.
pub fn bytes(value: u64) -> String {
    Format::Bytes.show(value as f64)
}

/// The local time, as exact as marks need that are `step` seconds apart: a date from a day on, else
/// hours and minutes, with seconds below a minute.
pub(super) fn clock_time(unix_s: f64, utc_offset_s: i32, step: f64) -> String {
    let local = (unix_s.max(0.0) as u64).saturating_add_signed(utc_offset_s.into());
    let (hour, minute, second) = (local / 3_600 % 24, local / 60 % 60, local % 60);
    match step {
        step if step >= 86_400.0 => words::date(local)[5..].to_owned(),
        step if step >= 60.0 => format!("{hour:02}:{minute:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}"),
    }
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut at) = (value, 0);
    // Without the 0.5, 999.6 would be written as 1000.
    while value.abs() >= step - 0.5 && at + 1 < units.len() {
        value /= step;
        at += 1;
    }
    format!("{}{}", digits(value), units[at])
}

/// About three significant digits, or the whole part if it is longer.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        0.0 => 0,
        size if size < 0.1 => 3,
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.places$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_where_the_number_would_grow_a_digit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(1 << 30), "1 GiB");
        assert_eq!(Format::Percent.show(0.125), "12.5 %");
        assert_eq!(Format::Percent.show(1.0), "100 %");
        assert_eq!(Format::Micros.show(1250.0), "1.25 ms");
        assert_eq!(Format::Micros.show(3e6), "3 s");
        assert_eq!(Format::Number.show(48_200.0), "48.2 k");
        assert_eq!(Format::Count.show(12.2), "12");
    }
}
