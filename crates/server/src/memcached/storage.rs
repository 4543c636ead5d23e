//! set, add, replace, append, prepend, cas; delete, touch.

use super::request::refused;
use super::request::{Ask, BAD_CHUNK, BAD_EXPIRY, BAD_FORMAT, Done, Expiry};
use super::write::{Mode, Write, too_large};
use super::{detail, watch};
use crate::facts::event_classes;
use crate::facts::memcached_events::Event;
use crate::values::text_value::{FRESH, Text};
use store::Change;
use wire::memcached::{Data, parse_unsigned};

pub(super) fn store(ask: &mut Ask<'_>, mode: Mode) -> Done {
    write(ask, mode, None)
}

pub(super) fn compare_and_store(ask: &mut Ask<'_>) -> Done {
    let number = parse_unsigned(ask.word(5)?).ok_or(BAD_FORMAT)?;
    write(ask, Mode::Set, Some(number))
}

fn write(ask: &mut Ask<'_>, mode: Mode, compare: Option<u64>) -> Done {
    let verb = if compare.is_some() { "cas" } else { mode.verb() };
    let key = ask.key(ask.word(1)?)?;
    let flags = parse_unsigned(ask.word(2)?).ok_or(BAD_FORMAT)? as u32;
    let life = Expiry::parse(ask.word(3)?, ask.now).ok_or(BAD_FORMAT)?;
    let data = match ask.request.data {
        Data::Block(data) => data,
        // A cas keeps the old value.
        Data::TooLarge => {
            let removes = mode == Mode::Set && compare.is_none();
            return Err(too_large(ask, &key, removes, verb));
        }
        Data::NoLength | Data::Unterminated | Data::None => return Err(BAD_CHUNK),
    };
    let new = Text { flags, cas: ask.next_cas(), data, ..FRESH };
    let write = Write { mode, new, life, compare, invalidate: false, vivify: None, cost: None };
    let written = write.carry_out(ask, &key, verb)?;
    ask.line(written.outcome.line())
}

pub(super) fn delete(ask: &mut Ask<'_>) -> Done {
    let key = ask.key(ask.word(1)?)?;
    let size = ask.removed_size(&key);
    let found = ask.server.store.delete(&key, ask.now);
    ask.count(if found { Event::DeleteHits } else { Event::DeleteMisses });
    detail::delete(ask, key.bytes);
    if found {
        watch::deleted(ask, &key, "delete", size);
        ask.tell(event_classes::GENERIC, "del", &key);
    }
    ask.line(if found { "DELETED" } else { "NOT_FOUND" })
}

pub(super) fn touch(ask: &mut Ask<'_>) -> Done {
    let key = ask.key(ask.word(1)?)?;
    let life = Expiry::parse(ask.word(2)?, ask.now).ok_or(BAD_EXPIRY)?;
    let found = ask.server.store.update(&key, ask.now, |item| {
        let change = match life {
            Expiry::Over => Change::Remove,
            life => Change::Expire(life.ends()),
        };
        match item.and_then(Text::of) {
            Some(_) => (change, true),
            None => (Change::Keep, false),
        }
    });
    let found = found.map_err(|error| refused(ask, error))?;
    ask.count(Event::CmdTouch);
    ask.count(if found { Event::TouchHits } else { Event::TouchMisses });
    if found {
        ask.notify_expiry(life, &key);
    }
    ask.line(if found { "TOUCHED" } else { "NOT_FOUND" })
}
