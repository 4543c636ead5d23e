//! Size of a cache as the user writes it: in bytes, or in per cent of the footprint.

use base::Bytes;
use std::fmt;

/// Size of a cache, with the user's words.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Size {
    Bytes(Bytes, String),
    /// Share of the footprint; 1 is all of it.
    Share(f64, String),
}

impl Size {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let Some(number) = text.strip_suffix('%') else {
            return match Bytes::parse(text) {
                Ok(Bytes(0)) => {
                    Err(format!("'{text}' is a cache without room: write a size of at least 1"))
                }
                Ok(bytes) => Ok(Self::Bytes(bytes, text.to_owned())),
                Err(error) => Err(format!("{error}, or a share of the footprint, such as 10%")),
            };
        };
        match number.trim().parse::<f64>() {
            Ok(share) if share > 0.0 && share.is_finite() => {
                Ok(Self::Share(share / 100.0, text.to_owned()))
            }
            _ => Err(format!("'{text}' is not a share: write a number above zero, such as 0.1%")),
        }
    }

    /// The size for a trace with this footprint, at least 1.
    pub(super) fn of(&self, footprint: u64) -> Bytes {
        match self {
            Self::Bytes(bytes, _) => *bytes,
            Self::Share(share, _) => Bytes(((footprint as f64 * share).round() as u64).max(1)),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Bytes(_, text) | Self::Share(_, text)) = self;
        f.pad(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_shares() {
        let of = |text: &str| Size::parse(text).unwrap().of(186_880).0;
        assert_eq!(of("1%"), 1869, "rounded, not cut");
        assert_eq!(of("0.000001%"), 1, "never nothing");
        assert_eq!(of("1GiB"), 1 << 30);
        assert_eq!(of("4096"), 4096);
        for (wrong, answer) in
            [("0", "at least 1"), ("0%", "0.1%"), ("-1%", "0.1%"), ("x%", "0.1%"), ("1 foo", "10%")]
        {
            let error = Size::parse(wrong).unwrap_err();
            assert!(error.contains(answer), "{wrong}: {error}");
        }
    }
}
