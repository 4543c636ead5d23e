//! The meaning of a command in a line of MONITOR: an access, or a new time to live for its key.

use crate::command::{Meaning, find};
use base::Micros;

/// The effect of the command of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asks {
    Access(Meaning),
    /// A time to live in units of `unit` microseconds, from now or as a date.
    Life {
        unit: u64,
        is_date: bool,
    },
    /// No time to live any more.
    Persist,
}

/// Stands for the time to live that the item already has.
pub(super) const KEEPS: Micros = Micros(u64::MAX);

/// A time to live in microseconds, from a number of units, or from a date and the current time.
pub(super) fn life(number: u64, unit: u64, is_date: bool, now_us: u64) -> Micros {
    let us = number.saturating_mul(unit).min(u64::MAX - 1);
    Micros(if is_date { us.saturating_sub(now_us).max(1) } else { us })
}

/// The effect of a command, if it is a request to a cache.
pub(super) fn asks(command: &[u8]) -> Option<Asks> {
    if let Some(meaning) = find(command) {
        return Some(Asks::Access(meaning));
    }
    let (unit, is_date) = match command.to_ascii_lowercase().as_slice() {
        b"expire" => (1_000_000, false),
        b"pexpire" => (1_000, false),
        b"expireat" => (1_000_000, true),
        b"pexpireat" => (1_000, true),
        b"persist" => return Some(Asks::Persist),
        _ => return None,
    };
    Some(Asks::Life { unit, is_date })
}
