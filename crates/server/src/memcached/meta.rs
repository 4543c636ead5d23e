//! What the meta commands share: their flags, the key, the reply.
//!
//! A flag is a letter, some with a token behind it. Flags that ask for something are answered in
//! the order they were asked.

use super::{Ask, BAD_FORMAT, KEY_MAX, UNKNOWN};
use crate::value::Text;
use std::borrow::Cow;
use std::io::Write;
use store::{Item, Now};
use wire::memcached::{decode_key, parse_signed, parse_unsigned};

pub(super) const BAD_TOKEN: &str = "CLIENT_ERROR bad token in command line format";

/// The flags of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags<'a> {
    words: [Option<&'a [u8]>; LETTERS],
}

/// Letters of either case.
const LETTERS: usize = 52;

const fn place(letter: u8) -> Option<usize> {
    match letter {
        b'a'..=b'z' => Some((letter - b'a') as usize),
        b'A'..=b'Z' => Some((letter - b'A') as usize + 26),
        _ => None,
    }
}

impl<'a> Flags<'a> {
    /// Reads the flags from word `first` on, of which those in `known` are allowed. The two errors
    /// are those for an unknown flag and for one that is given twice.
    pub(super) fn read(
        ask: &Ask<'a>,
        first: usize,
        known: &[u8],
        errors: [&'static str; 2],
    ) -> Result<Self, &'static str> {
        let mut words = [None; LETTERS];
        for word in ask.request.iter_from(first) {
            let letter = word.first().copied().unwrap_or_default();
            let Some(at) = place(letter).filter(|_| known.contains(&letter)) else {
                return Err(errors[0]);
            };
            if words[at].replace(&word[1..]).is_some() {
                return Err(errors[1]);
            }
        }
        Ok(Self { words })
    }

    /// Whether the flag is there.
    pub(super) fn has(&self, letter: u8) -> bool {
        self.token(letter).is_some()
    }

    /// What stands behind the flag, if it is there.
    pub(super) fn token(&self, letter: u8) -> Option<&'a [u8]> {
        self.words[place(letter)?]
    }

    /// The number behind the flag, if it is there.
    pub(super) fn unsigned(&self, letter: u8) -> Result<Option<u64>, &'static str> {
        self.token(letter).map(|word| parse_unsigned(word).ok_or(BAD_TOKEN)).transpose()
    }

    /// The number behind the flag, which may be negative, if it is there.
    pub(super) fn signed(&self, letter: u8) -> Result<Option<i64>, &'static str> {
        self.token(letter).map(|word| parse_signed(word).ok_or(BAD_TOKEN)).transpose()
    }

    /// The key that the request names.
    pub(super) fn key(&self, ask: &Ask<'a>) -> Result<Cow<'a, [u8]>, &'static str> {
        let word = ask.request.get(1).ok_or(UNKNOWN)?;
        if word.len() > KEY_MAX {
            return Err(BAD_FORMAT);
        }
        if self.has(b'b') {
            decode_key(word).map(Cow::Owned).ok_or("CLIENT_ERROR error decoding key")
        } else {
            Ok(Cow::Borrowed(word))
        }
    }
}

/// Whether a life is shorter than `seconds`; one without end is not.
pub(super) fn is_shorter(expires: Option<u64>, seconds: i64, now: Now) -> bool {
    expires.is_some_and(|at| {
        let left = at.saturating_sub(now.unix_ms);
        (left as i64) < seconds.saturating_mul(1_000)
    })
}

/// Writes what flags ask for, in their order.
pub(super) struct Answer<'a, 'b> {
    pub(super) flags: &'b Flags<'a>,
    /// The request's words behind the key, which give the order.
    pub(super) order: &'b [&'a [u8]],
    pub(super) key: &'a [u8],
    pub(super) now: Now,
}

impl Answer<'_, '_> {
    /// Of the request alone: opaque and key.
    pub(super) fn plain(&self, out: &mut Vec<u8>) {
        for word in self.order {
            self.of_request(out, word);
        }
    }

    fn of_request(&self, out: &mut Vec<u8>, word: &[u8]) {
        match word.first() {
            Some(b'O') => {
                out.push(b' ');
                out.extend_from_slice(word);
            }
            Some(b'k') => {
                out.extend_from_slice(b" k");
                out.extend_from_slice(self.key);
                if self.flags.has(b'b') {
                    out.extend_from_slice(b" b");
                }
            }
            _ => {}
        }
    }

    /// Of the request and the item.
    pub(super) fn full(&self, out: &mut Vec<u8>, shown: &Shown<'_>) {
        for word in self.order {
            let (text, item) = (&shown.text, shown.item);
            // Writing to a Vec does not fail.
            let _ = match word.first() {
                Some(b's') => write!(out, " s{}", text.data.len()),
                Some(b'f') => write!(out, " f{}", text.flags),
                Some(b'c') => write!(out, " c{}", text.cas),
                Some(b'h') => write!(out, " h{}", u8::from(item.hits > 1)),
                Some(b'U') => {
                    write!(out, " U{}", base::penalty::of_class(item.penalty_class).0)
                }
                Some(b'l') => write!(out, " l{}", shown.idle_s),
                Some(b't') => match shown.expires {
                    Some(at) => {
                        let left_ms = at.saturating_sub(self.now.unix_ms);
                        write!(out, " t{}", left_ms.div_ceil(1_000))
                    }
                    None => write!(out, " t-1"),
                },
                _ => {
                    self.of_request(out, word);
                    Ok(())
                }
            };
        }
    }
}

/// An item as it is answered.
pub(super) struct Shown<'a> {
    pub(super) text: Text<'a>,
    pub(super) item: &'a Item<'a>,
    /// Its expiry after what the request changes.
    pub(super) expires: Option<u64>,
    pub(super) idle_s: u64,
}
