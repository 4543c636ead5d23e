//! Expiry times in commands: a number with its unit and its reference, and conditions for a change.

use super::{Call, Failure, NOT_AN_INTEGER};
use wire::resp::parse_integer;

/// The unit and the reference point of a time in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    Seconds,
    Millis,
    AtSeconds,
    AtMillis,
}

impl Expiry {
    /// The meaning of `EX`, `PX`, `EXAT` and `PXAT`.
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

/// The time at which an expiry of `value` ends, in Unix milliseconds.
pub(super) fn ends(life: Expiry, value: &[u8], now_ms: u64, command: &str) -> Result<u64, Failure> {
    let value = parse_integer(value).ok_or(NOT_AN_INTEGER)?;
    if value <= 0 {
        return Err(invalid(command));
    }
    let scale = if matches!(life, Expiry::Seconds | Expiry::AtSeconds) { 1_000 } else { 1 };
    let relative = matches!(life, Expiry::Seconds | Expiry::Millis);
    Ok(moment(value, scale, relative, now_ms, command)? as u64)
}

fn invalid(command: &str) -> Failure {
    Failure::err(&format!("invalid expire time in '{command}' command"))
}

/// The time that EXPIRE and related commands name, in Unix milliseconds: `number` units of `scale`
/// milliseconds, counted from now if it is `relative`.
pub(super) fn moment(
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

/// The latest expiry of a field, in Unix milliseconds, as in Redis.
const FIELD_ENDS_MAX: i64 = (1 << 46) - 1;

/// Refuses an expiry of a field that is too late.
pub(super) fn check_field(ends: i64, command: &str) -> Result<i64, Failure> {
    if ends <= FIELD_ENDS_MAX { Ok(ends) } else { Err(invalid(command)) }
}

/// The conditions under which EXPIRE and related commands change an expiry.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of the command")]
pub(super) struct Conditions {
    absent: bool,
    present: bool,
    longer: bool,
    shorter: bool,
}

impl Conditions {
    /// Adds the condition that a word names. Returns false if the word is none.
    pub(super) fn add(&mut self, word: &[u8]) -> bool {
        match word.to_ascii_lowercase().as_slice() {
            b"nx" => self.absent = true,
            b"xx" => self.present = true,
            b"gt" => self.longer = true,
            b"lt" => self.shorter = true,
            _ => return false,
        }
        true
    }

    /// Reads the words behind a key and its expiry.
    pub(super) fn read(call: &Call<'_>) -> Result<Self, Failure> {
        let mut found = Self::default();
        for word in call.args.iter_from(3) {
            if !found.add(word) {
                return Err([b"ERR Unsupported option ", word].concat().into());
            }
        }
        if found.absent && (found.present || found.longer || found.shorter) {
            return Err(
                "ERR NX and XX, GT or LT options at the same time are not compatible".into()
            );
        }
        if found.longer && found.shorter {
            return Err("ERR GT and LT options at the same time are not compatible".into());
        }
        Ok(found)
    }

    /// Whether an expiry at `old` may change to `new`. No expiry counts as the latest one.
    pub(super) fn allow(&self, old: Option<u64>, new: i64) -> bool {
        let refused = self.absent && old.is_some()
            || self.present && old.is_none()
            || self.longer && old.is_none_or(|old| new <= old as i64)
            || self.shorter && old.is_some_and(|old| new >= old as i64);
        !refused
    }
}
