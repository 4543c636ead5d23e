//! Conditions under which commands change an expiry.

use crate::call::expiry::invalid;
use crate::call::{Call, Failure};

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
