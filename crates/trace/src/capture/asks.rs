//! What a command of a line of MONITOR asks for: an access, or another life for its key.

use crate::Micros;
use crate::command::{Meaning, find};

/// What the command of a line asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asks {
    Access(Meaning),
    /// A life of so many microseconds a unit, from now or as a date.
    Life {
        unit: u64,
        is_date: bool,
    },
    /// A life without end.
    Persist,
}

/// Stands for the life that the item had.
pub(super) const KEEPS: Micros = Micros(u64::MAX);

/// A life of so many units, or until a date.
pub(super) fn life(number: u64, unit: u64, is_date: bool, now_us: u64) -> Micros {
    let us = number.saturating_mul(unit).min(u64::MAX - 1);
    Micros(if is_date { us.saturating_sub(now_us).max(1) } else { us })
}

/// What a command asks for, if it is a request to a cache.
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
