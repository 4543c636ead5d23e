//! set, add, replace, append, prepend, cas; delete, touch.

use super::{Ask, BAD_CHUNK, BAD_FORMAT, BAD_LIFE, Done, Event, Life, TOO_LARGE};
use super::{detail, refused, watch};
use crate::value::{FRESH, Text};
use store::Change;
use wire::memcached::{Data, parse_unsigned};

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Stored,
    NotStored,
    Exists,
    NotFound,
}

impl Outcome {
    const fn line(self) -> &'static str {
        match self {
            Self::Stored => "STORED",
            Self::NotStored => "NOT_STORED",
            Self::Exists => "EXISTS",
            Self::NotFound => "NOT_FOUND",
        }
    }
}

pub(super) fn store(ask: &mut Ask<'_>, verb: &[u8]) -> Done {
    let key = ask.key(ask.word(1)?)?;
    // Without its length the line is no request at all.
    ask.word(if verb == b"cas" { 5 } else { 4 })?;
    let flags = parse_unsigned(ask.word(2)?).ok_or(BAD_FORMAT)? as u32;
    let life = Life::parse(ask.word(3)?, ask.now).ok_or(BAD_FORMAT)?;
    let wanted = match verb {
        b"cas" => Some(parse_unsigned(ask.word(5)?).ok_or(BAD_FORMAT)?),
        _ => None,
    };
    let data = match ask.request.data {
        Data::Block(data) => data,
        Data::TooLarge => {
            // What the key held would otherwise be taken for the value that was refused.
            if verb == b"set" {
                ask.shared.store.delete(&key, ask.now);
            }
            ask.count(Event::StoreTooLarge);
            return Err(TOO_LARGE);
        }
        Data::NoLength => return Err(BAD_FORMAT),
        Data::Unterminated | Data::None => return Err(BAD_CHUNK),
    };
    ask.count(Event::CmdSet);
    let cas = ask.shared.next_cas();
    let new = Text { flags, cas, data, ..FRESH };
    let outcome = ask.shared.store.update(&key, ask.now, |item| {
        let old = item.and_then(Text::of);
        let refusal = match (verb, item.is_some()) {
            (b"add", true) | (b"replace", false) => Some(Outcome::NotStored),
            (b"append" | b"prepend", _) if old.is_none() => Some(Outcome::NotStored),
            (b"cas", false) => Some(Outcome::NotFound),
            (b"cas", true) if old.map(|old| old.cas) != wanted => Some(Outcome::Exists),
            _ => None,
        };
        if let Some(refusal) = refusal {
            return (Change::Keep, refusal);
        }
        let change = match (verb, old) {
            (b"append" | b"prepend", Some(old)) => {
                let parts = if verb == b"append" { [old.data, data] } else { [data, old.data] };
                let joined = Text { flags: old.flags, cas, data: &parts.concat(), ..FRESH };
                joined.change(item.and_then(|item| item.expires))
            }
            _ if life == Life::Over => Change::Remove,
            _ => new.change(life.expires()),
        };
        (change, Outcome::Stored)
    });
    let outcome = outcome.map_err(|error| refused(ask, error))?;
    if verb == b"cas" {
        ask.count(match outcome {
            Outcome::Stored => Event::CasHits,
            Outcome::NotFound => Event::CasMisses,
            _ => Event::CasBadval,
        });
    }
    detail::set(ask, key.bytes);
    watch::store(ask, &key, verb, outcome == Outcome::Stored, life, data.len());
    ask.line(outcome.line())
}

pub(super) fn delete(ask: &mut Ask<'_>) -> Done {
    let key = ask.key(ask.word(1)?)?;
    match (ask.request.get(2), ask.request.len()) {
        (None | Some(b"0" | b"noreply"), ..=3) | (Some(b"0"), 4) => {}
        _ => {
            return Err("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
        }
    }
    let found = ask.shared.store.delete(&key, ask.now);
    ask.count(if found { Event::DeleteHits } else { Event::DeleteMisses });
    detail::delete(ask, key.bytes);
    if found {
        watch::deleted(ask, &key, b"delete");
    }
    ask.line(if found { "DELETED" } else { "NOT_FOUND" })
}

pub(super) fn touch(ask: &mut Ask<'_>) -> Done {
    let key = ask.key(ask.word(1)?)?;
    let life = Life::parse(ask.word(2)?, ask.now).ok_or(BAD_LIFE)?;
    let found = ask.shared.store.update(&key, ask.now, |item| {
        let change = match life {
            Life::Over => Change::Remove,
            life => Change::Expire(life.expires()),
        };
        match item.and_then(Text::of) {
            Some(_) => (change, true),
            None => (Change::Keep, false),
        }
    });
    let found = found.map_err(|error| refused(ask, error))?;
    ask.count(Event::CmdTouch);
    ask.count(if found { Event::TouchHits } else { Event::TouchMisses });
    ask.line(if found { "TOUCHED" } else { "NOT_FOUND" })
}
