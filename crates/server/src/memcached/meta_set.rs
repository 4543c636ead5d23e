//! `ms` and `md`: writes, removals, and marking items as stale.

use super::meta::Answer;
use super::meta_flags::{Flags, MD, MS};
use super::request::{Ask, BAD_CHUNK, Done, Expiry, refused};
use super::write::{Mode, Outcome, Write, Written, kept, too_large};
use super::{detail, watch};
use crate::facts::event_classes;
use crate::facts::memcached_events::Event;
use crate::values::text_value::{FRESH, Text};
use base::Micros;
use store::Change;
use wire::memcached::Data;

pub(super) fn set(ask: &mut Ask<'_>) -> Done {
    let flags = Flags::read(ask, 3, MS)?;
    let bytes = flags.key(ask)?;
    let key = ask.key(&bytes)?;
    let now = ask.now;
    let life = |letter| flags.seconds(letter).map(|seconds| Expiry::of(seconds, now));
    let mode = Mode::parse(flags.token(b'M'));
    let mode = mode.ok_or("CLIENT_ERROR invalid mode for ms M token")?;
    let data = match ask.request.data {
        Data::Block(data) => data,
        Data::TooLarge => return Err(too_large(ask, &key, true, "ms")),
        _ => return Err(BAD_CHUNK),
    };
    let write = Write {
        mode,
        new: Text {
            flags: flags.unsigned(b'F').unwrap_or_default() as u32,
            cas: flags.unsigned(b'E').unwrap_or_else(|| ask.next_cas()),
            data,
            ..FRESH
        },
        life: life(b'T').unwrap_or(Expiry::Forever),
        compare: flags.unsigned(b'C'),
        invalidate: flags.has(b'I'),
        vivify: life(b'N'),
        cost: flags.unsigned(b'U').map(Micros),
    };
    ask.count(Event::CmdMeta);
    let Written { outcome, size } = write.carry_out(ask, &key, "ms")?;
    let is_stored = outcome == Outcome::Stored;
    if is_stored && flags.has(b'q') {
        return Ok(());
    }
    let answer = Answer { flags: &flags, key: ask.word(1)?, now };
    ask.out.extend_from_slice(outcome.code());
    for word in flags.order() {
        match word.first() {
            Some(b'c') => {
                let cas = if is_stored { write.new.cas } else { 0 };
                ask.print(format_args!(" c{cas}"));
            }
            Some(b's') => ask.print(format_args!(" s{size}")),
            _ => answer.of_request(ask.out, word),
        }
    }
    ask.line("")
}

pub(super) fn delete(ask: &mut Ask<'_>) -> Done {
    let flags = Flags::read(ask, 2, MD)?;
    let bytes = flags.key(ask)?;
    let key = ask.key(&bytes)?;
    let now = ask.now;
    let compare = flags.unsigned(b'C');
    let life = flags.seconds(b'T').map(|seconds| Expiry::of(seconds, now).ends());
    let client_flags = flags.unsigned(b'F').unwrap_or_default() as u32;
    let (invalidate, empty) = (flags.has(b'I'), flags.has(b'x'));
    let (given, next) = (flags.unsigned(b'E'), ask.next_cas());
    ask.count(Event::CmdMeta);
    let mut size = 0;
    let outcome = ask.server.store.update(&key, now, |item| {
        let Some((item, old)) = item.and_then(|item| Some((item, Text::of(item)?))) else {
            // A collection is removed like any other value.
            let gone = item.is_some() && compare.is_none() && !invalidate;
            let outcome = if gone { Outcome::Stored } else { Outcome::NotFound };
            return (if gone { Change::Remove } else { Change::Keep }, outcome);
        };
        size = old.data.len();
        if compare.is_some_and(|wanted| wanted != old.cas) {
            return (Change::Keep, Outcome::Exists);
        }
        let (mut new, mut expires) = (old, item.expires);
        if empty {
            let cas = given.unwrap_or(if old.cas >> 63 == 0 { old.cas } else { next });
            new = Text { flags: client_flags, cas, reads_before: item.hits, ..FRESH };
            expires = life.flatten();
        }
        if invalidate {
            let cas = given.unwrap_or(next);
            new = Text { cas, stale: true, token_sent: false, ..new };
            expires = life.unwrap_or(expires);
        }
        let change = if invalidate || empty { kept(&new, expires, now) } else { Change::Remove };
        (change, Outcome::Stored)
    });
    let outcome = outcome.map_err(|error| refused(ask, error))?;
    let found = outcome == Outcome::Stored;
    if found {
        let (class, event) = if invalidate || empty {
            (event_classes::STRING, "set")
        } else {
            (event_classes::GENERIC, "del")
        };
        ask.tell(class, event, &key);
    }
    if !found || !invalidate {
        ask.count(if found { Event::DeleteHits } else { Event::DeleteMisses });
        detail::delete(ask, key.bytes);
        if found {
            watch::deleted(ask, &key, "md", size);
        }
    }
    if found && flags.has(b'q') {
        return Ok(());
    }
    let answer = Answer { flags: &flags, key: ask.word(1)?, now };
    ask.out.extend_from_slice(outcome.code());
    answer.plain(ask.out);
    ask.line("")
}
