//! Lives as commands state them: a number with its unit and its zero, and when it may be changed.

use super::{Call, Failure, NOT_AN_INTEGER};
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
    /// Meaning of `EX`, `PX`, `EXAT` and `PXAT`.
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
    if value <= 0 {
        return Err(invalid(command));
    }
    let scale = if matches!(life, Life::Seconds | Life::AtSeconds) { 1_000 } else { 1 };
    let relative = matches!(life, Life::Seconds | Life::Millis);
    Ok(moment(value, scale, relative, now_ms, command)? as u64)
}

fn invalid(command: &str) -> Failure {
    Failure::err(&format!("invalid expire time in '{command}' command"))
}

/// The point in Unix milliseconds that EXPIRE and its kin name: so many units of `scale`
/// milliseconds, from now on where it is `relative`.
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

/// The last end of a field's life, in Unix milliseconds, as Redis has it.
const FIELD_ENDS_MAX: i64 = (1 << 46) - 1;

/// Refuses a field's life that ends too late.
pub(super) fn check_field(ends: i64, command: &str) -> Result<i64, Failure> {
    if ends <= FIELD_ENDS_MAX { Ok(ends) } else { Err(invalid(command)) }
}

/// When EXPIRE and its kin may change a life.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of the command")]
pub(super) struct Conditions {
    absent: bool,
    present: bool,
    longer: bool,
    shorter: bool,
}

impl Conditions {
    /// Heeds a word; false where it is none of them.
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

    /// The words behind a key and its life.
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

    /// Whether a life that ends at `old` may be made to end at `new`. No end is the latest end.
    pub(super) fn allow(&self, old: Option<u64>, new: i64) -> bool {
        let refused = self.absent && old.is_some()
            || self.present && old.is_none()
            || self.longer && old.is_none_or(|old| new <= old as i64)
            || self.shorter && old.is_some_and(|old| new >= old as i64);
        !refused
    }
}
