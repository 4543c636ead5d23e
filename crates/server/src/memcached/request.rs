//! A request of memcached's protocol while it is answered, and the lines of its errors.

use crate::facts::event_classes;
use crate::facts::memcached_events::Event;
use crate::server::audience::KeyRef;
use crate::server::{Server, View};
use crate::session::Session;
use crate::values::text_value::Text;
use std::io::Write;
use store::{Key, Now};
use wire::memcached::{Request, parse_signed};

/// The longest key, in bytes.
pub(super) const KEY_MAX: usize = 250;
/// Above this number of seconds an expiry is a point in Unix time.
const RELATIVE_MAX: i64 = 60 * 60 * 24 * 30;

pub(super) const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format";
pub(super) const BAD_CHUNK: &str = "CLIENT_ERROR bad data chunk";
pub(super) const BAD_EXPIRY: &str = "CLIENT_ERROR invalid exptime argument";
// Clients know the words before the bracket, which names the setting.
pub(super) const TOO_LARGE: &str =
    "SERVER_ERROR object too large for cache (memcached-item-size-max)";
const TOO_LONG: &str = "SERVER_ERROR object too large for cache (proto-max-bulk-len)";
const NEVER_FITS: &str = "SERVER_ERROR object too large for cache (maxmemory or a tenant's max)";
const FULL: &str = "SERVER_ERROR out of memory storing object (maxmemory)";
pub(super) const BUSY: &str = "SERVER_ERROR busy running a script (busy-reply-threshold)";
pub(super) const UNKNOWN: &str = "ERROR";
/// The reason in the log when a connection ends because of bytes that are no request.
pub(super) const ERROR: &str = "error";

/// The result of a handler: it has written its reply, or it returns the line of an error.
pub(super) type Done = Result<(), &'static str>;

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) request: Request<'a>,
    pub(crate) out: &'a mut Vec<u8>,
    /// The limit of `out` in bytes. Handlers stop writing beyond it, and the client is
    /// disconnected.
    pub(crate) bound: usize,
    pub(crate) session: &'a mut Session,
    pub(crate) server: &'a Server,
    pub(crate) view: &'a View,
    pub(crate) now: Now,
    /// The number of the worker that answers.
    pub(crate) worker: usize,
}

impl<'a> Ask<'a> {
    /// The word at this position; an error if there is none.
    pub(super) fn word(&self, at: usize) -> Result<&'a [u8], &'static str> {
        self.request.get(at).ok_or(UNKNOWN)
    }

    /// The key that a word names, with the tenant that owns it.
    pub(super) fn key<'k>(&self, word: &'k [u8]) -> Result<Key<'k>, &'static str> {
        if word.len() > KEY_MAX {
            return Err(BAD_FORMAT);
        }
        let tenant = self.session.owners.of(word);
        Ok(self.server.store.key(tenant, self.session.db, word))
    }

    /// Whether the last word is `noreply`.
    pub(super) fn asks_for_silence(&self) -> bool {
        self.request.get(self.request.len().wrapping_sub(1)) == Some(b"noreply")
    }

    /// Whether the output exceeds the memory that the client may use.
    pub(super) fn is_over(&self) -> bool {
        self.out.len() > self.bound
    }

    /// Writes a line and its end.
    pub(super) fn line(&mut self, text: &str) -> Done {
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Writes formatted text, which must contain its own line end.
    pub(super) fn print(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a Vec does not fail.
        let _ = self.out.write_fmt(text);
    }

    /// Whether values have a cas for clients to compare (`memcached-cas`).
    pub(super) const fn is_numbered(&self) -> bool {
        self.view.settings.memcached_cas
    }

    /// The cas of the next value; 0 if values have none.
    pub(super) fn next_cas(&self) -> u64 {
        if self.is_numbered() { self.server.memcached.next_cas() } else { 0 }
    }

    /// The size in bytes of a value that is about to be removed, if a client watches removals.
    pub(super) fn removed_size(&self, key: &Key<'_>) -> usize {
        if !self.server.audience.monitors.is_wanted(crate::services::monitors::DELETIONS) {
            return 0;
        }
        let size = |item: &store::Item<'_>| Text::of(item).map_or(0, |text| text.data.len());
        self.server.store.peek(key, self.now, size).unwrap_or_default()
    }

    /// Sends a keyspace notification about a key.
    #[inline]
    pub(super) fn tell(&self, class: u32, event: &str, key: &Key<'_>) {
        if self.view.settings.notify & class != 0 {
            let place = KeyRef { tenant: key.tenant, db: key.db, key: key.bytes };
            let (audience, mailboxes) = (&self.server.audience, self.server.clients.mailboxes());
            audience.notify(mailboxes, &self.view.settings, class, event, place);
        }
    }

    /// Sends the notification about a new expiry of a key.
    pub(super) fn notify_expiry(&self, life: Expiry, key: &Key<'_>) {
        let event = match life {
            Expiry::Forever => "persist",
            Expiry::Until(_) => "expire",
            Expiry::Over => "del",
        };
        self.tell(event_classes::GENERIC, event, key);
    }

    pub(super) fn count(&self, event: Event) {
        self.server.stats.workers[self.worker].events[event as usize].add(1);
    }
}

/// The expiry of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    Forever,
    /// It expires at this time, in Unix milliseconds.
    Until(u64),
    /// It has expired already.
    Over,
}

impl Expiry {
    /// The expiry that `seconds` means in memcached: 0 is none, and a large number is a point in
    /// time.
    pub(super) fn of(seconds: i64, now: Now) -> Self {
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

    /// The expiry that a word of seconds means.
    pub(super) fn parse(word: &[u8], now: Now) -> Option<Self> {
        parse_signed(word).map(|seconds| Self::of(seconds, now))
    }

    /// The expiry to store; a time in the past if it is over.
    pub(super) const fn ends(self) -> Option<u64> {
        match self {
            Self::Until(at) => Some(at),
            Self::Over => Some(0),
            Self::Forever => None,
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

/// Counts a refused write by its reason, and returns the line of the error.
pub(super) fn refused(ask: &Ask<'_>, error: store::Error) -> &'static str {
    ask.count(Event::from(error));
    match error {
        store::Error::Full => FULL,
        store::Error::TooLarge { .. } => NEVER_FITS,
        store::Error::TooLong { .. } => TOO_LONG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_as_memcached_means_them() {
        let now = Now { unix_ms: 1_700_000_000_123, ..Now::default() };
        assert_eq!(Expiry::of(0, now), Expiry::Forever);
        assert_eq!(Expiry::of(-1, now), Expiry::Over);
        assert_eq!(Expiry::of(10, now), Expiry::Until(1_700_000_010_123));
        assert_eq!(Expiry::of(2_592_000, now), Expiry::Until(1_702_592_000_123));
        assert_eq!(Expiry::of(2_592_001, now), Expiry::Over, "a date of 1970");
        assert_eq!(Expiry::of(1_800_000_000, now), Expiry::Until(1_800_000_000_000));
        assert_eq!(Expiry::of(i64::MAX, now), Expiry::Until(u64::MAX));
    }
}
