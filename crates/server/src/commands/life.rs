//! Lives as commands state them: a number with its unit and its zero.

use super::{Failure, NOT_AN_INTEGER};
use wire::resp::parse_integer;

/// Units and reference of a time given to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Seconds,
    Millis,
    AtSeconds,
    AtMillis,
}

impl Life {
    /// What `EX`, `PX`, `EXAT` and `PXAT` mean.
    pub(super) fn named(word: &[u8]) -> Option<Self> {
        match word.to_ascii_lowercase().as_slice() {
            b"ex" => Some(Self::Seconds),
            b"px" => Some(Self::Millis),
            b"exat" => Some(Self::AtSeconds),
            b"pxat" => Some(Self::AtMillis),
            _ => None,
        }
    }
}

/// When a life of `value` ends, in Unix milliseconds.
pub(super) fn ends(life: Life, value: &[u8], now_ms: u64, command: &str) -> Result<u64, Failure> {
    let value = parse_integer(value).ok_or(NOT_AN_INTEGER)?;
    let invalid = || Failure::err(&format!("invalid expire time in '{command}' command"));
    if value <= 0 {
        return Err(invalid());
    }
    let scale = if matches!(life, Life::Seconds | Life::AtSeconds) { 1_000 } else { 1 };
    let millis = value.checked_mul(scale).ok_or_else(invalid)?;
    let at = match life {
        Life::Seconds | Life::Millis => millis.checked_add(now_ms as i64).ok_or_else(invalid)?,
        Life::AtSeconds | Life::AtMillis => millis,
    };
    Ok(at as u64)
}
