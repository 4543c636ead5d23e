//! The output of memcached's `watch fetchers mutations`.
//!
//! ```text
//! ts=1786477627.620824 gid=4 type=item_get key=foo%3Abar status=found clsid=1 cfd=28 size=5
//! ts=1786477627.620830 gid=5 type=item_store key=foo%3Abar status=stored cmd=set ttl=0 ... size=5
//! ```
//!
//! A store looks its item up first, and logs the look-up as a fetch of its own some microseconds
//! before. So a fetch is dropped if the next line is a store of the same key by the same connection
//! within a millisecond. A removal looks its item up as well. Where the server does not report
//! removals (before 1.6.22), this look-up cannot be distinguished from a read.
//!
//! memcached tells a watcher that is too slow how many lines it left out.

use super::line::PartialLine;
use super::{Deed, Event, Parser};
use crate::format::memcached_watch::{WatchFields, decode, life, micros};
use crate::lines::whole_number;
use crate::text::size;
use base::{Micros, hash};

/// A store follows its own fetch within this many microseconds.
const OWN_FETCH_US: u64 = 1_000;

/// Parser of the output of `watch`.
#[derive(Debug, Default)]
pub struct Watch {
    line: PartialLine,
    read: Read,
}

#[derive(Debug, Default)]
struct Read {
    /// A fetch that may be part of a store.
    held: Option<Fetch>,
    malformed: u64,
    lost: u64,
}

#[derive(Debug)]
struct Fetch {
    key: Vec<u8>,
    time_us: u64,
    connection: u64,
    size: Option<u64>,
    found: bool,
    class: Option<u8>,
}

impl Parser for Watch {
    fn feed(&mut self, bytes: &[u8], see: &mut dyn FnMut(&Event<'_>)) {
        let Self { line, read } = self;
        line.feed(bytes, |line| {
            if read.line(line, see).is_none() {
                read.malformed += 1;
            }
        });
    }

    fn end(&mut self, see: &mut dyn FnMut(&Event<'_>)) {
        self.read.release(see);
    }

    fn malformed(&self) -> u64 {
        self.read.malformed + self.line.too_long
    }

    fn lost(&self) -> u64 {
        self.read.lost
    }
}

impl Read {
    /// Passes the held fetch to `see`.
    fn release(&mut self, see: &mut dyn FnMut(&Event<'_>)) {
        if let Some(fetch) = self.held.take() {
            see(&Event {
                connection: fetch.connection,
                size: fetch.size,
                found: Some(fetch.found),
                class: fetch.class,
                ..Event::new(fetch.time_us, &fetch.key, Deed::Read)
            });
        }
    }

    /// Parses a line; `None` if it is malformed.
    fn line(&mut self, line: &[u8], see: &mut dyn FnMut(&Event<'_>)) -> Option<()> {
        if line.is_empty() || line == b"OK" {
            return Some(());
        }
        let skipped = line.strip_prefix(b"skipped=");
        let skipped = skipped.or_else(|| line.strip_prefix(b"[skipped: ")?.strip_suffix(b"]"));
        if let Some(skipped) = skipped {
            self.lost = self.lost.saturating_add(whole_number(skipped.trim_ascii())?);
            return Some(());
        }
        let fields = WatchFields::of(line);
        let time_us = micros(fields.ts)?;
        let deed = match fields.kind {
            b"item_get" => Deed::Read,
            b"item_store" if matches!(fields.cmd, b"append" | b"prepend") => Deed::Change,
            b"item_store" => Deed::Write,
            b"deleted" => Deed::Delete,
            b"" => return None,
            // Evictions, connections, and lines of later versions.
            _ => return Some(()),
        };
        let mut key = vec![];
        decode(fields.key, &mut key).filter(|()| !key.is_empty())?;
        let connection = hash::bytes(1, fields.cfd);
        let writes = matches!(deed, Deed::Write | Deed::Change);
        let is_own = |fetch: &Fetch| {
            let near = time_us.saturating_sub(fetch.time_us) < OWN_FETCH_US;
            writes && near && fetch.key == key && fetch.connection == connection
        };
        if self.held.as_ref().is_some_and(is_own) {
            self.held = None;
        }
        self.release(see);
        // An item that was found without a size is a placeholder for a value that is still to come.
        let size = size(fields.size).filter(|size| *size > 0 || writes);
        // Class 0 means that there is no item.
        let class = whole_number(fields.clsid).and_then(|class| u8::try_from(class).ok());
        let class = class.filter(|&class| class > 0);
        match deed {
            Deed::Read => {
                let found = fields.status == b"found" && size.is_some();
                self.held = Some(Fetch { key, time_us, connection, size, found, class });
            }
            Deed::Write | Deed::Change if fields.status == b"stored" => {
                let ttl = whole_number(fields.ttl).map(|ttl| life(ttl, time_us));
                let ttl = ttl.filter(|_| deed == Deed::Write);
                see(&Event { connection, size, ttl, class, ..Event::new(time_us, &key, deed) });
            }
            Deed::Delete => {
                let ttl = None::<Micros>;
                see(&Event { connection, ttl, ..Event::new(time_us, &key, deed) });
            }
            _ => {}
        }
        Some(())
    }
}
