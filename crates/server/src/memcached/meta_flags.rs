//! The flags of meta commands: each verb uses some, ignores some, and refuses the rest.
//!
//! A flag is a letter, some with a token behind it. memcached reads the flags of all verbs alike.
//! So a verb accepts letters without a meaning for it (`ms … t`), and their tokens are checked as
//! well. A letter that is missing in the table of its verb is refused.

use super::request::{Ask, BAD_FORMAT, KEY_MAX, UNKNOWN};
use std::borrow::Cow;
use wire::memcached::{decode_key, parse_signed, parse_unsigned};

const BAD_TOKEN: &str = "CLIENT_ERROR bad token in command line format";
/// The largest number of words of a request with flags, and of bytes of an opaque flag.
const WORDS_MAX: usize = 20;
const OPAQUE_MAX: usize = 32;

/// The form of the token behind a flag's letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Any bytes, without a meaning.
    Any,
    /// A number without a sign, of 64 bits.
    Unsigned,
    /// A number without a sign, of 32 bits.
    Short,
    /// Seconds: a number of 32 bits that may be negative.
    Seconds,
    /// Bytes that the reply repeats.
    Opaque,
}

/// A flag of a verb.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    pub(super) letter: u8,
    token: Token,
    /// Whether it has an effect here.
    used: bool,
    /// A command of Redis that the user must be allowed to call, in addition to that of the verb.
    pub(super) needs: Option<&'static str>,
}

/// A flag that has an effect and needs no permission beyond the verb's.
const fn used(letter: u8, token: Token) -> Flag {
    Flag { letter, token, used: true, needs: None }
}

/// A flag that has an effect and needs a permission of its own.
const fn needs(letter: u8, token: Token, command: &'static str) -> Flag {
    Flag { letter, token, used: true, needs: Some(command) }
}

/// A flag that is accepted without an effect.
const fn ignored(letter: u8, token: Token) -> Flag {
    Flag { letter, token, used: false, needs: None }
}

use Token::{Any, Opaque, Seconds, Short, Unsigned};

pub(super) const MG: &[Flag] = &[
    used(b'b', Any),
    used(b'c', Any),
    used(b'f', Any),
    used(b'h', Any),
    used(b'k', Any),
    used(b'l', Any),
    used(b'q', Any),
    used(b's', Any),
    used(b't', Any),
    used(b'u', Any),
    used(b'v', Any),
    used(b'O', Opaque),
    used(b'U', Any),
    used(b'C', Unsigned),
    used(b'E', Unsigned),
    needs(b'N', Seconds, "set"),
    needs(b'R', Seconds, "getex"),
    needs(b'T', Seconds, "getex"),
    ignored(b'x', Any),
    ignored(b'D', Unsigned),
    ignored(b'F', Short),
    ignored(b'I', Any),
    ignored(b'J', Unsigned),
    ignored(b'L', Any),
    ignored(b'M', Any),
    ignored(b'P', Any),
];

pub(super) const MS: &[Flag] = &[
    used(b'b', Any),
    used(b'c', Any),
    used(b'k', Any),
    used(b'q', Any),
    used(b's', Any),
    used(b'C', Unsigned),
    used(b'E', Unsigned),
    used(b'F', Short),
    used(b'I', Any),
    used(b'M', Any),
    used(b'N', Seconds),
    used(b'O', Opaque),
    used(b'T', Seconds),
    used(b'U', Unsigned),
    ignored(b'f', Any),
    ignored(b'h', Any),
    ignored(b'l', Any),
    ignored(b't', Any),
    ignored(b'u', Any),
    ignored(b'v', Any),
    ignored(b'x', Any),
    ignored(b'D', Unsigned),
    ignored(b'J', Unsigned),
    ignored(b'L', Any),
    ignored(b'P', Any),
    ignored(b'R', Seconds),
];

pub(super) const MD: &[Flag] = &[
    used(b'b', Any),
    used(b'k', Any),
    used(b'q', Any),
    used(b'C', Unsigned),
    used(b'E', Unsigned),
    used(b'F', Short),
    used(b'I', Any),
    used(b'O', Opaque),
    needs(b'T', Seconds, "expire"),
    needs(b'x', Any, "set"),
    ignored(b'c', Any),
    ignored(b'f', Any),
    ignored(b'h', Any),
    ignored(b'l', Any),
    ignored(b's', Any),
    ignored(b't', Any),
    ignored(b'u', Any),
    ignored(b'v', Any),
    ignored(b'D', Unsigned),
    ignored(b'J', Unsigned),
    ignored(b'L', Any),
    ignored(b'M', Any),
    ignored(b'N', Seconds),
    ignored(b'P', Any),
    ignored(b'R', Seconds),
];

pub(super) const MA: &[Flag] = &[
    used(b'b', Any),
    used(b'c', Any),
    used(b'k', Any),
    used(b'q', Any),
    used(b't', Any),
    used(b'v', Any),
    used(b'C', Unsigned),
    used(b'D', Unsigned),
    used(b'E', Unsigned),
    used(b'J', Unsigned),
    used(b'M', Any),
    used(b'N', Seconds),
    used(b'O', Opaque),
    needs(b'T', Seconds, "expire"),
    ignored(b'f', Any),
    ignored(b'h', Any),
    ignored(b'l', Any),
    ignored(b's', Any),
    ignored(b'u', Any),
    ignored(b'x', Any),
    ignored(b'F', Short),
    ignored(b'I', Any),
    ignored(b'L', Any),
    ignored(b'P', Any),
    ignored(b'R', Seconds),
];

/// The number of letters in both cases.
const LETTERS: usize = 52;

const fn place(letter: u8) -> Option<usize> {
    match letter {
        b'a'..=b'z' => Some((letter - b'a') as usize),
        b'A'..=b'Z' => Some((letter - b'A') as usize + 26),
        _ => None,
    }
}

impl Token {
    /// Checks that `text` is such a token. The error text names the fault.
    fn check(self, letter: u8, text: &[u8]) -> Result<(), &'static str> {
        let unsigned = parse_unsigned(text);
        match self {
            Self::Any => Ok(()),
            Self::Unsigned if unsigned.is_some() => Ok(()),
            Self::Unsigned => Err(match letter {
                b'D' => "CLIENT_ERROR invalid numeric delta value",
                b'J' => "CLIENT_ERROR invalid numeric initial value",
                _ => BAD_TOKEN,
            }),
            Self::Short if unsigned.is_some_and(|number| u32::try_from(number).is_ok()) => Ok(()),
            Self::Short => Err(BAD_FORMAT),
            Self::Seconds => {
                let seconds = parse_signed(text).filter(|&number| i32::try_from(number).is_ok());
                seconds.map(|_| ()).ok_or(BAD_TOKEN)
            }
            Self::Opaque if text.len() < OPAQUE_MAX => Ok(()),
            Self::Opaque => Err("CLIENT_ERROR opaque token too long"),
        }
    }
}

/// The flags of a request that have an effect, in their order.
#[derive(Clone, Debug)]
pub(super) struct Flags<'a> {
    words: [Option<&'a [u8]>; LETTERS],
    order: smallvec::SmallVec<[&'a [u8]; WORDS_MAX]>,
}

impl<'a> Flags<'a> {
    /// Reads the flags from word `first` on, by a verb's table.
    pub(super) fn read(ask: &Ask<'a>, first: usize, table: &[Flag]) -> Result<Self, &'static str> {
        if ask.request.len() > WORDS_MAX {
            return Err("CLIENT_ERROR options flags are too long");
        }
        let (mut words, mut order) = ([None; LETTERS], smallvec::SmallVec::new());
        // As in memcached, an unknown or repeated letter ends the reading at once, and the last
        // wrong token is the one reported.
        let mut wrong = None;
        for word in ask.request.iter_from(first) {
            let letter = word.first().copied().unwrap_or_default();
            if !letter.is_ascii_alphanumeric() {
                return Err(BAD_FORMAT);
            }
            let flag = table.iter().find(|flag| flag.letter == letter);
            let (Some(flag), Some(at)) = (flag, place(letter)) else {
                return Err("CLIENT_ERROR invalid flag");
            };
            if words[at].replace(&word[1..]).is_some() {
                return Err("CLIENT_ERROR duplicate flag");
            }
            wrong = flag.token.check(letter, &word[1..]).err().or(wrong);
            if flag.used {
                order.push(word);
            }
        }
        for flag in table.iter().filter(|flag| !flag.used) {
            words[place(flag.letter).unwrap_or_default()] = None;
        }
        wrong.map_or(Ok(Self { words, order }), Err)
    }

    /// Whether the request has this flag.
    pub(super) fn has(&self, letter: u8) -> bool {
        self.token(letter).is_some()
    }

    /// The token behind this flag, if the request has it.
    pub(super) fn token(&self, letter: u8) -> Option<&'a [u8]> {
        self.words[place(letter)?]
    }

    /// The number behind this flag, if the request has it.
    pub(super) fn unsigned(&self, letter: u8) -> Option<u64> {
        self.token(letter).and_then(parse_unsigned)
    }

    /// The seconds behind this flag, if the request has it.
    pub(super) fn seconds(&self, letter: u8) -> Option<i64> {
        self.token(letter).and_then(parse_signed)
    }

    /// The words of the flags that have an effect, in their order.
    pub(super) fn order(&self) -> &[&'a [u8]] {
        &self.order
    }

    /// The key of the request, decoded if it is in base64.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_memcached_reads_them() {
        for (token, letter, text, wrong) in [
            (Any, b'k', "junk", None),
            (Unsigned, b'C', "18446744073709551615", None),
            (Unsigned, b'C', "-1", Some(BAD_TOKEN)),
            (Unsigned, b'D', "", Some("CLIENT_ERROR invalid numeric delta value")),
            (Short, b'F', "4294967295", None),
            (Short, b'F', "4294967296", Some(BAD_FORMAT)),
            (Seconds, b'T', "-1", None),
            (Seconds, b'T', "2147483648", Some(BAD_TOKEN)),
            (Opaque, b'O', "0123456789012345678901234567890", None),
            (
                Opaque,
                b'O',
                "01234567890123456789012345678901",
                Some("CLIENT_ERROR opaque token too long"),
            ),
        ] {
            assert_eq!(token.check(letter, text.as_bytes()).err(), wrong, "{text}");
        }
    }
}
