//! The commands of memcached's text and meta protocol, over the same data and tenants.
//!
//! One file for each family. A handler reads the words of an [`Ask`] and writes its reply lines,
//! or returns the line of an error. `noreply` is obeyed here, for all.
#![allow(
    clippy::unnecessary_wraps,
    reason = "handlers have one signature, also those that never fail"
)]

mod admin;
mod auth;
mod count;
mod detail;
mod dump;
pub(crate) mod flags;
mod meta;
mod meta_get;
mod meta_number;
mod meta_set;
mod number;
mod retrieve;
mod rights;
mod stats;
mod storage;
mod watch;
mod write;

pub(crate) use auth::Tokens;
pub(crate) use count::{EVENTS, Event};
pub(crate) use detail::Detail;
pub(crate) use rights::{tell_trackers, writes};
pub(crate) use watch::{connection as show_connection, eviction as show_eviction};

use crate::session::Session;
use crate::shared::{Shared, View};
use std::io::Write;
use std::sync::Once;
use store::{Key, Now};
use wire::memcached::{Malformed, Request, parse_signed};

/// Longest key.
const KEY_MAX: usize = 250;
/// A life above this many seconds is a point in Unix time.
const RELATIVE_MAX: i64 = 60 * 60 * 24 * 30;

const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format";
const BAD_CHUNK: &str = "CLIENT_ERROR bad data chunk";
const BAD_LIFE: &str = "CLIENT_ERROR invalid exptime argument";
// Clients know the words before the bracket; in it is the setting.
const TOO_LARGE: &str = "SERVER_ERROR object too large for cache (memcached-item-size-max)";
const TOO_LONG: &str = "SERVER_ERROR object too large for cache (proto-max-bulk-len)";
const NEVER_FITS: &str = "SERVER_ERROR object too large for cache (maxmemory or a tenant's max)";
const FULL: &str = "SERVER_ERROR out of memory storing object (maxmemory)";
const UNKNOWN: &str = "ERROR";

/// What a handler returns: its reply is written, or this is the error's line.
type Done = Result<(), &'static str>;

/// A request being answered.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) request: Request<'a>,
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) session: &'a mut Session,
    pub(crate) shared: &'a Shared,
    pub(crate) view: &'a View,
    pub(crate) now: Now,
    /// The number of the worker that answers.
    pub(crate) worker: usize,
}

impl<'a> Ask<'a> {
    /// The word at `at`.
    fn word(&self, at: usize) -> Result<&'a [u8], &'static str> {
        self.request.get(at).ok_or(UNKNOWN)
    }

    /// The key that a word names.
    fn key<'k>(&self, word: &'k [u8]) -> Result<Key<'k>, &'static str> {
        if word.len() > KEY_MAX {
            return Err(BAD_FORMAT);
        }
        let tenant = self.session.owners.of(word);
        Ok(self.shared.store.key(tenant, self.session.db, word))
    }

    /// Writes a line.
    fn line(&mut self, text: &str) -> Done {
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Writes formatted text; what it says must end in a line end.
    fn print(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a Vec does not fail.
        let _ = self.out.write_fmt(text);
    }

    fn count(&self, event: Event) {
        self.shared.stats.workers[self.worker].events[event as usize].add(1);
    }
}

/// When a value's life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Forever,
    /// In Unix milliseconds.
    Until(u64),
    /// Already.
    Over,
}

impl Life {
    /// A life of `seconds` as memcached means it: none is for ever, a long one is a point in time.
    fn of(seconds: i64, now: Now) -> Self {
        let now_ms = now.unix_ms;
        match seconds {
            0 => Self::Forever,
            ..0 => Self::Over,
            1..=RELATIVE_MAX => Self::Until(now_ms + seconds as u64 * 1_000),
            _ => match (seconds as u64).saturating_mul(1_000) {
                at if at > now_ms => Self::Until(at),
                _ => Self::Over,
            },
        }
    }

    /// The life that a word of seconds names.
    fn parse(word: &[u8], now: Now) -> Option<Self> {
        parse_signed(word).map(|seconds| Self::of(seconds, now))
    }

    const fn expires(self) -> Option<u64> {
        match self {
            Self::Until(at) => Some(at),
            Self::Forever | Self::Over => None,
        }
    }
}

impl From<store::Error> for Event {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Full => Self::StoreNoMemory,
            store::Error::TooLarge { .. } | store::Error::TooLong { .. } => Self::StoreTooLarge,
        }
    }
}

/// Counts why a write was refused; the line that says so.
fn refused(ask: &Ask<'_>, error: store::Error) -> &'static str {
    ask.count(Event::from(error));
    match error {
        store::Error::Full => FULL,
        store::Error::TooLarge { .. } => NEVER_FITS,
        store::Error::TooLong { .. } => TOO_LONG,
    }
}

/// Answers a request.
pub(crate) fn execute(ask: &mut Ask<'_>) {
    let mark = ask.out.len();
    let quiet = ask.request.len() > 1
        && ask.request.get(ask.request.len() - 1) == Some(b"noreply".as_slice());
    if let Err(line) = answer(ask) {
        ask.out.truncate(mark);
        let _ = ask.line(line);
    }
    if quiet {
        ask.out.truncate(mark);
    }
}

fn answer(ask: &mut Ask<'_>) -> Done {
    let Some(command) = ask.request.get(0) else { return Err(UNKNOWN) };
    if ask.session.user.is_none() {
        return auth::admit(ask, command);
    }
    if ask.session.limited {
        rights::permit(ask, command)?;
    }
    match command {
        b"get" | b"gets" => retrieve::get(ask, command == b"gets"),
        b"gat" | b"gats" => retrieve::get_and_touch(ask, command == b"gats"),
        b"mg" => meta_get::get(ask),
        b"ms" => meta_set::set(ask),
        b"md" => meta_set::delete(ask),
        b"ma" => meta_number::arithmetic(ask),
        b"mn" => ask.line("MN"),
        b"me" => dump::debug(ask),
        b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => {
            storage::store(ask, command)
        }
        b"delete" => storage::delete(ask),
        b"touch" => storage::touch(ask),
        b"incr" => number::add(ask, true),
        b"decr" => number::add(ask, false),
        b"flush_all" => admin::flush_all(ask),
        b"verbosity" => admin::verbosity(ask),
        b"version" => admin::version(ask),
        b"quit" => admin::quit(ask),
        b"shutdown" => admin::shutdown(ask),
        b"cache_memlimit" => admin::cache_memlimit(ask),
        b"refresh_certs" => admin::refresh_certs(ask),
        b"slabs" | b"lru" | b"extstore" => admin::accept(ask),
        b"lru_crawler" => dump::crawler(ask),
        b"stats" => stats::stats(ask),
        b"watch" => watch::watch(ask),
        _ => Err(UNKNOWN),
    }
}

/// Says why bytes that are no request end the connection.
pub(crate) fn refuse(session: &Session, out: &mut Vec<u8>, malformed: Malformed) {
    static BINARY: Once = Once::new();
    if malformed == Malformed::Binary {
        // A client that knows nothing else tries again and again.
        BINARY.call_once(|| {
            tracing::warn!("client {} closed: {malformed}", session.client.address);
        });
        return;
    }
    let _ = write!(out, "CLIENT_ERROR {malformed}\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_as_memcached_means_them() {
        let now = Now { unix_ms: 1_700_000_000_123, ..Now::default() };
        assert_eq!(Life::of(0, now), Life::Forever);
        assert_eq!(Life::of(-1, now), Life::Over);
        assert_eq!(Life::of(10, now), Life::Until(1_700_000_010_123));
        assert_eq!(Life::of(2_592_000, now), Life::Until(1_702_592_000_123));
        assert_eq!(Life::of(2_592_001, now), Life::Over, "a date of 1970");
        assert_eq!(Life::of(1_800_000_000, now), Life::Until(1_800_000_000_000));
        assert_eq!(Life::of(i64::MAX, now), Life::Until(u64::MAX));
    }
}
