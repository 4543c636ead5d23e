//! incr, decr.

use super::request::{Ask, Done, refused};
use crate::facts::event_classes;
use crate::facts::memcached_events::Event;
use crate::values::text_value::{FRESH, Text};
use store::{Change, Item};
use wire::memcached::parse_unsigned;

pub(super) const NO_NUMBER: &str = "CLIENT_ERROR cannot increment or decrement non-numeric value";
/// The number of digits of the largest number.
const DIGITS_MAX: usize = 20;

/// The number in a string; `None` if it holds none.
pub(super) fn number_of(text: &Text<'_>) -> Option<u64> {
    // memcached pads a number that has become shorter with blanks.
    let digits = text.data.trim_ascii_end();
    if digits.len() > DIGITS_MAX { None } else { parse_unsigned(digits) }
}

/// The sum, which wraps around, or the difference, which stops at zero.
pub(super) const fn moved(number: u64, by: u64, up: bool) -> u64 {
    if up { number.wrapping_add(by) } else { number.saturating_sub(by) }
}

/// Replaces a number by another. If the new one is not longer, the item keeps its state: stale, or
/// with a client that fetches it again.
pub(super) fn numbered<'a>(item: &Item<'_>, old: &Text<'a>, digits: &'a str, cas: u64) -> Text<'a> {
    let data = digits.as_bytes();
    if data.len() <= old.data.len() {
        return Text { cas, data, ..*old };
    }
    Text { flags: old.flags, cas, data, reads_before: item.hits, ..FRESH }
}

pub(super) fn add(ask: &mut Ask<'_>, up: bool) -> Done {
    let key = ask.key(ask.word(1)?)?;
    let by = parse_unsigned(ask.word(2)?);
    let by = by.ok_or("CLIENT_ERROR invalid numeric delta argument")?;
    let cas = ask.next_cas();
    let sum = ask.server.store.update(&key, ask.now, |item| {
        let Some((item, old)) = item.and_then(|item| Some((item, Text::of(item)?))) else {
            return (Change::Keep, Ok(None));
        };
        match number_of(&old) {
            Some(number) => {
                let sum = moved(number, by, up);
                let mut digits = itoa::Buffer::new();
                let new = numbered(item, &old, digits.format(sum), cas);
                (new.change(item.expires), Ok(Some(sum)))
            }
            None => (Change::Keep, Err(NO_NUMBER)),
        }
    });
    let sum = sum.map_err(|error| refused(ask, error))??;
    ask.count(match (up, sum.is_some()) {
        (true, true) => Event::IncrHits,
        (true, false) => Event::IncrMisses,
        (false, true) => Event::DecrHits,
        (false, false) => Event::DecrMisses,
    });
    if sum.is_some() {
        ask.tell(event_classes::STRING, "incrby", &key);
    }
    match sum {
        Some(sum) => ask.line(itoa::Buffer::new().format(sum)),
        None => ask.line("NOT_FOUND"),
    }
}
