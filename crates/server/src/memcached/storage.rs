//! set, add, replace, append, prepend, cas; delete, touch.

use super::write::{Mode, Write, too_large};
use super::{Ask, BAD_CHUNK, BAD_FORMAT, BAD_LIFE, Done, Event, Life};
use super::{detail, refused, watch};
use crate::value::{FRESH, Text};
use store::Change;
use wire::memcached::{Data, parse_unsigned};

pub(super) fn store(ask: &mut Ask<'_>, verb: &[u8]) -> Done {
    let key = ask.key(ask.word(1)?)?;
    // Without its length the line is no request at all.
    ask.word(if verb == b"cas" { 5 } else { 4 })?;
    let flags = parse_unsigned(ask.word(2)?).ok_or(BAD_FORMAT)? as u32;
    let life = Life::parse(ask.word(3)?, ask.now).ok_or(BAD_FORMAT)?;
    let compare = match verb {
        b"cas" => Some(parse_unsigned(ask.word(5)?).ok_or(BAD_FORMAT)?),
        _ => None,
    };
    let mode = Mode::of_verb(verb);
    let data = match ask.request.data {
        Data::Block(data) => data,
        // cas keeps what is there.
        Data::TooLarge if verb == b"cas" => return too_large(ask, &key, Mode::Replace),
        Data::TooLarge => return too_large(ask, &key, mode),
        Data::NoLength => return Err(BAD_FORMAT),
        Data::Unterminated | Data::None => return Err(BAD_CHUNK),
    };
    let new = Text { flags, cas: ask.shared.next_cas(), data, ..FRESH };
    let write = Write { mode, new, life, compare, invalidate: false, vivify: None, cost: None };
    let outcome = write.carry_out(ask, &key, verb)?;
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
