//! `slabs` and `lru`, which tune memcached's slabs and lists. Larder has neither. A request that
//! memcached accepts is answered `OK` and changes nothing; one that it refuses is refused.

use super::request::{Ask, BAD_FORMAT, Done, UNKNOWN};
use wire::memcached::{parse_signed, parse_unsigned};

/// The number of classes that memcached may have: one more than their highest number.
pub(super) const CLASSES: u64 = 64;
/// The largest sum of the lists' shares that memcached allows, in percent.
const SHARES_MAX: u64 = 80;

/// A number of 32 bits.
pub(super) fn short(word: Option<&[u8]>) -> Option<u64> {
    word.and_then(parse_unsigned).filter(|&number| u32::try_from(number).is_ok())
}

/// A number that may have a fraction.
fn ratio(word: Option<&[u8]>) -> Option<f64> {
    std::str::from_utf8(word?).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// `slabs automove …` and `slabs reassign …`.
pub(super) fn slabs(ask: &mut Ask<'_>) -> Done {
    let (word, argument) = (ask.request.get(2), ask.request.get(3));
    match (ask.word(1)?, word) {
        (b"reassign", Some(from)) if ask.request.len() == 4 => {
            let (from, to) = (parse_signed(from), argument.and_then(parse_signed));
            let (Some(from), Some(to)) = (from, to) else {
                return Err(BAD_FORMAT);
            };
            if from == to {
                return ask.line("SAME src and dst class are identical");
            }
            let exists = |class: i64| (1..CLASSES as i64).contains(&class);
            if !exists(to) || from != -1 && !exists(from) {
                return ask.line("BADCLASS invalid src or dst class id");
            }
            ask.line("NOSPARE source class has no spare pages")
        }
        (b"automove", Some(b"ratio" | b"freeratio")) => {
            ratio(argument).ok_or(UNKNOWN)?;
            ask.line("OK")
        }
        (b"automove", Some(b"window")) => match short(argument).ok_or(BAD_FORMAT)? {
            3..=1_800 => ask.line("OK"),
            _ => Err("CLIENT_ERROR automove window too low or too high"),
        },
        (b"automove", Some(level)) => match short(Some(level)).ok_or(BAD_FORMAT)? {
            0..=2 => ask.line("OK"),
            _ => Err(UNKNOWN),
        },
        _ => Err(UNKNOWN),
    }
}

/// `lru mode …`, `lru tune …`, `lru temp_ttl …`.
pub(super) fn lru(ask: &mut Ask<'_>) -> Done {
    let word = |at| ask.request.get(at);
    match (ask.word(1)?, word(2)) {
        (b"mode", Some(b"flat" | b"segmented")) => ask.line("OK"),
        (b"temp_ttl", Some(seconds)) => {
            let seconds = parse_signed(seconds).filter(|&number| i32::try_from(number).is_ok());
            seconds.ok_or(UNKNOWN)?;
            ask.line("OK")
        }
        (b"tune", _) => {
            let shares = short(word(2)).zip(short(word(3))).ok_or(UNKNOWN)?;
            let factors = ratio(word(4)).zip(ratio(word(5))).ok_or(UNKNOWN)?;
            if shares.0 + shares.1 > SHARES_MAX {
                return Err("ERROR hot and warm pcts must not exceed 80");
            }
            if factors.0 <= 0.0 || factors.1 <= 0.0 {
                return Err("ERROR hot/warm age factors must be greater than 0");
            }
            ask.line("OK")
        }
        _ => Err(UNKNOWN),
    }
}
