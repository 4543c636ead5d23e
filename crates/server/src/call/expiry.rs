//! Expiry times in commands: a number with its unit and its reference.

use super::failure::{Failure, NOT_AN_INTEGER};
use wire::resp::parse_integer;

/// The unit and the reference point of a time in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    Seconds,
    Millis,
    AtSeconds,
    AtMillis,
}

impl Expiry {
    /// The meaning of `EX`, `PX`, `EXAT` and `PXAT`.
    pub(crate) fn named(word: &[u8]) -> Option<Self> {
        match word.to_ascii_lowercase().as_slice() {
            b"ex" => Some(Self::Seconds),
            b"px" => Some(Self::Millis),
            b"exat" => Some(Self::AtSeconds),
            b"pxat" => Some(Self::AtMillis),
            _ => None,
        }
    }
}

/// The time at which an expiry of `value` ends, in Unix milliseconds.
pub(crate) fn ends(life: Expiry, value: &[u8], now_ms: u64, command: &str) -> Result<u64, Failure> {
    let value = parse_integer(value).ok_or(NOT_AN_INTEGER)?;
    if value <= 0 {
        return Err(invalid(command));
    }
    let scale = if matches!(life, Expiry::Seconds | Expiry::AtSeconds) { 1_000 } else { 1 };
    let relative = matches!(life, Expiry::Seconds | Expiry::Millis);
    Ok(moment(value, scale, relative, now_ms, command)? as u64)
}

pub(crate) fn invalid(command: &str) -> Failure {
    Failure::err(&format!("invalid expire time in '{command}' command"))
}

/// The time that EXPIRE and related commands name, in Unix milliseconds: `number` units of `scale`
/// milliseconds, counted from now if it is `relative`.
pub(crate) fn moment(
    number: i64,
    scale: i64,
    relative: bool,
    now_ms: u64,
    command: &str,
) -> Result<i64, Failure> {
    let millis = number.checked_mul(scale);
    let at = millis.and_then(|millis| millis.checked_add(if relative { now_ms as i64 } else { 0 }));
    at.ok_or_else(|| invalid(command))
}
