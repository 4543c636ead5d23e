//! `mg`: reads, with the flags that let one client refresh a value.
//!
//! The reply to a read with `N` or `R` may have the mark `W` (won). This client should fetch the
//! value again, and other clients see `Z` until it has done so. The time from then to its `ms` is
//! the cost of a miss of this key. So it is measured, whether the key was missing, old or stale.

use super::meta::{Answer, Shown, ends_before};
use super::meta_flags::{Flags, MG};
use super::request::{Ask, Done, Expiry, refused};
use super::retrieve;
use crate::facts::memcached_events::Event;
use crate::values::text_value::{FRESH, Text};
use store::{Change, Item};

/// The outcome of a read.
struct Read {
    size: Option<usize>,
    won: bool,
}

/// The context of a read besides its flags.
struct Reading<'a, 'b> {
    answer: Answer<'a, 'b>,
    /// The cas of a value that the read creates.
    cas: u64,
    /// Whether items have a cas at all.
    numbered: bool,
    idle_s: u64,
    /// The reads that the item's count includes already: this one, unless it has no effect.
    reads: u8,
}

pub(super) fn get(ask: &mut Ask<'_>) -> Done {
    let flags = Flags::read(ask, 2, MG)?;
    let bytes = flags.key(ask)?;
    let key = ask.key(&bytes)?;
    let server = ask.server;
    // Computed before the read, which resets the idle time.
    let idle_s = if flags.has(b'l') {
        let idle = server.store.glance(&key, ask.now, |item| item.idle).unwrap_or_default();
        server.idle_times(ask.now).of(idle)
    } else {
        0
    };
    let silent = flags.has(b'u');
    let reading = Reading {
        answer: Answer { flags: &flags, key: ask.word(1)?, now: ask.now },
        cas: flags.unsigned(b'E').unwrap_or_else(|| ask.next_cas()),
        numbered: ask.is_numbered(),
        idle_s,
        reads: u8::from(!silent),
    };
    let out = &mut *ask.out;
    let mut read = None;
    if silent {
        // Most of these reads change nothing, so a read without an effect on recency suffices.
        let peeked = server.store.peek(&key, ask.now, |item| {
            let mark = out.len();
            let (change, read) = reading.found(Some(item), out);
            if change != Change::Keep {
                out.truncate(mark);
                return None;
            }
            Some(read)
        });
        read = peeked.flatten();
    }
    let read = if let Some(read) = read {
        read
    } else {
        let found = |item: Option<&Item<'_>>| reading.found(item, out);
        let read = server.store.get_and_update(&key, ask.now, found);
        read.map_err(|error| refused(ask, error))?
    };
    if read.won && read.size.is_some() {
        server.store.fetch_begins(&key, ask.now);
    }
    ask.count(Event::CmdMeta);
    retrieve::counted(ask, &key, read.size);
    if let Some(seconds) = flags.seconds(b'T').filter(|_| read.size.is_some()) {
        ask.notify_expiry(Expiry::of(seconds, ask.now), &key);
        ask.count(Event::CmdTouch);
        ask.count(Event::TouchHits);
    }
    if read.size.is_none() && !read.won && !flags.has(b'q') {
        ask.out.extend_from_slice(b"EN");
        reading.answer.plain(ask.out);
        ask.out.extend_from_slice(b"\r\n");
    }
    Ok(())
}

impl Reading<'_, '_> {
    /// Writes the reply for this item, and returns the change to it.
    fn found(&self, item: Option<&Item<'_>>, out: &mut Vec<u8>) -> (Change<'static>, Read) {
        let now = self.answer.now;
        let is_over = |expires: Option<u64>| expires.is_some_and(|at| at < now.unix_ms);
        let Some((item, mut old)) = item.and_then(|item| Some((item, Text::of(item)?))) else {
            if item.is_some() || !self.answer.flags.has(b'N') {
                return (Change::Keep, Read { size: None, won: false });
            }
            // An empty value holds the place of the value until the client stores it.
            let held = Text { cas: self.cas, token_sent: true, ..FRESH };
            let place = Item::outside(b"", crate::values::text_value::STRING, None);
            let (expires, _) = self.head(&held, &place, true, out);
            self.tail(&held, b" W", out);
            let change = if is_over(expires) { Change::Keep } else { held.held(expires) };
            return (change, Read { size: None, won: true });
        };
        if !self.numbered {
            old.cas = 0;
        }
        let (expires, recache) = self.head(&old, item, false, out);
        let wins = !old.token_sent && (old.stale || recache);
        let marks: &[u8] = match (old.token_sent, old.stale, wins) {
            (true, true, _) => b" Z X",
            (true, false, _) => b" Z",
            (false, true, _) => b" X W",
            (false, false, true) => b" W",
            (false, false, false) => b"",
        };
        self.tail(&old, marks, out);
        let change = if is_over(expires) {
            Change::Remove
        } else if wins {
            // The data stay the same, so the cas stays as well.
            let cas = if old.cas >> 63 == 0 { old.cas } else { self.cas };
            Text { token_sent: true, cas, ..old }.held(expires)
        } else if expires != item.expires {
            Change::Expire(expires)
        } else {
            Change::Keep
        };
        (change, Read { size: Some(old.data.len()), won: wins })
    }

    /// Whether the reply contains the data. It does not if the client has this value already.
    fn sends(&self, text: &Text<'_>) -> bool {
        let flags = self.answer.flags;
        flags.has(b'v') && flags.unsigned(b'C') != Some(text.cas)
    }

    /// Writes the answers to the flags, in their order: R and t see the expiry that an earlier T
    /// has set. Returns the expiry after all flags, and whether the client should fetch the value
    /// again.
    fn head(
        &self,
        text: &Text<'_>,
        item: &Item<'_>,
        made: bool,
        out: &mut Vec<u8>,
    ) -> (Option<u64>, bool) {
        let (answer, now) = (&self.answer, self.answer.now);
        if self.sends(text) {
            out.extend_from_slice(b"VA ");
            out.extend_from_slice(itoa::Buffer::new().format(text.data.len()).as_bytes());
        } else {
            out.extend_from_slice(b"HD");
        }
        let fetched = text.was_read(item.hits, self.reads);
        let (expires, idle_s) = (item.expires, self.idle_s);
        let mut shown = Shown { text: *text, item, expires, fetched, idle_s };
        let mut recache = false;
        for word in answer.flags.order() {
            let life =
                |letter| Expiry::of(answer.flags.seconds(letter).unwrap_or_default(), now).ends();
            match word.first() {
                Some(b'T') => shown.expires = life(b'T'),
                Some(b'N') if made => shown.expires = life(b'N'),
                Some(b'R') if !made => {
                    recache |= life(b'R').is_some_and(|at| ends_before(shown.expires, at, now));
                }
                _ => answer.of_item(out, word, &shown),
            }
        }
        (shown.expires, recache)
    }

    /// Ends the line, and writes the data.
    fn tail(&self, text: &Text<'_>, marks: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(marks);
        out.extend_from_slice(b"\r\n");
        if self.sends(text) {
            out.extend_from_slice(text.data);
            out.extend_from_slice(b"\r\n");
        }
    }
}
