//! `mg`: reads, with the recache flags.
//!
//! A client that reads with `N` or `R` may be told that it has won (`W`): it is the one to fetch
//! the value anew, and others see `Z` until it has. From that moment to its `ms` is what a miss of
//! this key costs, so the stopwatch runs, whether the key was absent, old or stale.

use super::meta::{Answer, Flags, Shown, is_shorter};
use super::{Ask, Done, Event, Life, dump, refused, retrieve};
use crate::value::{FRESH, Text};
use store::{Change, Item};

/// What the flags say besides what they ask for.
struct Wants {
    /// A new life.
    touch: Option<Life>,
    /// The life of a place that is held for a value that is absent.
    vivify: Option<Life>,
    /// A life shorter than this is to be renewed.
    recache: Option<i64>,
    value: bool,
}

/// What was read.
struct Read {
    size: Option<usize>,
    won: bool,
}

pub(super) fn get(ask: &mut Ask<'_>) -> Done {
    let errors = ["CLIENT_ERROR invalid flag", "CLIENT_ERROR duplicate flag"];
    ask.word(1)?;
    let flags = Flags::read(ask, 2, b"bcfhklOqstUvEMNRT", errors)?;
    let bytes = flags.key(ask)?;
    let key = ask.key(&bytes)?;
    let life = |letter| -> Result<Option<Life>, &'static str> {
        Ok(flags.signed(letter)?.map(|seconds| Life::of(seconds, ask.now)))
    };
    let wants = Wants {
        touch: life(b'T')?,
        vivify: life(b'N')?,
        recache: flags.signed(b'R')?,
        value: flags.has(b'v'),
    };
    let order: Vec<&[u8]> = ask.request.iter_from(2).collect();
    let answer = Answer { flags: &flags, order: &order, key: ask.word(1)?, now: ask.now };
    let (shared, cas) = (ask.shared, ask.shared.next_cas());
    // Before the read, which makes the item young.
    let idle = if flags.has(b'l') {
        shared.store.peek(&key, ask.now, |item| item.idle).unwrap_or_default()
    } else {
        0
    };
    let idle_s = dump::idle_seconds(ask.shared, ask.now, idle);
    let out = &mut *ask.out;
    let read = shared
        .store
        .get_and_update(&key, ask.now, |item| found(item, &wants, &answer, idle_s, cas, out));
    let read = read.map_err(|error| refused(ask, error))?;
    if read.won && read.size.is_some() {
        shared.store.fetch_begins(&key, ask.now);
    }
    ask.count(Event::CmdMeta);
    retrieve::counted(ask, &key, read.size);
    if let Some(life) = wants.touch.filter(|_| read.size.is_some()) {
        ask.count(Event::CmdTouch);
        ask.count(Event::TouchHits);
        if life == Life::Over {
            shared.store.delete(&key, ask.now);
        }
    }
    if read.size.is_none() && !read.won && !flags.has(b'q') {
        ask.out.extend_from_slice(b"EN");
        answer.plain(ask.out);
        ask.out.extend_from_slice(b"\r\n");
    }
    Ok(())
}

/// Answers with what is there, and says what becomes of it.
fn found(
    item: Option<&Item<'_>>,
    wants: &Wants,
    answer: &Answer<'_, '_>,
    idle_s: u64,
    cas: u64,
    out: &mut Vec<u8>,
) -> (Change<'static>, Read) {
    let Some((item, old)) = item.and_then(|item| Some((item, Text::of(item)?))) else {
        let Some(life) = wants.vivify.filter(|life| *life != Life::Over && item.is_none()) else {
            return (Change::Keep, Read { size: None, won: false });
        };
        // The place of the value is held by an empty one.
        let held = Text { cas, token_sent: true, ..FRESH };
        let place = Item::outside(b"", crate::value::STRING, life.expires());
        let expires = life.expires();
        let shown = Shown { text: held, item: &place, expires, idle_s };
        show(out, wants, answer, &shown, b" W");
        let Change::Set { value, kind, expires } = held.change(expires) else {
            return (Change::Keep, Read { size: None, won: false });
        };
        return (Change::Hold { value, kind, expires }, Read { size: None, won: true });
    };
    let expires = match wants.touch {
        Some(life) => life.expires(),
        None => item.expires,
    };
    let wins = !old.token_sent
        && (old.stale
            || wants.recache.is_some_and(|limit| is_shorter(item.expires, limit, answer.now)));
    let marks: &[u8] = match (old.token_sent, old.stale, wins) {
        (true, true, _) => b" Z X",
        (true, false, _) => b" Z",
        (false, true, _) => b" X W",
        (false, false, true) => b" W",
        (false, false, false) => b"",
    };
    show(out, wants, answer, &Shown { text: old, item, expires, idle_s }, marks);
    let change = if wins {
        // What it tells of is the same, so its number is too.
        let cas = if old.cas >> 63 == 0 { old.cas } else { cas };
        let mut new = Text { token_sent: true, cas, ..old }.change(expires);
        if let Change::Set { value, kind, expires } = new {
            new = Change::Hold { value, kind, expires };
        }
        new
    } else if expires != item.expires {
        Change::Expire(expires)
    } else {
        Change::Keep
    };
    (change, Read { size: Some(old.data.len()), won: wins })
}

fn show(
    out: &mut Vec<u8>,
    wants: &Wants,
    answer: &Answer<'_, '_>,
    shown: &Shown<'_>,
    marks: &[u8],
) {
    if wants.value {
        out.extend_from_slice(b"VA ");
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(digits.format(shown.text.data.len()).as_bytes());
    } else {
        out.extend_from_slice(b"HD");
    }
    answer.full(out, shown);
    out.extend_from_slice(marks);
    out.extend_from_slice(b"\r\n");
    if wants.value {
        out.extend_from_slice(shown.text.data);
        out.extend_from_slice(b"\r\n");
    }
}
