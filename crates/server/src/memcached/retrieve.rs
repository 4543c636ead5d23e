//! get, gets, gat, gats.

use super::request::{Ask, BAD_EXPIRY, Done, Expiry};
use super::{detail, watch};
use crate::facts::event_classes;
use crate::facts::memcached_events::Event;
use crate::values::text_value::Text;
use store::{Change, Item, Key};

/// Writes the block of an item, if it is a string. Returns the size of its data.
fn show(out: &mut Vec<u8>, key: &[u8], item: &Item<'_>, with_cas: bool) -> Option<usize> {
    let text = Text::of(item)?;
    let mut digits = itoa::Buffer::new();
    out.reserve(key.len() + text.data.len() + 64);
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    out.push(b' ');
    out.extend_from_slice(digits.format(text.flags).as_bytes());
    out.push(b' ');
    out.extend_from_slice(digits.format(text.data.len()).as_bytes());
    if with_cas {
        out.push(b' ');
        out.extend_from_slice(digits.format(text.cas).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(text.data);
    out.extend_from_slice(b"\r\n");
    Some(text.data.len())
}

/// Counts a read of a key, and shows it to watchers.
pub(super) fn counted(ask: &Ask<'_>, key: &Key<'_>, found: Option<usize>) {
    ask.count(Event::CmdGet);
    ask.count(if found.is_some() { Event::GetHits } else { Event::GetMisses });
    detail::get(ask, key.bytes, found.is_some());
    watch::fetch(ask, key, found);
    if found.is_none() {
        ask.tell(event_classes::MISS, "keymiss", key);
    }
}

pub(super) fn get(ask: &mut Ask<'_>, with_cas: bool) -> Done {
    ask.word(1)?;
    for word in ask.request.iter_from(1) {
        if ask.is_over() {
            break;
        }
        let key = ask.key(word)?;
        let out = &mut *ask.out;
        let show = |item: &Item<'_>| show(out, word, item, with_cas);
        let found = ask.server.store.get(&key, ask.now, show).flatten();
        counted(ask, &key, found);
    }
    ask.line("END")
}

pub(super) fn get_and_touch(ask: &mut Ask<'_>, with_cas: bool) -> Done {
    let life = Expiry::parse(ask.word(1)?, ask.now).ok_or(BAD_EXPIRY)?;
    for word in ask.request.iter_from(2) {
        if ask.is_over() {
            break;
        }
        let key = ask.key(word)?;
        let out = &mut *ask.out;
        let found = ask.server.store.get_and_update(&key, ask.now, |item| {
            let shown = item.and_then(|item| show(out, word, item, with_cas));
            let change = match life {
                _ if shown.is_none() => Change::Keep,
                Expiry::Over => Change::Remove,
                life => Change::Expire(life.ends()),
            };
            (change, shown)
        });
        let found = found.map_err(|error| super::request::refused(ask, error))?;
        ask.count(Event::CmdTouch);
        ask.count(if found.is_some() { Event::TouchHits } else { Event::TouchMisses });
        counted(ask, &key, found);
        if found.is_some() {
            ask.notify_expiry(life, &key);
        }
    }
    ask.line("END")
}
